// Package facts holds names that demos do not contain: the names for the games' numbers.
//
// names.txt has the names of Dota 2 as of May 2026. The names of heroes, items, abilities, orders and game modes are from
// dotaconstants 10.8.0 of OpenDota, which extracts them from the game's files. The names of announcements and of the states of a
// game are from the game's own enums DOTA_CHAT_MESSAGE and DOTA_GameState, as published by SteamDatabase (Protobufs, commit
// 8fb43df, 2026-05-04). The names of reasons, runes and teams are from the enums of the game's scripts, as published by ModDota
// (dota-data 0.47.2, commit 5a6b445, 2026-04-26). tools/dotanames writes names.txt.
//
// engine.txt has the names of values of the engine, of Counter-Strike 2 and of Deadlock, with their sources. A number that is in neither file
// has no name.
package facts

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed names.txt
var dota string

//go:embed engine.txt
var engine string

// Table selects the list of names for a number.
type Table uint8

// The tables.
const (
	Heroes               Table = iota // such as "npc_dota_hero_axe"
	Abilities                         // and items: "axe_berserkers_call", "item_blink"
	Orders                            // "DOTA_UNIT_ORDER_MOVE_TO_POSITION"
	Announcements                     // "CHAT_MESSAGE_HERO_KILL"
	GameStates                        // "DOTA_GAMERULES_STATE_PRE_GAME"
	GameModes                         // "game_mode_captains_mode"
	GoldReasons                       // "DOTA_ModifyGold_HeroKill"
	XPReasons                         // "DOTA_ModifyXP_HeroKill"
	Runes                             // "DOTA_RUNE_HASTE"
	DotaTeams                         // "DOTA_TEAM_GOODGUYS"
	LifeStates                        // of all games: "LIFE_DEAD"
	CSTeams                           // of Counter-Strike 2: "Terrorist"
	RoundEndReasons                   // of Counter-Strike 2: "BombDefused"
	CSItems                           // of Counter-Strike 2, by the number of their definition: "weapon_ak47"
	CitadelAnnouncements              // of Deadlock: "CITADEL_CHAT_MESSAGE_PAUSED"
	HitGroups                         // of Counter-Strike 2: "left_leg"
	tableCount
)

var tableNames = [tableCount]string{
	"hero", "ability", "order", "announcement", "state", "mode", "gold", "xp", "rune", "team", "life", "csteam", "roundend", "csitem", "citadel", "hitgroup",
}

var tables = sync.OnceValue(func() (all [tableCount]map[int64][]byte) {
	for i := range all {
		all[i] = map[int64][]byte{}
	}
	for line := range strings.Lines(dota + engine) {
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

// Names returns all names of a table.
func (t Table) Names() (names []string) {
	for _, name := range tables()[t] {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}

// Name returns the name for a number, or nil. The returned bytes must not be modified.
func (t Table) Name(number int64) []byte { return tables()[t][number] }
