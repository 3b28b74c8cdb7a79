package facts

import (
	"math"

	"github.com/replayd/replayd/decoders/sc2replay"
)

// economy is what the last report of a player's economy said.
type economy struct {
	known             bool
	tick              int32
	minerals, vespene amounts
	block             block
}

// amounts are those of one resource in a report.
type amounts struct {
	bank, rate   int32
	lost, killed int64
}

// block is a time without supply that has not ended.
type block struct {
	samples uint32 // 0 outside of a block
	began   int32
	made    float32
	maxed   bool
}

// maxSupply is the most supply that players can use.
const maxSupply = 200

// reported applies a report of a player's economy, and makes its facts.
func (f *Fold) reported(ev *sc2replay.Event) {
	p, s := f.players.of(ev), &ev.PlayerStats
	if p == nil {
		return
	}
	p.sample(ev.AtTick, s)
	last, now := p.economy, &p.economy
	now.known, now.tick = true, ev.AtTick
	now.minerals = amounts{
		s.MineralsCurrent, s.MineralsCollectionRate, total(s.MineralsLostArmy, s.MineralsLostEconomy, s.MineralsLostTechnology),
		total(s.MineralsKilledArmy, s.MineralsKilledEconomy, s.MineralsKilledTechnology),
	}
	now.vespene = amounts{
		s.VespeneCurrent, s.VespeneCollectionRate, total(s.VespeneLostArmy, s.VespeneLostEconomy, s.VespeneLostTechnology),
		total(s.VespeneKilledArmy, s.VespeneKilledEconomy, s.VespeneKilledTechnology),
	}
	e := &f.economy
	*e = sc2replay.FactEconomy{
		PlayerId: p.ref.PlayerId, FromTick: last.tick, HasFromTick: last.known,
		Minerals: now.minerals.bank, Vespene: now.vespene.bank, MineralsRate: now.minerals.rate, VespeneRate: now.vespene.rate,
		MineralsLost: number(now.minerals.lost - last.minerals.lost), VespeneLost: number(now.vespene.lost - last.vespene.lost),
		MineralsKilled: number(now.minerals.killed - last.minerals.killed), VespeneKilled: number(now.vespene.killed - last.vespene.killed),
	}
	if last.known && f.match.perMinute > 0 {
		minutes := float64(now.tick-last.tick) / f.match.perMinute
		e.MineralsCollected, e.MineralsSpent = flow(&last.minerals, &now.minerals, minutes)
		e.VespeneCollected, e.VespeneSpent = flow(&last.vespene, &now.vespene, minutes)
		e.HasMineralsCollected, e.HasMineralsSpent, e.HasVespeneCollected, e.HasVespeneSpent = true, true, true, true
	}
	f.ready = append(f.ready, fact{kind: sc2replay.KindFactEconomy})
	f.supplied(p, s, ev.AtTick)
}

// total adds three amounts.
func total(a, b, c int32) int64 { return int64(a) + int64(b) + int64(c) }

// number returns a difference of amounts, which only damaged replays have beyond 32 bits.
func number(n int64) int32 { return int32(max(math.MinInt32, min(n, math.MaxInt32))) }

// flow returns how much of a resource was collected and spent in a number of minutes.
func flow(last, now *amounts, minutes float64) (collected, spent int32) {
	got := int64(math.Round((float64(last.rate) + float64(now.rate)) / 2 * minutes))
	return number(got), number(got - (int64(now.bank) - int64(last.bank)))
}

// supplied begins, continues or ends a time without supply.
func (f *Fold) supplied(p *player, s *sc2replay.PlayerStats, tick int32) {
	b := &p.economy.block
	if s.FoodUsed < s.FoodMade || s.FoodUsed <= 0 {
		if b.samples > 0 {
			f.unblocked(p, false)
		}
		return
	}
	if b.samples == 0 {
		*b = block{began: tick, maxed: true}
	}
	b.samples++
	b.made, b.maxed = s.FoodMade, b.maxed && s.FoodMade >= maxSupply
}

// unblocked makes the fact of a time without supply that is over.
func (f *Fold) unblocked(p *player, unfinished bool) {
	b := &p.economy.block
	f.ready = append(f.ready, fact{kind: sc2replay.KindFactSupplyBlock, player: p, block: sc2replay.FactSupplyBlock{
		PlayerId: p.ref.PlayerId, BeganTick: b.began, Samples: b.samples, SupplyMade: b.made, Maxed: b.maxed, Unfinished: unfinished,
	}})
	*b = block{}
}
