package physics

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// ErrSnapshot means that bytes are no snapshot of this program.
var ErrSnapshot = errors.New("physics: unusable snapshot")

// snapshotVersion changes whenever what a snapshot has does.
const snapshotVersion = 4

// Settled reports whether the last tick is compared, and the next one has begun but is not played yet. That is so when Apply has got the
// event that begins a tick.
func (w *World) Settled() bool { return !w.pending && w.tick < w.to && !w.Pending() }

// Snapshot appends the state of the world, which must be settled, to b: some 300 bytes for each character. From it [World.Restored] goes on as
// this world does.
func (w *World) Snapshot(b []byte) []byte {
	s := scribe{b: append(b, snapshotVersion), writes: true}
	w.visit(&s)
	return s.b
}

// Restored returns a world of the same recording and map, in the state of a snapshot. The error for other bytes wraps [ErrSnapshot].
func (w *World) Restored(snapshot []byte) (*World, error) {
	if len(snapshot) == 0 || snapshot[0] != snapshotVersion {
		return nil, ErrSnapshot
	}
	r := New(w.header, w.tiles, w.check)
	r.tells = w.tells
	s := scribe{b: snapshot[1:]}
	if r.visit(&s); s.bad || len(s.b) > 0 {
		return nil, ErrSnapshot
	}
	return r, nil
}

// scribe writes values, or reads them in the same order. What is read is zero after bad bytes.
type scribe struct {
	b      []byte
	writes bool
	bad    bool
}

func number[T ~int8 | ~uint8 | ~int32 | ~int | ~uint64](s *scribe, v *T) {
	if s.writes {
		s.b = binary.AppendVarint(s.b, int64(*v))
		return
	}
	n, size := binary.Varint(s.b)
	if size <= 0 {
		s.fail()
		n, size = 0, 0
	}
	*v, s.b = T(n), s.b[size:]
}

func (s *scribe) fail() { s.bad, s.b = true, nil }

func (s *scribe) flags(flags ...*bool) {
	var all int32
	for i, f := range flags {
		if *f {
			all |= 1 << i
		}
	}
	number(s, &all)
	for i, f := range flags {
		*f = all&(1<<i) != 0
	}
}

// float takes few bytes for round numbers.
func (s *scribe) float(v *float32) {
	if s.writes {
		s.b = binary.AppendUvarint(s.b, uint64(bits.ReverseBytes32(math.Float32bits(*v))))
		return
	}
	n, size := binary.Uvarint(s.b)
	if size <= 0 || n > math.MaxUint32 {
		s.fail()
		n, size = 0, 0
	}
	*v, s.b = math.Float32frombits(bits.ReverseBytes32(uint32(n))), s.b[size:]
}

func (s *scribe) vec(v *vec) {
	s.float(&v.x)
	s.float(&v.y)
}

// length writes a length, or reads one that is at most most.
func (s *scribe) length(n, most int) int {
	number(s, &n)
	if n < 0 || n > most {
		s.fail()
		return 0
	}
	return n
}

func (s *scribe) input(in *teehistorian.Input) {
	for _, v := range [...]*int32{
		&in.Direction, &in.TargetX, &in.TargetY, &in.Jump, &in.Fire, &in.Hook, &in.PlayerFlags, &in.WantedWeapon, &in.NextWeapon, &in.PrevWeapon,
	} {
		number(s, v)
	}
}

func (s *scribe) core(c *core) {
	s.vec(&c.pos)
	s.vec(&c.vel)
	h := &c.hook
	number(s, &h.state)
	s.vec(&h.at)
	s.vec(&h.dir)
	s.vec(&h.base)
	number(s, &h.player)
	number(s, &h.ticks)
	number(s, &c.jumped)
	number(s, &c.jumps)
	number(s, &c.done)
	number(s, &c.noMove)
	number(s, &c.held)
	number(s, &c.direction)
	number(s, &c.wall)
	s.flags(
		&h.tele, &c.wallReady, &c.solo, &c.noCollision, &c.noHook, &c.noHit, &c.endless, &c.unlimited, &c.jetpack, &c.super, &c.deep, &c.live,
		&c.refilled, &c.arms.thawed, &c.arms.fresh,
	)
	number(s, &c.frozen)
	number(s, &c.frozenAt)
	number(s, &c.checkpoint)
	s.vec(&c.previous)
	a := &c.arms
	number(s, &a.got)
	s.weapon(&a.active, hammer)
	s.weapon(&a.last, hammer)
	s.weapon(&a.queued, noWeapon)
	number(s, &a.reload)
	number(s, &a.dash.since)
	s.vec(&a.dash.dir)
	number(s, &a.dash.left)
	s.float(&a.dash.speed)
	number(s, &a.dash.hit)
}

func (s *scribe) weapon(v *weapon, least weapon) {
	if number(s, v); *v < least || *v > ninja {
		s.fail()
		*v = hammer
	}
}

// tuning writes or reads which of the world's tunings one is.
func (w *World) tuning(s *scribe, t **tuning) {
	const (
		whole = iota
		untuned
		zones
	)
	which := whole
	if *t == &w.untuned {
		which = untuned
	}
	for number, zone := range w.tiles.zones {
		if *t == zone {
			which = zones + int(number)
		}
	}
	switch which = s.length(which, zones+math.MaxUint8); which {
	case whole:
		*t = &w.tune
	case untuned:
		*t = &w.untuned
	default:
		if *t = w.tiles.zones[uint8(which-zones)]; *t == nil {
			s.fail()
			*t = &w.tune
		}
	}
}

// visit writes or reads the whole state.
func (w *World) visit(s *scribe) {
	for i := range w.tune {
		s.float(&w.tune[i])
	}
	number(s, &w.tick)
	number(s, &w.to)
	number(s, &w.tries)
	s.flags(&w.keepHook, &w.solo, &w.deepFly, &w.endless, &w.evenHooks)
	number(s, &w.freezeTicks)
	number(s, &w.specPause)
	n := s.length(len(w.slots), teehistorian.MaxClients)
	for id := range int32(n) {
		w.visitSlot(s, w.slot(id), id)
	}
	w.visitOrder(s)
	w.visitShots(s)
	for team := range int32(teehistorian.MaxClients) {
		w.visitTeam(s, team)
	}
	w.visitWaiting(s)
}

func (w *World) visitSlot(s *scribe, o *slot, id int32) {
	has := o.tee != nil
	s.flags(&o.several, &o.hasInput, &o.fires, &o.there, &o.fresh, &has)
	s.input(&o.input)
	if o.several {
		s.input(&o.first)
	}
	number(s, &o.changed)
	number(s, &o.pause)
	number(s, &o.team)
	number(s, &o.killed)
	number(s, &o.wants)
	number(s, &o.wanted)
	number(s, &o.at[0])
	number(s, &o.at[1])
	if !has {
		return
	}
	if o.tee == nil {
		o.tee = &tee{id: id}
		o.spare = o.tee
		w.present = append(w.present, o.tee)
	}
	w.visitTee(s, o.tee)
}

func (w *World) visitTee(s *scribe, t *tee) {
	s.flags(&t.armed, &t.given, &t.left, &t.away, &t.starts, &t.finishes, &t.finished, &t.dead)
	s.core(&t.core)
	s.input(&t.input)
	s.input(&t.latest)
	if n := s.length(len(t.branches), maxBranches); !s.writes {
		t.branches = make([]branch, n)
	}
	for i := range t.branches {
		s.core(&t.branches[i].core)
	}
	w.tuning(s, &t.tune)
	number(s, &t.team)
	s.trust(&t.trust)
	s.trust(&t.blurred)
	number(s, &t.verdict.mark)
	number(s, &t.verdict.cause)
	number(s, &t.verdict.dx)
	number(s, &t.verdict.dy)
	s.past(&t.past)
}

// past writes or reads what facts need of the ticks before, of what there is.
func (s *scribe) past(p *past) {
	r := &p.run
	met := p.contact.what != 0
	s.flags(&p.ice.on, &p.grip.on, &r.on, &met)
	if met {
		number(s, &p.contact.by)
		number(s, &p.contact.what)
		number(s, &p.contact.tick)
		s.proof(&p.contact.proof)
	}
	for _, one := range [...]*span{&p.ice, &p.grip, &r.span} {
		if one.on {
			number(s, &one.from)
			s.proof(&one.proof)
		}
	}
	if p.grip.on {
		number(s, &p.held)
	}
	if r.on {
		for i := range r.ticks {
			number(s, &r.ticks[i])
		}
		number(s, &r.unproven)
	}
}

func (s *scribe) proof(p *proof) {
	if number(s, &p.mark); p.mark > Unknown {
		s.fail()
		p.mark = Unknown
	}
	number(s, &p.cause)
}

func (s *scribe) trust(t *trust) {
	s.flags(&t.keep, &t.confirmed)
	number(s, &t.cause)
	number(s, &t.tile)
	number(s, &t.known)
	number(s, &t.streak)
	number(s, &t.ticks)
	number(s, &t.still)
}

func (w *World) visitOrder(s *scribe) {
	n := s.length(len(w.order), len(w.present))
	for i := range n {
		var id int32
		if s.writes {
			id = w.order[i].id
		}
		number(s, &id)
		if s.writes {
			continue
		}
		if t := w.tee(id); t != nil {
			w.order = append(w.order, t)
		} else {
			s.fail()
		}
	}
}

func (w *World) visitShots(s *scribe) {
	shots := &w.shots
	n := s.length(len(shots.grenades), maxShots)
	if !s.writes {
		shots.grenades = make([]grenadeShot, n)
	}
	for i := range shots.grenades {
		g := &shots.grenades[i]
		number(s, &g.owner)
		s.vec(&g.from)
		s.vec(&g.dir)
		number(s, &g.since)
		number(s, &g.life)
		s.flags(&g.doubted)
		w.tuning(s, &g.tune)
	}
	n = s.length(len(shots.beams), maxShots)
	if !s.writes {
		shots.beams = make([]beam, n)
	}
	for i := range shots.beams {
		b := &shots.beams[i]
		s.weapon(&b.weapon, hammer)
		number(s, &b.owner)
		s.vec(&b.from)
		s.vec(&b.at)
		s.vec(&b.dir)
		s.float(&b.energy)
		number(s, &b.bounces)
		number(s, &b.since)
		number(s, &b.tick)
		s.flags(&b.doubted)
		w.tuning(s, &b.tune)
	}
}

// visitTeam writes or reads what a team has: whether it practises, and the switches that do not stand as when a game begins.
func (w *World) visitTeam(s *scribe, team int32) {
	practises, sw := w.practice[team], w.switches[team]
	has := sw != nil
	if s.flags(&practises, &has); practises {
		w.practice[team] = true
	}
	if !has {
		return
	}
	if sw = w.switchesOf(team); sw == nil {
		s.fail()
		return
	}
	s.flags(&sw.known)
	changed := 0
	moved := func(i int) bool { return sw.of[i] != switcher{position: position{on: !w.tiles.open[i]}} }
	for i := range sw.of {
		if s.writes && moved(i) {
			changed++
		}
	}
	next := 0
	for range s.length(changed, len(sw.of)) {
		for s.writes && !moved(next) {
			next++
		}
		if number(s, &next); next < 0 || next >= len(sw.of) {
			s.fail()
			return
		}
		it := &sw.of[next]
		s.flags(&it.on, &it.timed, &it.before.on, &it.before.timed, &it.touched, &it.waits)
		number(s, &it.end)
		number(s, &it.before.end)
		next++
	}
}

// visitWaiting writes or reads which switches were touched in the last tick and which wait to turn themselves, in their orders.
func (w *World) visitWaiting(s *scribe) {
	for _, list := range [...]*[]*switcher{&w.touched, &w.waiting} {
		most := len(w.switches) << 8
		for i := range s.length(len(*list), most) {
			var team, place int32
			if s.writes {
				team, place = w.placeOf((*list)[i])
			}
			number(s, &team)
			number(s, &place)
			if s.writes {
				continue
			}
			sw := w.switches[team]
			if sw == nil || place < 0 || int(place) >= len(sw.of) {
				s.fail()
				return
			}
			*list = append(*list, &sw.of[place])
		}
	}
}

// placeOf returns the team of a switch and its number.
func (w *World) placeOf(it *switcher) (team, place int32) {
	for team, sw := range w.switches {
		for i := range sw.of {
			if it == &sw.of[i] {
				return team, int32(i)
			}
		}
	}
	return -1, -1
}
