package teehistorian_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/teehistorian"
)

// surveyed returns the survey of a game with the roster of the one before.
func surveyed(t *testing.T, data, roster []byte) *codec.Survey {
	t.Helper()
	before := func(r *replaydv1.Replay) []byte {
		if r.GetTeehistorian().GetPrevGameUuid() == "" {
			return nil
		}
		return roster
	}
	s, err := encoder.Codec.Survey(codectest.Input(data), nil, before, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// who returns the participants of a survey.
func who(s *codec.Survey, before []byte, secrets codec.Secrets) []*replaydv1.Participant {
	r := &replaydv1.Replay{}
	encoder.Codec.Participants(r, s.Participants, before, &secrets)
	return r.GetParticipants()
}

// line is what a server's log says of a player.
type line struct{ what, name, detail string }

// logged are the lines of a server's log about players.
var logged = map[string]*regexp.Regexp{
	"join":   regexp.MustCompile(`(?m)chat: \*{3} '(.*)' entered and joined the game()$`),
	"rename": regexp.MustCompile(`(?m)chat: \*{3} '(.*)' changed name to '(.*)'$`),
	"leave":  regexp.MustCompile(`(?m)chat: \*{3} '(.*)' has left the game(?: \((.*)\))?$`),
	// Of the finishes, those whose ranks were saved have a record, as they have a statement of SQL.
	"finish": regexp.MustCompile(`(?m)INTO record_race\(.*VALUES \('.*?', '(.*)', DATETIME\(.*?\), (\d+\.\d\d),`),
}

// TestParticipantsOfLogs compares the participants with the logs of real servers: joins, leaves with their reasons, names and finishes.
func TestParticipantsOfLogs(t *testing.T) {
	total := 0
	for _, run := range decodertest.Recordings(t) {
		parts := strings.Split(run.Log, "teehistorian: recording to ")[1:]
		if strings.HasPrefix(run.Name, "diskfull") {
			continue // these files lack what the log has
		}
		var roster []byte
		entered := map[int32]bool{} // of those who were connected at the end of the game before
		for i, data := range run.Games {
			if data == nil || i > 0 && run.Games[i-1] == nil { // names may be those of a game that is not here
				roster = nil
				continue
			}
			s := surveyed(t, data, roster)
			roster = s.Roster
			list := who(s, nil, codec.Secrets{})
			facts := factsOf(list, entered)
			clear(entered)
			for _, p := range list {
				if p.ToTick == nil {
					entered[p.GetClientId()] = p.EnterTick != nil
				}
			}
			for what, form := range logged {
				for _, m := range form.FindAllStringSubmatch(parts[i], -1) {
					total++
					l := line{what, m[1], m[2]}
					at := slices.IndexFunc(facts, func(f fact) bool { return f.is(l) && f.names[len(f.names)-1] == l.name })
					if at < 0 {
						at = slices.IndexFunc(facts, func(f fact) bool { return f.is(l) })
					}
					if at < 0 {
						t.Errorf("%s, game %d: %q is in the log only", run.Name, i, l)
					} else if what != "rename" {
						facts = slices.Delete(facts, at, at+1)
					}
				}
			}
			for _, f := range facts {
				if f.what != "rename" {
					t.Errorf("%s, game %d: %v is not in the log", run.Name, i, f)
				}
			}
		}
	}
	if total < 500 {
		t.Errorf("only %d lines", total)
	}
	t.Logf("%d lines", total)
}

// fact is what a participant says that a log says too.
type fact struct {
	what   string
	names  []string // the log has one of them
	detail string
}

func (f fact) is(l line) bool {
	if f.what == "rename" {
		return l.what == f.what && slices.Contains(f.names, l.name) && slices.Contains(f.names, l.detail)
	}
	return l.what == f.what && slices.Contains(f.names, l.name) && l.detail == f.detail
}

// factsOf returns what a log should say of participants. The log has no line for a client who entered in the game before.
func factsOf(list []*replaydv1.Participant, before map[int32]bool) (facts []fact) {
	for _, p := range list {
		names := p.GetNames()
		facts = append(facts, fact{"rename", names, ""})
		if p.EnterTick != nil && (!p.GetCarriedOver() || !before[p.GetClientId()]) {
			facts = append(facts, fact{"join", names, ""})
		}
		if p.ToTick != nil && p.EnterTick != nil {
			facts = append(facts, fact{"leave", names[len(names)-1:], p.GetLeaveReason()})
		}
		for _, f := range p.GetFinishes() {
			ticks := f.GetTime()
			facts = append(facts, fact{"finish", names, fmt.Sprintf("%.2f", float64(ticks)/50)})
		}
	}
	return facts
}

// The records of a made-up game.
func join(id string) string { return "\x47" + id }

func nameRecord(id, name string) string {
	return ex("teehistorian-player-name@ddnet.org", id+name+"\x00")
}

// start is a start info, without the colours of the skin.
func start(id, info string) string {
	info = "\x28" + info + "\x00\x00\x00\x00"
	return "\x46" + id + string(rune(len(info))) + info
}

func drop(id, reason string) string { return "\x48" + id + reason + "\x00" }

func version(id, connection string) string {
	return ex("teehistorian-ddnetver@ddnet.tw", id+connection+"\x01v\x00")
}

const (
	firstID  = "aaaaaaaaaaaaaaaa"
	secondID = "bbbbbbbbbbbbbbbb"
)

// TestParticipants surveys a made-up game, at once and again after each byte, as a game that grows.
func TestParticipants(t *testing.T) {
	const ready, login, team, finish = "teehistorian-player-ready@ddnet.tw", "teehistorian-auth-login-role@ddnet.org",
		"teehistorian-player-team@ddnet.tw", "teehistorian-player-finish@ddnet.org"
	records := []string{
		"\x41\x09", // tick 10
		join("\x00"), start("\x00", "al\x00clan\x00\x07skin"), nameRecord("\x00", "alice"), ex(ready, "\x00"), version("\x00", firstID),
		ex(login, "\x00admin\x00key\x00"), ex(team, "\x00\x05"), ex(team, "\x00\x00"), nameRecord("\x00", "alina"),
		"\x49\x00\x80\x02timeout\x00\x01code\x00",
		"\x41\x09", // tick 20
		join("\x01"), nameRecord("\x01", "(1)al"), ex(ready, "\x01"), version("\x01", secondID), ex(finish, "\x00\x08"),
		"\x49\x01\x80\x02timeout\x00\x01code\x00", drop("\x01", "Timeout Protection used"),
		join("\x01"), drop("\x01", ""), // somebody who did not enter
		join("\x02"), start("\x02", "asks\x00\x00\x00s"),
		"\x40",
	}
	ten, twenty, none := int32(10), int32(20), int32(0)
	country, slot := int32(7), int32(0)
	want := []*replaydv1.Participant{
		{
			Names: []string{"alice", "alina"}, Clan: "clan", Country: &country, FromTick: new(int32(10)), EnterTick: &ten, Roles: []string{"admin"},
			Teams: []int32{5}, Finishes: []*replaydv1.Finish{{Tick: 20, Time: 8}}, FinishCount: 1,
			ConnectionIds: []string{"61616161-6161-6161-6161-616161616161", "62626262-6262-6262-6262-626262626262"},
		},
		{
			ClientId: 1, Names: []string{"(1)al"}, FromTick: new(int32(20)), EnterTick: &twenty, ToTick: &twenty, LeaveReason: new("Timeout Protection used"),
			ReclaimedClientId: &slot, ConnectionIds: []string{"62626262-6262-6262-6262-626262626262"},
		},
		{ClientId: 1, FromTick: new(int32(20)), ToTick: &twenty},
		{ClientId: 2, Names: []string{"asks"}, NameRequested: true, FromTick: new(int32(20)), Country: &none},
	}
	all := codec.Secrets{Reveal: decoders.AllSecrets}
	data := game(records...)
	s := surveyed(t, data, nil)
	if diff := cmp.Diff(want, who(s, nil, all), protocmp.Transform()); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	for cut := len(game()); cut < len(data); cut++ {
		first := surveyed(t, data[:cut], nil)
		then, err := encoder.Codec.Survey(codectest.Input(data), first, nil, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, who(then, nil, all), protocmp.Transform()); diff != "" {
			t.Fatalf("cut at %d: -want +got:\n%s", cut, diff)
		}
	}
	// Without revealed secrets and with a key.
	key := codec.Secrets{Key: []byte("key")}
	hidden := who(s, nil, key)
	hash := key.Pseudonym(decoders.SecretConnectionID, []byte("62626262-6262-6262-6262-626262626262"))
	if p := hidden[1]; len(p.GetConnectionIds()) > 0 || !slices.Equal(p.GetConnectionPseudonyms(), []string{hash}) ||
		!slices.Contains(hidden[0].GetConnectionPseudonyms(), hash) || len(hash) != 32 {
		t.Errorf("with a key: %v", hidden)
	}
	if p := who(s, nil, codec.Secrets{})[1]; len(p.GetConnectionIds())+len(p.GetConnectionPseudonyms()) > 0 {
		t.Errorf("without a key: %v", p)
	}
	other := codec.Secrets{Key: []byte("another key")}
	if who(s, nil, other)[1].GetConnectionPseudonyms()[0] == hash {
		t.Error("another key gives the same pseudonym")
	}
}

// TestParticipantsOfEarlierGames: somebody who is carried over has the name that only the game before states.
func TestParticipantsOfEarlierGames(t *testing.T) {
	first := surveyed(t, game(join("\x00"), nameRecord("\x00", "(1)al")), nil)
	data := []byte(strings.Replace(string(game(join("\x00"), start("\x00", "al\x00\x00\x00s"))),
		`"version":"2"`, `"version":"2","prev_game_uuid":"02020304-0506-4708-890a-0b0c0d0e0f10"`, 1))
	for what, list := range map[string][]*replaydv1.Participant{
		"surveyed after it":  who(surveyed(t, data, first.Roster), nil, codec.Secrets{}),
		"surveyed before it": who(surveyed(t, data, nil), first.Roster, codec.Secrets{}),
	} {
		if p := list[0]; !p.GetCarriedOver() || !slices.Equal(p.GetNames(), []string{"(1)al"}) || p.GetNameRequested() {
			t.Errorf("%s: %v", what, p)
		}
	}
	renamed := append(slices.Clone(data), nameRecord("\x00", "alice")...)
	for what, list := range map[string][]*replaydv1.Participant{
		"surveyed after it":  who(surveyed(t, renamed, first.Roster), nil, codec.Secrets{}),
		"surveyed before it": who(surveyed(t, renamed, nil), first.Roster, codec.Secrets{}),
		"both":               who(surveyed(t, renamed, first.Roster), first.Roster, codec.Secrets{}),
	} {
		if p := list[0]; !slices.Equal(p.GetNames(), []string{"(1)al", "alice"}) || p.GetNameRequested() {
			t.Errorf("renamed, %s: %v", what, p)
		}
	}
	if p := who(surveyed(t, data, nil), nil, codec.Secrets{})[0]; !slices.Equal(p.GetNames(), []string{"al"}) || !p.GetNameRequested() {
		t.Errorf("without it: %v", p)
	}
}

// TestManyParticipants: a hostile game does not make the list large, and those who are left out are counted.
func TestManyParticipants(t *testing.T) {
	records := []string{}
	for range 6000 {
		records = append(records, join("\x00"), drop("\x00", strings.Repeat("\xffx", 500)))
	}
	s := surveyed(t, game(records...), nil)
	r := &replaydv1.Replay{}
	encoder.Codec.Participants(r, s.Participants, nil, &codec.Secrets{})
	if n := len(r.GetParticipants()) + int(r.GetParticipantsLeftOut()); n != 6000 || len(s.Participants) > 512<<10 {
		t.Errorf("%d participants in %d bytes", n, len(s.Participants))
	}
}
