package sc2replay

import (
	"errors"
	"io"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// Options configure a Decoder. With the zero value, it decodes everything.
type Options struct {
	// Want is the set of kinds that the caller needs. Nil means all. Events of other kinds are still delivered, at the same
	// positions. They may lack expensive contents, such as the contents of members. Everything else is always read, because the
	// players, the replay's data and its end depend on all event streams.
	Want *Kinds
	// RevealPrivate delivers the contents of replay.server.battlelobby, which contain the names of accounts.
	RevealPrivate bool
}

// Decoder decodes the events of a replay, one per call of Next.
type Decoder struct {
	rep    *Replay // the result of Unpack, once it was called
	source *Unpacked
	want   Kinds
	reveal bool

	prepared bool
	head     []func(*Event) // remaining events before the streams
	game     stream
	message  stream
	tracker  stream
	units    units
	ended    bool
	tick     int32
	position decoders.Position
	final    error
	// memberErr is the first error about the contents of a member that is delivered undecoded.
	memberErr error
	naming    naming
}

var _ decoders.Decoder[Event] = (*Decoder)(nil)

// Events returns a decoder of the replay's events. It reads nothing. The first call of Next unpacks the streams.
func (p *Replay) Events(o Options) *Decoder {
	d := &Decoder{rep: p, want: AllKinds(), reveal: o.RevealPrivate}
	if o.Want != nil {
		d.want = *o.Want
	}
	return d
}

// Position returns where the next event starts. Offset is the number of bytes, unpacked, of all event streams before
// it. Index counts the events before it at the same offset, in steps of decoders.Room. Pass it to Seek of a decoder of the same replay.
func (d *Decoder) Position() decoders.Position { return d.position }

// Tick returns the gameloop of the last event.
func (d *Decoder) Tick() int32 { return d.tick }

// Players returns the players and observers in the lobby. After the first event the list is more complete than
// Replay.Players.
func (d *Decoder) Players() []PlayerInfo { return d.rep.Players }

// Seek decodes up to a position and drops the events before it. If the replay ends earlier, it returns the error of
// Next.
func (d *Decoder) Seek(to decoders.Position) error {
	var ev Event
	for d.position.Before(to) {
		if err := d.Next(&ev); err != nil {
			return err
		}
	}
	return nil
}

// Next decodes the next event into ev. It returns io.EOF after the last one. If parts of the replay could not be read,
// it returns a *decoders.Error instead, also after the last event. All readable events have been delivered then, and
// KindEnd lists what is missing.
func (d *Decoder) Next(ev *Event) error {
	if d.final != nil {
		return d.final
	}
	if !d.prepared {
		if err := d.prepare(); err != nil {
			d.final = err
			return err
		}
	}
	ev.HasPlayer, ev.Unproven, ev.HasUnproven = false, false, false
	ev.AtTick = 0
	if len(d.head) > 0 {
		d.head[0](ev)
		d.head = d.head[1:]
		d.advance()
		return nil
	}
	if d.next(ev) {
		d.tick = ev.AtTick
		d.advance()
		return nil
	}
	if !d.ended {
		d.ended = true
		d.end(ev)
		d.advance()
		return nil
	}
	d.final = d.failure()
	return d.final
}

// advance moves the position behind the event that was just delivered.
func (d *Decoder) advance() {
	offset := int64(d.game.start + d.message.start + d.tracker.start)
	if offset != d.position.Offset {
		d.position = decoders.Position{Offset: offset}
		return
	}
	d.position.Index += decoders.Room
}

// next reads from the stream whose next event is the earliest. Within a gameloop, game events come first, then
// messages, then tracker events.
func (d *Decoder) next(ev *Event) bool {
	for {
		var s *stream
		for _, candidate := range [...]*stream{&d.game, &d.message, &d.tracker} {
			if candidate.ready && (s == nil || candidate.tick < s.tick) {
				s = candidate
			}
		}
		if s == nil {
			return false
		}
		user, ok := s.read(ev)
		if !ok {
			continue // the other streams continue
		}
		if s.id == protocol.Tracker {
			d.setPlayer(ev, &d.rep.roster.byPlayer, d.units.track(ev))
			if ev.Kind == KindPlayerSetup { // more specific than the number, which two players share in archon mode
				if i := d.rep.playerOfSlot(&ev.PlayerSetup); i >= 0 {
					ev.Player, ev.HasPlayer = d.rep.Players[i].Ref, true
				}
			}
			return true
		}
		d.setPlayer(ev, &d.rep.roster.byUser, user)
		if s.id == protocol.Game {
			d.units.link(ev)
			d.naming.name(ev)
		}
		return true
	}
}

// setPlayer sets the player who caused the event.
func (d *Decoder) setPlayer(ev *Event, ids *[32]uint8, id uint32) {
	if id >= uint32(len(ids)) {
		return
	}
	if at := ids[id]; at > 0 {
		ev.Player, ev.HasPlayer = d.rep.Players[at-1].Ref, true
		return
	}
	// The player is unknown, but its number is not.
	if ids == &d.rep.roster.byUser && id != noUser {
		ev.Player, ev.HasPlayer = PlayerRef{UserId: id, HasUserId: true}, true
		if d.rep.table.Build < firstWithUserID {
			ev.Player = PlayerRef{PlayerId: id, HasPlayerId: true}
		}
	} else if ids == &d.rep.roster.byPlayer && id != 0 {
		ev.Player, ev.HasPlayer = PlayerRef{PlayerId: id, HasPlayerId: true}, true
	}
}

// prepare opens the streams and lists the events before them.
func (d *Decoder) prepare() error {
	d.prepared = true
	d.units.reset(d.rep.Start.Version.BaseBuild)
	d.game.state, d.message.state, d.tracker.state = PartStateSkipped, PartStateSkipped, PartStateSkipped
	for id, s := range map[protocol.Stream]*stream{protocol.Game: &d.game, protocol.Message: &d.message, protocol.Tracker: &d.tracker} {
		s.id, s.name = id, streamMembers[id]
	}
	if d.source == nil {
		source, err := d.rep.Unpack()
		if err != nil {
			return err
		}
		d.source = source
	}
	d.rep = &d.source.rep
	table := d.rep.table
	layouts := d.rep.layouts(table)
	d.game.open(protocol.Game, memberGame, table, &d.source.game, layouts)
	d.message.open(protocol.Message, memberMessage, table, &d.source.message, layouts)
	d.tracker.open(protocol.Tracker, memberTracker, table, &d.source.tracker, layouts)
	d.naming = namingOf(d.rep)
	d.units.naming, d.units.untracked = &d.naming, d.tracker.size() == 0
	d.list()
	return nil
}

// list lists the events before the streams.
func (d *Decoder) list() {
	p := d.rep
	d.head = append(d.head, func(ev *Event) { ev.Kind, ev.Start = KindStart, p.Start })
	if p.Has.Details {
		d.head = append(d.head, func(ev *Event) { ev.Kind, ev.Details = KindDetails, p.Details })
	}
	if p.Has.Lobby {
		d.head = append(d.head, func(ev *Event) { ev.Kind, ev.Lobby = KindLobby, p.Lobby })
	}
	if p.Has.Attributes {
		d.head = append(d.head, func(ev *Event) { ev.Kind, ev.Attributes = KindAttributes, p.Attributes })
	}
	if p.Has.Metadata {
		d.head = append(d.head, func(ev *Event) { ev.Kind, ev.GameMetadata = KindGameMetadata, p.Metadata })
	}
	for i := range p.Players {
		d.head = append(d.head, func(ev *Event) {
			ev.Kind, ev.PlayerInfo = KindPlayerInfo, p.Players[i]
			ev.Player, ev.HasPlayer = p.Players[i].Ref, true
		})
	}
	if p.archive != nil {
		d.listMembers()
	}
}

// end makes the last event.
func (d *Decoder) end(ev *Event) {
	ev.Kind, ev.AtTick = KindEnd, d.tick
	ev.End = End{DecodeInfo: d.Info(), HasDecodeInfo: true}
}

// Info describes the table in use and how completely each part has been decoded so far.
func (d *Decoder) Info() DecodeInfo {
	parts := slices.Clone(d.rep.Parts)
	if d.rep.Damage != nil {
		parts = append(parts, PartStatus{Name: []byte("archive"), State: PartStateUnreadable, Error: []byte(d.rep.Damage.Error())})
	}
	parts = append(parts, d.game.status(), d.message.status(), d.tracker.status())
	return d.rep.decodeInfo(parts)
}

// failure returns the error that ends decoding: the first failure of a part, or io.EOF if there was none.
func (d *Decoder) failure() error {
	if d.rep.Damage != nil {
		return d.rep.Damage
	}
	if d.rep.Fault != nil {
		return d.rep.Fault
	}
	for _, s := range []*stream{&d.game, &d.message, &d.tracker} {
		if s.err != nil {
			return s.err
		}
	}
	if d.memberErr != nil {
		return d.memberErr
	}
	return io.EOF
}

// Close returns nil when the replay was read to its end, and otherwise the error. Replays do not grow.
func (d *Decoder) Close() error {
	if d.final != nil && !errors.Is(d.final, io.EOF) {
		return d.final
	}
	return nil
}
