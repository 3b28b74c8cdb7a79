package facts_test

import (
	"testing"

	"github.com/replayd/replayd/decoders/dem/internal/facts"
)

// TestNames: numbers have the names that the game gives them, and those that are not known none.
func TestNames(t *testing.T) {
	for _, test := range []struct {
		table  facts.Table
		number int64
		name   string
	}{
		{facts.Heroes, 2, "npc_dota_hero_axe"},
		{facts.Heroes, 145, "npc_dota_hero_kez"},
		{facts.Heroes, 0, ""},
		{facts.Heroes, -1, ""},
		{facts.Abilities, 1, "item_blink"},
		{facts.Abilities, 5003, "antimage_mana_break"},
		{facts.Abilities, 212, "item_ring_of_aquila"},
		{facts.Abilities, 196, ""}, // an item, and an ability
		{facts.Abilities, 1 << 40, ""},
		{facts.Orders, 1, "DOTA_UNIT_ORDER_MOVE_TO_POSITION"},
		{facts.Announcements, 0, "CHAT_MESSAGE_HERO_KILL"},
		{facts.Announcements, 9, "CHAT_MESSAGE_ROSHAN_KILL"},
		{facts.Announcements, -1, ""},
		{facts.GameStates, 4, "DOTA_GAMERULES_STATE_PRE_GAME"},
		{facts.GameModes, 22, "game_mode_all_draft"},
		{facts.GoldReasons, 12, "DOTA_ModifyGold_HeroKill"},
		{facts.GoldReasons, 14, ""}, // its meaning has changed
		{facts.XPReasons, 2, "DOTA_ModifyXP_CreepKill"},
		{facts.XPReasons, 8, ""}, // DOTA_ModifyXP_MAX is no reason
		{facts.Runes, 1, "DOTA_RUNE_HASTE"},
		{facts.Runes, 10, ""},
		{facts.DotaTeams, 2, "DOTA_TEAM_GOODGUYS"},
		{facts.DotaTeams, 6, "DOTA_TEAM_CUSTOM_1"},
		{facts.LifeStates, 2, "LIFE_DEAD"},
		{facts.CSTeams, 3, "CounterTerrorist"},
		{facts.RoundEndReasons, 7, "BombDefused"},
		{facts.RoundEndReasons, 0, ""},
	} {
		if got := string(test.table.Name(test.number)); got != test.name {
			t.Errorf("%d of table %d is %q, not %q", test.number, test.table, got, test.name)
		}
	}
}
