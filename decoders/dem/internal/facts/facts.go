// Package facts holds names that demos of Dota 2 do not contain: the names for the game's numbers.
//
// names.txt has the names as of May 2026. The names of heroes, items, abilities and orders are from dotaconstants 10.8.0 of
// OpenDota, which extracts them from the game's files. The names of announcements are from the game's own enum
// DOTA_CHAT_MESSAGE, as published by SteamDatabase. tools/dotanames writes names.txt. A number that is not in it has no name.
package facts

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed names.txt
var text string

// Table selects the list of names for a number.
type Table uint8

// The tables.
const (
	Heroes        Table = iota // such as "npc_dota_hero_axe"
	Abilities                  // and items: "axe_berserkers_call", "item_blink"
	Orders                     // "DOTA_UNIT_ORDER_MOVE_TO_POSITION"
	Announcements              // "CHAT_MESSAGE_HERO_KILL"
	tableCount
)

var tableNames = [tableCount]string{"hero", "ability", "order", "announcement"}

var tables = sync.OnceValue(func() (all [tableCount]map[int64][]byte) {
	for i := range all {
		all[i] = map[int64][]byte{}
	}
	for line := range strings.Lines(text) {
		part := strings.Fields(line)
		for i, name := range tableNames {
			if len(part) == 3 && part[0] == name {
				n, _ := strconv.ParseInt(part[1], 10, 64)
				all[i][n] = []byte(part[2])
			}
		}
	}
	return all
})

// Name returns the name for a number, or nil. The returned bytes must not be modified.
func (t Table) Name(number int64) []byte { return tables()[t][number] }
