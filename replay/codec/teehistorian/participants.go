package teehistorian

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
)

// The limits of the list of participants; replayd.v1.Participant states them.
const (
	maxParticipants  = 4096
	maxSessionNames  = 32
	maxSessionRoles  = 8
	maxSessionTeams  = 64
	maxFinishes      = 256
	maxConnectionIDs = 16
	maxReason        = 256       // of a reason for leaving, in bytes
	maxSessionsSize  = 512 << 10 // of all participants together, in bytes
)

// The largest sizes of parts of the list, in bytes.
const (
	sessionSize = 48 + maxReason
	finishSize  = 16
	teamSize    = 4
	textSize    = 4 // beside its own bytes
)

// sessions collects who takes part in a game, and when. Its owner feeds it with each event, after the decoder delivered it.
type sessions struct {
	previous bool // the game follows another game of the same server process
	list     []*replaydv1.Participant
	leftOut  int32
	size     int                              // the largest size of the list
	open     map[int32]*replaydv1.Participant // of the connected clients, by client id
	used     map[int32]bool                   // slots that had a client before
}

// newSessions returns the sessions of a game. stored, a result of encoded, has the sessions that are known already.
func newSessions(previous bool, stored []byte) *sessions {
	s := &sessions{previous: previous, open: map[int32]*replaydv1.Participant{}, used: map[int32]bool{}}
	known := &replaydv1.Replay{}
	if proto.Unmarshal(stored, known) != nil {
		return s
	}
	s.list, s.leftOut = known.GetParticipants(), known.GetParticipantsLeftOut()
	s.size = len(stored)
	for _, p := range s.list {
		s.used[p.GetClientId()] = true
		if p.ToTick == nil {
			s.open[p.GetClientId()] = p
		}
	}
	return s
}

// encoded returns the sessions for a survey.
func (s *sessions) encoded() []byte {
	b, err := proto.Marshal(&replaydv1.Replay{Participants: s.list, ParticipantsLeftOut: s.leftOut})
	if err != nil {
		return nil // cannot happen, because all texts are valid
	}
	return b
}

// add adds an event's facts.
func (s *sessions) add(d *teehistorian.Decoder, ev *teehistorian.Event) {
	switch ev.Kind {
	case teehistorian.KindDamage: // the client may have left, and another one may have the slot
		for id := range s.open {
			s.leave(id, ev.AtTick)
		}
	case teehistorian.KindJoin:
		if p := s.open[ev.Join.ClientId]; p != nil && (ev.AtTick > 0 || !p.GetCarriedOver()) {
			s.leave(ev.Join.ClientId, ev.AtTick) // some servers write no drop
		}
		s.session(d, ev, ev.Join.ClientId)
	case teehistorian.KindDrop:
		s.drop(d, ev)
	case teehistorian.KindMessage:
		s.session(d, ev, ev.Message.ClientId)
	case teehistorian.KindInputNew:
		s.session(d, ev, ev.InputNew.ClientId)
	case teehistorian.KindPlayerNew:
		s.session(d, ev, ev.PlayerNew.ClientId)
	case teehistorian.KindPlayerName:
		s.session(d, ev, ev.PlayerName.ClientId)
	case teehistorian.KindRejoinver6:
		s.session(d, ev, ev.Rejoinver6.ClientId)
	case teehistorian.KindAuthInit:
		s.session(d, ev, ev.AuthInit.ClientId)
	case teehistorian.KindAuthLogin:
		s.session(d, ev, ev.AuthLogin.ClientId)
	case teehistorian.KindPlayerReady:
		if p := s.session(d, ev, ev.PlayerReady.ClientId); p.EnterTick == nil {
			p.EnterTick = &[]int32{ev.AtTick}[0]
		}
	case teehistorian.KindDdnetver:
		p := s.session(d, ev, ev.Ddnetver.ClientId)
		p.ConnectionIds = s.addText(p.ConnectionIds, ev.Ddnetver.ConnectionId, maxConnectionIDs)
	case teehistorian.KindPlayerTeam:
		p, team := s.open[ev.PlayerTeam.ClientId], ev.PlayerTeam.Team
		if p != nil && team != 0 && len(p.Teams) < maxSessionTeams && !slices.Contains(p.Teams, team) && s.grow(teamSize) {
			p.Teams = append(p.Teams, team)
		}
	case teehistorian.KindPlayerFinish:
		p := s.session(d, ev, ev.PlayerFinish.ClientId)
		if p.FinishCount++; len(p.Finishes) < maxFinishes && s.grow(finishSize) {
			p.Finishes = append(p.Finishes, &replaydv1.Finish{Tick: ev.AtTick, Time: ev.PlayerFinish.Time})
		}
	}
}

// session returns the session of a connected client, updated with the decoder's knowledge of the client. It begins one if the
// client has none. The list does not contain sessions of clients that are not connected.
func (s *sessions) session(d *teehistorian.Decoder, ev *teehistorian.Event, id int32) *replaydv1.Participant {
	p := s.open[id]
	c := d.State().Client(id)
	if p == nil {
		p = &replaydv1.Participant{ClientId: id, FromTick: new(ev.AtTick)}
		if !c.Present {
			return p
		}
		if s.previous && !s.used[id] && (ev.AtTick == 0 || !c.Joined) {
			p.CarriedOver, p.FromTick = true, nil
		}
		s.open[id], s.used[id] = p, true
		if len(s.list) < maxParticipants && s.grow(sessionSize) {
			s.list = append(s.list, p)
		} else {
			s.leftOut++
		}
	}
	s.name(p, &c)
	if c.HasInfo {
		p.Clan, p.Country = text(c.Clan), &c.Country
	}
	if len(c.Role) > 0 {
		p.Roles = s.addText(p.Roles, c.Role, maxSessionRoles)
	}
	return p
}

// name adds a client's name to its session. A name that the client asked for counts only until another name is known.
func (s *sessions) name(p *replaydv1.Participant, c *teehistorian.Client) {
	switch {
	case len(c.Name) == 0 || !c.NameEffective && !p.GetNameRequested() && len(p.GetNames()) > 0:
		return
	case p.GetNameRequested():
		p.Names = nil
	}
	p.NameRequested = !c.NameEffective
	p.Names = s.addText(p.Names, c.Name, maxSessionNames)
}

// drop ends a session. If the connection took over another slot, its ids are also those of the session there.
func (s *sessions) drop(d *teehistorian.Decoder, ev *teehistorian.Event) {
	p := s.leave(ev.Drop.ClientId, ev.AtTick)
	if p == nil {
		return
	}
	p.LeaveReason = codec.Known(text(ev.Drop.Reason[:min(len(ev.Drop.Reason), maxReason/3)])) // invalid UTF-8 grows
	slot := ev.Drop.ReclaimedClientId
	if slot < 0 {
		return
	}
	p.ReclaimedClientId = &slot
	old := s.session(d, ev, slot)
	for _, id := range p.GetConnectionIds() {
		old.ConnectionIds = s.addText(old.ConnectionIds, []byte(id), maxConnectionIDs)
	}
}

// leave ends the session of a client, if it has one, and returns it.
func (s *sessions) leave(id, tick int32) *replaydv1.Participant {
	p := s.open[id]
	if p != nil {
		p.ToTick = &tick
		delete(s.open, id)
	}
	return p
}

// grow reports whether the list may grow by a number of bytes, and counts them.
func (s *sessions) grow(n int) bool {
	if s.size+n > maxSessionsSize {
		return false
	}
	s.size += n
	return true
}

// addText appends a text that a list lacks, within the list's limit and the limit of all lists.
func (s *sessions) addText(list []string, value []byte, most int) []string {
	added := text(value)
	if len(list) >= most || slices.Contains(list, added) || !s.grow(textSize+len(added)) {
		return list
	}
	return append(list, added)
}

// participants implements Participants of codec.Codec. A client that is carried over has its name from the roster, because its
// own game does not state it.
func participants(r *replaydv1.Replay, stored, before []byte, secrets *codec.Secrets) {
	known := &replaydv1.Replay{}
	if proto.Unmarshal(stored, known) != nil {
		return
	}
	r.Participants, r.ParticipantsLeftOut = known.GetParticipants(), known.GetParticipantsLeftOut()
	completeParticipants(r, before, secrets)
}

// completeParticipants removes secrets from the participants of a replay, and adds the names that the previous game tells.
func completeParticipants(r *replaydv1.Replay, before []byte, secrets *codec.Secrets) {
	for _, p := range r.GetParticipants() {
		for _, id := range p.GetConnectionIds() {
			if hash := secrets.Pseudonym(decoders.SecretConnectionID, []byte(id)); hash != "" {
				p.ConnectionPseudonyms = append(p.ConnectionPseudonyms, hash)
			}
		}
		if !secrets.Reveal.Has(decoders.SecretConnectionID) {
			p.ConnectionIds = nil
		}
	}
	clients, err := teehistorian.ReadRoster(before)
	if err != nil {
		return
	}
	for _, p := range r.GetParticipants() {
		c := clients.Client(p.GetClientId())
		switch first := text(c.Name); {
		case !p.GetCarriedOver():
		case p.GetNameRequested() || len(p.GetNames()) == 0:
			new(sessions).name(p, &c)
		case c.NameEffective && len(p.Names) < maxSessionNames && !slices.Contains(p.Names, first): // its own game states the later ones
			p.Names = slices.Insert(p.Names, 0, first)
		}
	}
}
