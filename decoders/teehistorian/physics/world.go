package physics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// World plays the game of one recording again on its map, and compares each tick with the recording.
type World struct {
	header  *teehistorian.Header
	tiles   *Map
	tune    tuning
	untuned tuning // of zones without a tuning of their own
	tick    int32  // the last tick that was played
	to      int32  // the last tick that has begun
	slots   []slot
	// present has the characters by id, order as the server has them act: who came last is first.
	present, order, close []*tee

	freezeTicks int32
	keepHook    bool
	solo        bool           // who appears meets nobody
	soloServer  bool           // each is in a team of its own
	release     int            // of the server
	practice    map[int32]bool // by team
	endless     bool           // all hooks are
	evenHooks   bool           // characters act in another order than by their age
	specPause   pause          // what watching means
	ambiguous   bool           // the recording does not tell exactly when inputs came into effect
	deepFly     bool           // who is deep frozen hammers

	shots, before shots // what flies, and what flew before the tick

	switches map[int32]*switchers // by team
	touched  []*switcher          // in this tick
	waiting  []*switcher          // to turn themselves

	last     *tee   // who acts last in the tick, as the server forgot the others; nil if it did not
	upheaval bool   // somebody left or changed the team in this tick
	cores    []core // for meet
	tries    int    // how often ticks may be played again
	alone    bool   // nobody meets anybody
	pending  bool   // the last tick is not compared yet
	check    func(*Result)
	result   Result

	ended []tee  // the characters that came to their end in the tick
	tells bool   // facts are wanted
	told  []told // facts
	next  int    // the first of them that Next has not returned
}

// slot is what is known of a client.
type slot struct {
	input                  teehistorian.Input // in effect from the next tick
	first                  teehistorian.Input // the first of several in one tick, which is in effect in the next tick only
	changed                int32              // tick of the last change
	several                bool
	hasInput               bool
	pause                  pause
	old                    teehistorian.Input // before the last tick that had any
	fires                  bool               // has pressed the fire key
	team                   int32
	killed                 int32 // the client asked to die before this tick
	wants                  teehistorian.EndCause
	wanted                 int32    // the client wants its character's end before this tick
	finishTick, finishTime int32    // of the last finish that was recorded
	at                     [2]int32 // where the recording has the character
	there                  bool
	fresh                  bool // appeared in this tick
	tee                    *tee
	spare                  *tee
}

// tee is a character.
type tee struct {
	id       int32
	core     core
	before   core               // before the tick
	input    teehistorian.Input // with which it acts in the tick
	kept     teehistorian.Input // with which it acted in the tick before
	latest   teehistorian.Input // with which it shoots
	shoots   bool               // an input arrived before the tick
	holds    bool               // but it does not shoot
	aimed    teehistorian.Input // latest before that
	tune     *tuning
	team     int32 // in the tick
	trust    trust
	blurred  trust                    // whether it stands as calculated in what the recording does not show
	hits     []int32                  // who hits it with a hammer before the tick
	blows    []blow                   // that hit it in the tick
	froze    teehistorian.FreezeCause // in the tick
	thawed   teehistorian.ThawCause   // in the tick
	thawedBy int32                    // -1 for nobody
	ends     teehistorian.EndCause
	past     past
	exits    []vec    // to which a teleporter may lead
	exit     int      // to which it does
	met      []int32  // who has an effect on it
	effects  []Effect // of tiles and weapons
	dead     bool     // touches what kills
	armed    bool     // may have weapons that are not calculated
	given    bool     // by a command
	verdict  verdict  // on the last tick
	// branches are other states in which it may be, since an input of which the recording does not tell when it came into effect.
	branches         []branch
	left             bool // left before the tick
	away             bool // out of the game, as its client watches
	starts, finishes bool // came through the start, the finish
	finished         bool // did so in an earlier tick
	astray           bool // elsewhere than recorded
}

// lastAmbiguous is the last version of recordings in which a client may have several inputs in a tick.
const lastAmbiguous = 10

// firstElastic is the first release whose tuning has elastic walls.
const firstElastic = 17

// release returns the release of DDNet in a server's version, such as 16 in "0.6.4, 16.4".
func release(version string) int {
	_, ddnet, _ := strings.Cut(version, ", ")
	major, _, _ := strings.Cut(ddnet, ".")
	n, _ := strconv.Atoi(major)
	return n
}

// oldest is the first version of recordings whose positions are those after each tick.
const oldest = 2

// Supports returns an error that wraps [decoders.ErrUnsupported] for a recording that cannot be played.
func Supports(h *teehistorian.Header) error {
	switch {
	case !strings.HasSuffix(h.GameType, "DDraceNetwork"):
		return fmt.Errorf("%w: the rules of a game of type %q are not known", decoders.ErrUnsupported, h.GameType)
	case h.VersionMinor < oldest:
		return fmt.Errorf("%w: servers before DDNet 15.6 recorded positions in the middle of ticks", decoders.ErrUnsupported)
	}
	return nil
}

// New returns the world of a recording with this header. It calls check for each character and tick, whose result is valid until
// check returns.
func New(h *teehistorian.Header, m *Map, check func(*Result)) *World {
	w := &World{header: h, tiles: m, check: check, freezeTicks: 3 * ticksPerSecond, deepFly: true, specPause: pausePlace, practice: map[int32]bool{}, switches: map[int32]*switchers{}}
	m.placed.Do(func() {
		m.placeDoors()
		m.placeThreats()
	})
	w.tune.reset()
	w.untuned.reset()
	for name, value := range h.Tuning {
		w.tune.setText(name, value)
	}
	w.soloServer = h.Config["sv_team"] == "3"
	for _, name := range settings {
		w.setting(name, h.Config[name])
	}
	w.release = release(h.ServerVersion)
	w.ambiguous = h.VersionMinor <= lastAmbiguous
	return w
}

// Held returns about how much memory the world and its map hold, in bytes.
func (w *World) Held() int64 {
	const each = unsafe.Sizeof(slot{}) + unsafe.Sizeof(tee{})
	const shot = 2 * (unsafe.Sizeof(grenadeShot{}) + unsafe.Sizeof(beam{}))
	return w.tiles.Held() + int64(cap(w.told))*int64(unsafe.Sizeof(told{})) + int64(len(w.slots)+cap(w.ended))*int64(each) + maxShots*int64(shot) + int64(len(w.switches))*int64(unsafe.Sizeof(switchers{}))
}

// slot returns a client's slot, or nil for ids that no server gives.
func (w *World) slot(id int32) *slot {
	if id < 0 || id >= teehistorian.MaxClients {
		return nil
	}
	for int(id) >= len(w.slots) {
		w.slots = append(w.slots, slot{changed: -1, killed: -1, wanted: -1, finishTick: -1})
	}
	return &w.slots[id]
}

func (w *World) tee(id int32) *tee {
	if id < 0 || int(id) >= len(w.slots) {
		return nil
	}
	return w.slots[id].tee
}

// Apply applies the next event of the recording. It plays a tick when the event behind the one that begins it comes.
func (w *World) Apply(ev *teehistorian.Event) {
	w.advance()
	switch ev.Kind {
	case teehistorian.KindTick:
		w.Settle(ev.AtTick - 1)
		w.to = ev.AtTick
	case teehistorian.KindPlayerDiff:
		if s := w.slot(ev.PlayerDiff.ClientId); s != nil {
			s.at = [2]int32{ev.PlayerDiff.X, ev.PlayerDiff.Y}
		}
	case teehistorian.KindPlayerNew:
		if s := w.slot(ev.PlayerNew.ClientId); s != nil {
			s.at, s.there, s.fresh = [2]int32{ev.PlayerNew.X, ev.PlayerNew.Y}, true, true
		}
	case teehistorian.KindPlayerOld:
		if s := w.slot(ev.PlayerOld.ClientId); s != nil {
			s.there, s.fresh = false, false
		}
	case teehistorian.KindInputNew:
		w.setInput(ev.InputNew.ClientId, &ev.InputNew.Input)
	case teehistorian.KindInputDiff:
		w.setInput(ev.InputDiff.ClientId, &ev.InputDiff.Input)
	case teehistorian.KindPlayerTeam:
		if s := w.slot(ev.PlayerTeam.ClientId); s != nil {
			w.changeTeam(s, ev.PlayerTeam.Team)
		}
	case teehistorian.KindMessage:
		w.message(&ev.Message)
	case teehistorian.KindDrop:
		if s := w.slot(ev.Drop.ClientId); s != nil {
			s.killed = w.tick + 1
			w.asks(s, teehistorian.EndCauseLeft)
			w.forget(ev.Drop.ClientId)
		}
	case teehistorian.KindJoin:
		if s := w.slot(ev.Join.ClientId); s != nil {
			s.pause, s.hasInput, s.several = pauseNot, false, false
			s.input = teehistorian.Input{}
		}
	case teehistorian.KindConsoleCommand:
		w.command(&ev.ConsoleCommand)
	case teehistorian.KindLoadSuccess:
		if s := w.switchesOf(ev.LoadSuccess.Team); s != nil {
			s.known = false // the saved game has its own
		}
		for _, t := range w.present {
			if w.slots[t.id].team == ev.LoadSuccess.Team {
				w.doubt(t, CauseCommand, 0, false)
			}
		}
	case teehistorian.KindPlayerSwap:
		for _, id := range [...]int32{ev.PlayerSwap.ClientId, ev.PlayerSwap.OtherClientId} {
			if t := w.tee(id); t != nil {
				w.doubt(t, CauseCommand, 0, false)
			}
		}
	case teehistorian.KindTeamPractice:
		if team := ev.TeamPractice.Team; team >= 0 && team < teehistorian.MaxClients {
			w.practice[team] = ev.TeamPractice.Practice
		}
	case teehistorian.KindDamage:
		w.doubtAll(CauseCommand)
	case teehistorian.KindPlayerFinish:
		if s := w.slot(ev.PlayerFinish.ClientId); s != nil {
			s.finishTick, s.finishTime = w.tick, ev.PlayerFinish.Time
		}
	case teehistorian.KindFinish:
		w.compare()
	}
}

// message notes that a client asks to die, or to watch.
func (w *World) message(m *teehistorian.Message) {
	s := w.slot(m.ClientId)
	switch {
	case s == nil:
	case m.ContentCase == teehistorian.MessageContentKill && s.pause == pauseNot:
		s.killed = w.tick + 1
		w.asks(s, teehistorian.EndCauseAsked)
	case m.ContentCase == teehistorian.MessageContentSetTeam && m.SetTeam.Team < 0:
		w.asks(s, teehistorian.EndCauseWatches)
	}
}

// asks notes that a client wants the end of its character.
func (w *World) asks(s *slot, cause teehistorian.EndCause) { s.wants, s.wanted = cause, w.tick+1 }

// forget notes that a client has left, whose number another one may get.
func (w *World) forget(id int32) {
	for _, t := range w.present {
		if t.past.contact.by == id {
			t.past.contact = contact{}
		}
	}
}

// Close compares the last tick, when no more events come.
func (w *World) Close() {
	w.advance()
	w.compare()
}

// Settle compares the last tick, as no more events of it come, and plays on to a tick up to which nothing is recorded.
func (w *World) Settle(tick int32) {
	w.advance()
	w.compare()
	for w.tick < tick {
		if w.rests() {
			w.rest(tick - w.tick)
			return
		}
		w.play()
		w.compare()
	}
}

// flagChatting is set in inputs while the client writes a message. The server ignores such inputs.
const flagChatting = 4

func (w *World) setInput(id int32, in *teehistorian.Input) {
	s := w.slot(id)
	if s == nil {
		return
	}
	if s.changed != w.tick {
		s.old, s.first, s.several = s.input, *in, false
	} else if w.ambiguous {
		s.several = true
	}
	s.input, s.hasInput, s.changed = *in, true, w.tick
	s.fires = s.fires || in.Fire != 0
}

// maxRest is how many ticks in a row without a record are played.
const maxRest = 500

// advance plays the tick that has begun.
func (w *World) advance() {
	if w.tick < w.to {
		w.play()
	}
}

// rests reports whether ticks without a record are not played.
func (w *World) rests() bool { return len(w.present) == 0 || w.tick-w.to >= maxRest }

// rest lets ticks pass in which nothing moves, up to the next one in which somebody thaws, and so on: so it makes no difference how often
// somebody looks meanwhile.
func (w *World) rest(ticks int32) {
	for ticks > 0 {
		step := ticks
		for _, t := range w.present {
			if t.core.frozen > 0 {
				step = min(step, max(t.core.frozen-1, 1))
			}
		}
		w.tick += step
		ticks -= step
		for _, t := range w.present {
			if t.core.frozen -= step; t.core.frozen <= 1 {
				t.core.frozen = 0
			}
			t.verdict = verdict{mark: Unknown, cause: CauseRest}
			w.result = Result{
				Tick: w.tick, Ticks: step, ClientID: t.id, Mark: Unknown, Cause: CauseRest,
				X: w.slots[t.id].at[0], Y: w.slots[t.id].at[1],
			}
			w.check(&w.result)
			w.rested(t, step)
		}
	}
}

// play plays one tick.
func (w *World) play() {
	w.elapse()
	w.tick++
	w.pending = true
	for _, t := range w.present {
		s := &w.slots[t.id]
		t.before, t.hits, t.exit = t.core, t.hits[:0], 0
		t.finished = t.finished || t.finishes
		t.team = s.team
		in := &s.input
		if s.several && s.changed == w.tick-1 {
			in = &s.first
		}
		t.kept = t.input
		t.shoots, t.holds = false, false
		if s.hasInput && s.pause == pauseNot && in.PlayerFlags&flagChatting == 0 {
			t.input, t.shoots = *in, true
		}
		t.aimed = t.latest
		w.fork(t)
	}
	w.before.set(&w.shots)
	w.last = nil
	w.run()
	for _, t := range w.present {
		if len(t.branches) > 0 {
			w.follow(t)
		}
	}
}

// run plays the tick from the states before it.
func (w *World) run() {
	w.unturn()
	for _, t := range w.present {
		t.core, t.latest = t.before, t.aimed
		t.met, t.effects, t.dead, t.exits = t.met[:0], t.effects[:0], false, nil
		t.starts, t.finishes = false, false
		t.blows, t.froze, t.thawed, t.thawedBy = t.blows[:0], teehistorian.FreezeCauseUnspecified, teehistorian.ThawCauseUnspecified, -1
	}
	for _, t := range w.present {
		for _, id := range t.hits {
			if by := w.tee(id); by != nil {
				w.hammered(t, by)
				by.core.arms.reload = cut(by.tune[hammerHitDelay] * ticksPerSecond / 1000)
			}
		}
	}
	w.shots.set(&w.before)
	for _, t := range w.present {
		if t.shoots && !t.left {
			w.direct(t)
		}
	}
	w.fly()
	w.pickUp()
	for _, t := range w.order {
		if !t.left {
			w.act(t)
			if t == w.last {
				break
			}
		}
	}
	for _, t := range w.order {
		if !t.left && !t.dead {
			w.move(t)
			t.core.round()
		}
	}
}

// act does what a character does before anybody moves.
func (w *World) act(t *tee) {
	c := &t.core
	in := t.input
	if c.frozen > 0 {
		c.frozen--
		in.Direction, in.Jump, in.Hook = 0, 0, 0
		if c.frozen == 1 {
			t.thaw(teehistorian.ThawCauseExpired, -1)
		}
	}
	if c.live {
		in.Direction, in.Jump = 0, 0
	}
	w.zone(t)
	w.steer(t, &in)
	w.wield(t)
	if c.deep && !c.super {
		w.freeze(t, w.freezeTicks, teehistorian.FreezeCauseDeep)
	}
	t.dead = !w.pass(t)
	c.previous = c.pos
}

// zone has a character follow the tuning of where it is.
func (w *World) zone(t *tee) {
	t.tune = &w.tune
	tiles := w.tiles.others[LayerTune]
	if tiles == nil {
		return
	}
	if number := tiles[w.tiles.at(t.core.pos)].Number; number != 0 {
		if t.tune = w.tiles.zones[number]; t.tune == nil {
			t.tune = &w.untuned
		}
	}
}

// gone reports whether a character is not in the game any more.
func (t *tee) gone() bool { return t.away || t.left || t.dead }

// together reports whether two characters can meet.
func (w *World) together(a, b *tee) bool {
	if w.alone || a.gone() || b.gone() {
		return false
	}
	if a.core.super || b.core.super {
		return true
	}
	if a.core.solo || b.core.solo || w.soloServer {
		return false
	}
	return a.team == b.team
}

// enter places a new character where the recording has it.
func (w *World) enter(s *slot, id int32) {
	if s.spare == nil {
		s.spare = &tee{}
	}
	t := s.spare
	*t = tee{id: id, core: spawn(s.place()), tune: &w.tune, team: s.team, hits: t.hits[:0], blows: t.blows[:0], met: t.met[:0], effects: t.effects[:0], branches: t.branches[:0]}
	t.verdict.mark = Appeared
	t.core.endless, t.core.solo = w.endless, w.solo
	t.before = t.core
	s.tee = t
	if s.hasInput {
		t.input = s.input
		if s.changed == w.tick { // but later than the character
			t.input = s.old
		}
		t.latest = t.input
		t.input.TargetX, t.input.TargetY = 0, -1
	}
	at, _ := slices.BinarySearchFunc(w.present, id, func(t *tee, id int32) int { return int(t.id - id) })
	w.present = slices.Insert(w.present, at, t)
	w.order = slices.Insert(w.order, 0, t)
}

func (w *World) leave(s *slot) {
	gone := s.tee
	gone.ends, gone.verdict = w.end(s), verdict{cause: gone.trust.cause}
	if gone.trust.doubted() || gone.ends == teehistorian.EndCauseUnspecified {
		gone.verdict.mark = Unknown
	}
	w.ended = append(w.ended, *gone)
	if sw := w.switches[gone.team]; sw != nil && w.soloServer {
		sw.reset(w.tiles) // the team has nobody else
	}
	is := func(t *tee) bool { return t == gone }
	w.present = slices.DeleteFunc(w.present, is)
	w.order = slices.DeleteFunc(w.order, is)
	w.releaseHooked(gone)
	s.tee = nil
}

// pickUp has characters take what lies about.
func (w *World) pickUp() {
	const near = 48
	for _, at := range w.tiles.hearts {
		for _, t := range w.order {
			if t.core.pos.sub(at).length() < near {
				w.freeze(t, w.freezeTicks, teehistorian.FreezeCauseHeart)
			}
		}
	}
	for lying := range w.tiles.lying {
		for _, t := range w.order {
			switch a := &t.core.arms; {
			case t.core.pos.sub(lying.at).length() >= near:
			case lying.takes:
				a.shield(lying.what...)
			default:
				t.armed = true
				a.take(lying.what[0], w.tick)
			}
		}
	}
}
