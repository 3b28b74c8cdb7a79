// Package facts has what demos of Dota 2 do not say themselves: the names behind numbers.
//
// names.txt has the names as of May 2026: those of heroes, items, abilities and orders from dotaconstants 10.8.0 of
// OpenDota, which extracts them from the game's files; those of announcements from the game's own enum
// DOTA_CHAT_MESSAGE, as published by SteamDatabase. tools/dotanames writes it. Numbers that are not in it have no name.
package facts

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed names.txt
var text string

// Table says which names a number is looked up in.
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

// Name returns the name behind a number, or nil. It must not be changed.
func (t Table) Name(number int64) []byte { return tables()[t][number] }
