package teehistorian

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// The limits of reports; replayd.v1.TeehistorianReport states them.
const (
	maxLines       = 100
	maxTeamFinish  = 256
	maxMembers     = 64
	maxMembersSize = 256 << 10 // of the names of all teams' members, in bytes
	maxLine        = 512       // of a line's text, in bytes
)

// teamsMinor is the first minor version of the format whose servers record teams.
const teamsMinor = 2

// standing collects a report's facts of a game. The report feeds it with each event, after the decoder delivered it.
type standing struct {
	sessions *sessions
	out      *replaydv1.TeehistorianReport
	counted  map[*replaydv1.TeehistorianPlayer]int32 // the tick up to which the player's stays are counted
	best     map[*replaydv1.Participant]*replaydv1.Finish
	damaged  int // the number of damaged places
	members  int // the size of the names of teams' members, in bytes
	reveal   decoders.Secrets
}

// report implements Report of codec.Codec.
func report(_ context.Context, in source.Input, o codec.ReportOptions, to *replaydv1.Report) error {
	src, err := in.From(0)
	if err != nil {
		return err
	}
	d := teehistorian.New(src, teehistorian.Options{})
	h, err := d.Header()
	if err != nil {
		if errors.Is(err, decoders.ErrMore) {
			err = d.Close()
		}
		return err
	}
	s := &standing{
		sessions: newSessions(h.PrevGameUUID != "", nil), best: map[*replaydv1.Participant]*replaydv1.Finish{}, reveal: o.Secrets.Reveal,
		out: &replaydv1.TeehistorianReport{ServerName: h.ServerName, ServerVersion: h.ServerVersion, GameType: h.GameType},
	}
	addHeader(to.GetReplay(), h, false)
	var before []byte
	if o.Roster != nil {
		if before = o.Roster(to.GetReplay()); before != nil {
			_ = d.Carry(before) // an unusable roster is treated like none
		}
	}
	passed, err := s.read(d, &o)
	if err := codec.Concluded(to, err); err != nil {
		return err
	}
	if s.damaged > 0 && to.GetDamage() == "" {
		to.Damage = fmt.Sprintf("damaged places: %d; what stood there does not count", s.damaged)
	}
	if to.Tick = new(max(d.Tick(), 0)); passed {
		to.Tick = o.Tick
	}
	teams := h.Version >= 2 && h.VersionMinor >= teamsMinor
	s.conclude(d, before, to.GetTick(), teams, &o.Secrets)
	to.Game = &replaydv1.Report_Teehistorian{Teehistorian: s.out}
	return nil
}

// read decodes until passed reports that the report's tick is over, or until an error.
func (s *standing) read(d *teehistorian.Decoder, o *codec.ReportOptions) (passed bool, err error) {
	var ev teehistorian.Event
	var moves [movesAtOnce]teehistorian.PlayerDiff
	for n := 1; ; n++ {
		if ev.Kind == teehistorian.KindTick || ev.Kind == teehistorian.KindPlayerDiff || ev.Kind == teehistorian.KindMessage {
			for {
				moved, _ := d.Moves(moves[:], false)
				if moved == 0 && d.SkipInputs() == 0 {
					break
				}
				n++
			}
		}
		if err := d.Next(&ev); err != nil {
			return false, err
		}
		if o.Tick != nil && ev.AtTick > *o.Tick {
			return true, nil
		}
		s.add(d, &ev)
		if n%surveyWork == 0 {
			if err := o.Pause(d.Held() + int64(s.sessions.size)); err != nil {
				return false, err
			}
		}
	}
}

// add adds an event's facts to the report.
func (s *standing) add(d *teehistorian.Decoder, ev *teehistorian.Event) {
	s.sessions.add(d, ev)
	switch ev.Kind {
	case teehistorian.KindDamage:
		s.damaged++
	case teehistorian.KindPlayerFinish:
		p := s.sessions.session(d, ev, ev.PlayerFinish.ClientId)
		if best := s.best[p]; best == nil || ev.PlayerFinish.Time < best.GetTime() {
			s.best[p] = &replaydv1.Finish{Tick: ev.AtTick, Time: ev.PlayerFinish.Time}
		}
	case teehistorian.KindTeamFinish:
		s.teamFinished(d, ev)
	case teehistorian.KindMessage:
		s.said(d, ev)
	}
}

// teamFinished adds the finish of a team.
func (s *standing) teamFinished(d *teehistorian.Decoder, ev *teehistorian.Event) {
	e := &ev.TeamFinish
	if len(s.out.TeamFinishes) == maxTeamFinish {
		return
	}
	finish := &replaydv1.TeamFinish{Tick: ev.AtTick, Team: e.Team, Time: e.Time}
	for _, c := range d.State().Clients() {
		if c.Present && c.Team == e.Team && len(c.Name) > 0 && len(finish.Names) < maxMembers && s.members+len(c.Name) <= maxMembersSize {
			s.members += textSize + len(c.Name)
			finish.Names = append(finish.Names, text(c.Name))
		}
	}
	s.out.TeamFinishes = append(s.out.TeamFinishes, finish)
}

// said adds a line of chat, or the call of a vote. Reports leave out private talk.
func (s *standing) said(d *teehistorian.Decoder, ev *teehistorian.Event) {
	m := &ev.Message
	name := text(d.State().Client(m.ClientId).Name)
	switch m.ContentCase {
	case teehistorian.MessageContentSay:
		if m.Say.Mode == teehistorian.SayModeWhisper {
			return
		}
		if teehistorian.Redact(ev, s.reveal); len(m.Say.Text) == 0 {
			return
		}
		s.out.Chat = last(s.out.Chat, &replaydv1.ChatLine{
			Tick: ev.AtTick, ClientId: m.ClientId, Name: name, Text: line(m.Say.Text), Team: m.Say.Mode == teehistorian.SayModeTeam,
		})
	case teehistorian.MessageContentCallVote:
		if teehistorian.Redact(ev, s.reveal); m.Redacted {
			return
		}
		s.out.Votes = last(s.out.Votes, &replaydv1.CalledVote{
			Tick: ev.AtTick, ClientId: m.ClientId, Name: name,
			Type: line(m.CallVote.Type), Value: line(m.CallVote.Value), Reason: line(m.CallVote.Reason),
		})
	}
}

// line returns the text of a line of chat.
func line(b []byte) string { return text(b[:min(len(b), maxLine)]) }

// last appends to a list, of which it keeps the last maxLines.
func last[T any](list []T, one T) []T {
	if len(list) == maxLines {
		list = append(list[:0], list[1:]...)
	}
	return append(list, one)
}

// conclude makes the players of their stays until a tick.
func (s *standing) conclude(d *teehistorian.Decoder, before []byte, tick int32, teams bool, secrets *codec.Secrets) {
	r := new(replaydv1.Replay)
	r.Participants, r.ParticipantsLeftOut = s.sessions.list, s.sessions.leftOut
	completeParticipants(r, before, secrets)
	s.out.StaysLeftOut = r.GetParticipantsLeftOut()
	s.counted = map[*replaydv1.TeehistorianPlayer]int32{}
	byName := map[string]*replaydv1.TeehistorianPlayer{}
	for _, stay := range r.GetParticipants() {
		name := ""
		if names := stay.GetNames(); len(names) > 0 {
			name = names[len(names)-1]
		}
		p := byName[name]
		if p == nil {
			p = &replaydv1.TeehistorianPlayer{Name: name}
			s.out.Players = append(s.out.Players, p)
			if name != "" {
				byName[name] = p
			}
		}
		s.stayed(d, p, stay, tick, teams)
	}
	slices.SortStableFunc(s.out.Players, func(a, b *replaydv1.TeehistorianPlayer) int {
		switch {
		case a.Best == nil && b.Best == nil:
			return 0
		case a.Best == nil:
			return 1
		case b.Best == nil:
			return -1
		}
		return cmp.Compare(a.GetBest().GetTime(), b.GetBest().GetTime())
	})
}

// stayed adds a stay to its player.
func (s *standing) stayed(d *teehistorian.Decoder, p *replaydv1.TeehistorianPlayer, stay *replaydv1.Participant, tick int32, teams bool) {
	p.Stays = append(p.Stays, stay)
	p.Clan = cmp.Or(stay.GetClan(), p.GetClan())
	until := tick
	if stay.ToTick != nil {
		until = stay.GetToTick()
	} else {
		p.Connected = true
		if teams {
			p.Team = &[]int32{d.State().Client(stay.GetClientId()).Team}[0]
		}
	}
	p.Ticks += max(int64(until)-int64(max(stay.GetFromTick(), s.counted[p])), 0)
	s.counted[p] = max(until, s.counted[p])
	p.FinishCount += stay.GetFinishCount()
	if best := s.best[stay]; best != nil && (p.Best == nil || best.GetTime() < p.GetBest().GetTime()) {
		p.Best = best
	}
}
