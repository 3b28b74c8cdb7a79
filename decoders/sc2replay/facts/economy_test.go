package facts_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/sc2replay"
)

func economyText(e *sc2replay.FactEconomy) string {
	return fmt.Sprintf("from %s bank %d %d rate %d %d collected %s %s spent %s %s lost %d %d killed %d %d", optional(e.HasFromTick, e.FromTick),
		e.Minerals, e.Vespene, e.MineralsRate, e.VespeneRate, optional(e.HasMineralsCollected, e.MineralsCollected),
		optional(e.HasVespeneCollected, e.VespeneCollected), optional(e.HasMineralsSpent, e.MineralsSpent), optional(e.HasVespeneSpent, e.VespeneSpent),
		e.MineralsLost, e.VespeneLost, e.MineralsKilled, e.VespeneKilled)
}

// report returns a player_stats, of which n are the amounts: bank and rate of minerals, and of gas, and a third of what was lost of each.
func report(tick int32, n [6]int32) *sc2replay.Event {
	return at(tick, 1, sc2replay.KindPlayerStats, func(ev *sc2replay.Event) {
		ev.PlayerStats = sc2replay.PlayerStats{
			PlayerId: 1, MineralsCurrent: n[0], MineralsCollectionRate: n[1], VespeneCurrent: n[2], VespeneCollectionRate: n[3],
			MineralsLostArmy: n[4], MineralsLostEconomy: n[4], MineralsLostTechnology: n[4],
			VespeneLostArmy: n[5], VespeneLostEconomy: n[5], VespeneLostTechnology: n[5],
			MineralsKilledArmy: 2 * n[4], MineralsKilledEconomy: 3 * n[4], MineralsKilledTechnology: 4 * n[4],
			VespeneKilledArmy: 2 * n[5], VespeneKilledEconomy: 3 * n[5], VespeneKilledTechnology: 4 * n[5],
		}
	})
}

// TestEconomy: what was collected and spent between two reports follows from the rates, by the clock that they are of.
func TestEconomy(t *testing.T) {
	of := of(sc2replay.KindFactEconomy)
	start := func(build uint32, perClock float64) *sc2replay.Event {
		return at(0, 0, sc2replay.KindStart, func(ev *sc2replay.Event) { ev.Start.Version.Build, ev.Start.LoopsPerClockSecond = build, perClock })
	}
	reports := []*sc2replay.Event{
		report(160, [6]int32{50, 600, 10, 0, 1, 2}), report(320, [6]int32{100, 1200, 0, 120, 11, 2}), report(330, [6]int32{700, 0, 0, 0, 11, 2}),
		report(490, [6]int32{math.MinInt32, math.MaxInt32, math.MaxInt32, 0, math.MaxInt32, math.MinInt32}),
	}
	const first = "160 fact_economy 1 from - bank 50 10 rate 600 0 collected - - spent - - lost 3 6 killed 9 18"
	want := []string{
		first,
		"320 fact_economy 1 from 160 bank 100 0 rate 1200 120 collected 150 10 spent 100 20 lost 30 0 killed 90 0",
		"330 fact_economy 1 from 320 bank 700 0 rate 0 0 collected 6 1 spent -594 1 lost 0 0 killed 0 0",
		"490 fact_economy 1 from 330 bank -2147483648 2147483647 rate 2147483647 0 collected 178956971 0 spent 2147483647 -2147483647 " +
			"lost 2147483647 -2147483648 killed 2147483540 -2147483648",
	}
	for _, begin := range []*sc2replay.Event{start(41742, 22.4), start(41743, 16)} {
		if diff := cmp.Diff(want, concludeOnly(of, append([]*sc2replay.Event{begin}, reports...)...)); diff != "" {
			t.Error(diff)
		}
	}
	scaled := "320 fact_economy 1 from 160 bank 100 0 rate 1200 120 collected 107 7 spent 57 17 lost 30 0 killed 90 0"
	if diff := cmp.Diff([]string{first, scaled}, concludeOnly(of, start(41743, 22.4), reports[0], reports[1])); diff != "" {
		t.Error(diff)
	}
	without := "320 fact_economy 1 from 160 bank 100 0 rate 1200 120 collected - - spent - - lost 30 0 killed 90 0"
	if diff := cmp.Diff([]string{first, without}, concludeOnly(of, reports[:2]...)); diff != "" {
		t.Errorf("without a clock: %s", diff)
	}
}

// TestSupplyBlock: a block lasts from the first report without supply left to the first one with some.
func TestSupplyBlock(t *testing.T) {
	const kind = sc2replay.KindFactSupplyBlock
	for name, tt := range map[string]struct {
		events []*sc2replay.Event
		want   []string
	}{
		"over": {
			[]*sc2replay.Event{
				stats(160, 0, 0, 14, 15), stats(320, 0, 0, 15, 15), stats(480, 0, 0, 24, 23), stats(640, 0, 0, 24, 31), stats(800, 0, 0, 25, 31),
			},
			[]string{"640 fact_supply_block 1 from 320, 2 of 23, maxed false, unfinished false"},
		},
		"two": {
			[]*sc2replay.Event{stats(160, 0, 0, 15, 15), stats(320, 0, 0, 15, 23), stats(480, 0, 0, 23, 23), stats(640, 0, 0, 24, 31)},
			[]string{
				"320 fact_supply_block 1 from 160, 1 of 15, maxed false, unfinished false",
				"640 fact_supply_block 1 from 480, 1 of 23, maxed false, unfinished false",
			},
		},
		"maxed": {
			[]*sc2replay.Event{stats(160, 0, 0, 200, 200), stats(320, 0, 0, 198, 200)},
			[]string{"320 fact_supply_block 1 from 160, 1 of 200, maxed true, unfinished false"},
		},
		"maxed in part": {
			[]*sc2replay.Event{stats(160, 0, 0, 199, 199), stats(320, 0, 0, 200, 200), ended(400, sc2replay.PartStateComplete)},
			[]string{"400 fact_supply_block 1 from 160, 2 of 200, maxed false, unfinished true"},
		},
		"nobody is left": {[]*sc2replay.Event{stats(160, 0, 0, 0, 0), ended(400, sc2replay.PartStateComplete)}, nil},
		"no end":         {[]*sc2replay.Event{stats(160, 0, 0, 15, 15), ended(400, sc2replay.PartStatePartial)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, concludeOnly(of(kind), tt.events...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
