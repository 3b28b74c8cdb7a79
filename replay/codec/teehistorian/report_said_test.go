package teehistorian

import (
	"fmt"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
)

// TestReportOfTalk: a report has the last lines of chat, and no more of them than streams show; talk in private is never there.
func TestReportOfTalk(t *testing.T) {
	d := teehistorian.New(strings.NewReader(""), teehistorian.Options{})
	said := func(s *standing, tick int32, m teehistorian.Message) {
		s.said(d, &teehistorian.Event{AtTick: tick, Kind: teehistorian.KindMessage, Message: m})
	}
	say := func(mode teehistorian.SayMode, text string) teehistorian.Message {
		return teehistorian.Message{ClientId: 3, ContentCase: teehistorian.MessageContentSay, Say: teehistorian.Say{Mode: mode, Text: []byte(text)}}
	}
	s := &standing{out: &replaydv1.TeehistorianReport{}}
	said(s, 1, say(teehistorian.SayModeAll, "/timeout hunter2"))
	said(s, 2, say(teehistorian.SayModeWhisper, "hunter2"))
	if len(s.out.GetChat()) > 0 {
		t.Errorf("secret: %v", s.out.GetChat())
	}
	open := &standing{out: &replaydv1.TeehistorianReport{}, reveal: codectest.Secrets(true).Reveal}
	said(open, 1, say(teehistorian.SayModeAll, "/timeout revealed"))
	said(open, 2, say(teehistorian.SayModeWhisper, "hunter2"))
	if c := open.out.GetChat(); len(c) != 1 || c[0].GetText() != "/timeout revealed" {
		t.Errorf("with all revealed: %v", c)
	}
	said(s, 3, say(teehistorian.SayModeTeam, strings.Repeat("ä", 400)))
	said(s, 4, teehistorian.Message{ClientId: 3, ContentCase: teehistorian.MessageContentCallVote, CallVote: teehistorian.CallVote{
		Type: []byte("kick"), Value: []byte("4"), Reason: []byte("blocks \xff"),
	}})
	if c := s.out.GetChat(); len(c) != 1 || !c[0].GetTeam() || c[0].GetTick() != 3 || c[0].GetClientId() != 3 || len(c[0].GetText()) > maxLine+2 {
		t.Errorf("chat: %v", c)
	}
	if v := s.out.GetVotes(); len(v) != 1 || v[0].GetType() != "kick" || v[0].GetValue() != "4" || v[0].GetReason() != "blocks \uFFFD" {
		t.Errorf("votes: %v", v)
	}
	for i := range int32(3 * maxLines) {
		said(s, i, say(teehistorian.SayModeAll, fmt.Sprint("line ", i)))
	}
	c := s.out.GetChat()
	if len(c) != maxLines || c[0].GetText() != "line 200" || c[maxLines-1].GetText() != "line 299" || c[0].GetTeam() {
		t.Errorf("%d lines from %v", len(c), c[0])
	}
}

// TestReportOfStays: stays of a name are one player's; time that two of them have in common counts once, and the player is there while one is.
func TestReportOfStays(t *testing.T) {
	stay := func(id, from, to int32, name string) *replaydv1.Participant {
		p := &replaydv1.Participant{ClientId: id, FromTick: &from}
		if name != "" {
			p.Names = []string{"was", name}
		}
		if to > 0 {
			p.ToTick = &to
		}
		return p
	}
	a, b := stay(1, 10, 30, "x"), stay(2, 20, 40, "x")
	list := []*replaydv1.Participant{a, b, stay(3, 20, 0, "y"), stay(4, 50, 0, "x"), stay(5, 1, 2, ""), stay(6, 1, 2, "")}
	a.FinishCount, b.FinishCount = 2, 1
	s := &standing{sessions: newSessions(false, nil), out: &replaydv1.TeehistorianReport{}}
	s.sessions.list = list
	s.best = map[*replaydv1.Participant]*replaydv1.Finish{a: {Time: 7, Tick: 1}, b: {Time: 5, Tick: 2}}
	d := teehistorian.New(strings.NewReader(""), teehistorian.Options{})
	s.conclude(d, nil, 100, true, &codec.Secrets{})
	got := []string{}
	for _, p := range s.out.GetPlayers() {
		got = append(got, fmt.Sprint(p.GetName(), p.GetConnected(), p.Team != nil, p.GetTicks(), p.GetFinishCount(), p.GetBest().GetTime(), len(p.GetStays())))
	}
	const want = "xtrue true 80 3 5 3|ytrue true 80 0 0 1|false false 1 0 0 1|false false 1 0 0 1"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
}
