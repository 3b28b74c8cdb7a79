package facts

import (
	"slices"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// The bounds of what is known of spawns.
const (
	maxPlaces = 64 // where characters have appeared
	farAway   = 64 // a character that is so far from where it was, in world units, has not walked
)

// place is where a character has appeared.
type place struct{ x, y int32 }

// life is what is known of a client's character.
type life struct {
	alive bool
	seven bool // the client speaks protocol 0.7
	began tick // when the character, or the previous one, appeared
	kill  tick // the client asked to die
	watch tick // it asked to watch, or was made to
	died  tick // its character died, and has not appeared again
}

// by reports whether the tick after t is not before another one.
func (t tick) by(now int32) bool { return t != 0 && int64(t) >= int64(now) }

// wants notes what a client asks for: to die, or to watch.
func (f *Fold) wants(now int32, m *teehistorian.Message) {
	switch m.ContentCase {
	case teehistorian.MessageContentKill:
		f.wantsDeath(m.ClientId, now)
	case teehistorian.MessageContentSetTeam:
		if m.SetTeam.Team < 0 {
			f.watches(m.ClientId, now)
		}
	}
}

// orders notes what a command does to characters.
func (f *Fold) orders(now int32, e *teehistorian.ConsoleCommand) {
	switch {
	case e.ClientId >= 0 && e.Flags&flagChat != 0 && string(e.Command) == "kill":
		f.wantsDeath(e.ClientId, now)
	case e.Flags&flagServer == 0:
	case string(e.Command) == "set_team_all":
		for id := range f.clients {
			f.watches(int32(id), now)
		}
	case string(e.Command) == "set_team" && len(e.Arguments) > 0:
		if id := number(e.Arguments[0]); id >= 0 {
			f.watches(id, now)
		}
	}
}

func (f *Fold) wantsDeath(id, now int32) {
	f.kill = at(now)
	f.client(id).kill = f.kill
}

func (f *Fold) watches(id, now int32) {
	c := f.client(id)
	c.watch, c.died = at(now), 0
}

// appeared notes a character that appeared, and makes the fact of a client's that has died.
func (f *Fold) appeared(ev *teehistorian.Event) {
	e := &ev.PlayerNew
	f.begin(e.ClientId, ev.AtTick)
	if p := (place{e.X, e.Y}); len(f.places) < maxPlaces && !slices.Contains(f.places, p) {
		f.places = append(f.places, p)
	}
	f.spawned(e.ClientId, ev.AtTick, e.X, e.Y)
}

// spawned notes a client's new character.
func (f *Fold) spawned(id, now, x, y int32) {
	c := f.client(id)
	if began, ok := c.died.get(); ok {
		f.ready = append(f.ready, fact{kind: teehistorian.KindFactRespawn, respawn: teehistorian.FactRespawn{
			ClientId: id, Name: c.name, Team: f.teamOf(id), X: x, Y: y, BeganTick: began,
		}})
	}
	c.alive, c.began, c.died = true, at(now), 0
}

// vanished notes a character that disappeared, and makes the fact of its death if it is one.
func (f *Fold) vanished(ev *teehistorian.Event) {
	e := &ev.PlayerOld
	c, rule := f.client(e.ClientId), teehistorian.DeathRuleDisappeared
	switch {
	case !c.alive: // its client has left, or damage hides that it appeared
		return
	case c.watch.by(ev.AtTick):
		c.alive = false
		return
	case c.kill.by(ev.AtTick):
		rule = teehistorian.DeathRuleAsked
	case c.seven:
		rule = teehistorian.DeathRuleUnspecified
	}
	f.died(e.ClientId, ev.AtTick, rule, e.X, e.Y)
}

// moved makes the facts of a character that died and appeared again in one tick. Only far moves matter: see Apply.
func (f *Fold) moved(ev *teehistorian.Event) {
	e := &ev.PlayerDiff
	c := f.client(e.ClientId)
	far := max(e.Dx, -e.Dx, e.Dy, -e.Dy) > farAway
	asked, ok := c.kill.get()
	if !ok || asked != ev.AtTick-1 || !c.alive || !far || !slices.Contains(f.places, place{e.X, e.Y}) {
		return
	}
	f.died(e.ClientId, ev.AtTick, teehistorian.DeathRuleAsked, e.X-e.Dx, e.Y-e.Dy)
	f.spawned(e.ClientId, ev.AtTick, e.X, e.Y)
}

// died makes the fact of a death.
func (f *Fold) died(id, now int32, rule teehistorian.DeathRule, x, y int32) {
	c := f.client(id)
	began, _ := c.began.get()
	f.ready = append(f.ready, fact{kind: teehistorian.KindFactDeath, death: teehistorian.FactDeath{
		ClientId: id, Name: c.name, Team: f.teamOf(id), Rule: rule, X: x, Y: y, BeganTick: began,
	}})
	c.alive, c.died = false, at(now)
}
