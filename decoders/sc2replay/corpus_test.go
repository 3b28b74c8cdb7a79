package sc2replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/sc2replay"
)

// reference holds the figures that s2prot found in a replay.
type reference struct {
	OK         bool           `json:"ok"`
	BaseBuild  uint32         `json:"base_build"`
	Loops      uint32         `json:"loops"`
	Title      string         `json:"title"`
	ByName     map[string]int `json:"by_name"`
	Attributes int            `json:"attributes"`
	Slots      int            `json:"slots"`
	Chat       []string       `json:"chat"`
	Players    []struct {
		Name, Toon, Race      string
		Team, Observe, Result uint32
	} `json:"players"`
	SC2Reader struct {
		Counts map[string]int `json:"counts"`
	} `json:"sc2reader"`
}

// corpus calls fn with every replay of the corpus.
func corpus(t testing.TB, fn func(name string, data []byte)) {
	t.Helper()
	root := decodertest.Shared(t, "corpus", "sc2replay")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(filepath.Dir(root), path)
		fn(filepath.ToSlash(name), data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// summary holds the counts of a replay's events.
type summary struct {
	kinds  [sc2replay.KindCount]int
	counts map[string]int
	chat   []string
	end    sc2replay.DecodeInfo
	events int
}

func summarize(p *sc2replay.Replay) (*summary, error) {
	s := &summary{counts: map[string]int{}}
	d := p.Events(sc2replay.Options{})
	var ev sc2replay.Event
	tick := int32(0)
	for {
		err := d.Next(&ev)
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		s.events++
		s.kinds[ev.Kind]++
		if ev.AtTick < tick {
			return s, fmt.Errorf("tick %d after %d", ev.AtTick, tick)
		}
		tick = ev.AtTick
		switch ev.Kind {
		case sc2replay.KindOther:
			s.counts[string(ev.Other.Name)]++
		case sc2replay.KindTriggerUi:
			s.counts[snake(string(ev.TriggerUi.Name))]++
		case sc2replay.KindEnd:
			s.end = ev.End.DecodeInfo
		default:
			s.counts[ev.Kind.String()]++
		}
		if ev.Kind == sc2replay.KindChat {
			user := fmt.Sprintf("{\n  \"userId\": %d\n}", ev.Player.UserId)
			if p.Start.Version.BaseBuild < 24247 {
				user = fmt.Sprintf("{\n  \"playerId\": %d\n}", ev.Player.PlayerId)
			}
			s.chat = append(s.chat, fmt.Sprintf("%d|%s|%d|%s", ev.AtTick, user, ev.Chat.Recipient-1, ev.Chat.Text))
		}
	}
}

// damaged lists the incomplete replays of the corpus, and a text that the error must contain.
var damaged = map[string]string{
	"5.0.10.88500/s2protocol.NET__testError2.SC2Replay":    "it is empty",
	"5.0.15.96828/sc2replayfixpan__test_patched.SC2Replay": "replay.gamemetadata.json", // edited after the game
}

// isDamaged reports whether a replay is in damaged. It checks that such a replay ends with its error.
func isDamaged(t *testing.T, name string, err error) bool {
	t.Helper()
	want, ok := damaged[strings.TrimPrefix(name, "sc2replay/")]
	if ok && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want an error that says %q", name, err, want)
	}
	return ok
}

func TestCorpus(t *testing.T) {
	var refs map[string]reference
	decodertest.Reference(t, "sc2replay.json", &refs)
	matches := map[sc2replay.TableMatch]int{}
	files, compared := 0, 0
	corpus(t, func(name string, data []byte) {
		p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if strings.Contains(name, "invalid/") {
			t.Logf("%s: %v", name, err)
			return
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		s, err := summarize(p)
		whole := !isDamaged(t, name, err)
		if err != nil && whole {
			t.Errorf("%s: base build %d: %v", name, p.Start.Version.BaseBuild, err)
		}
		if n := s.kinds[sc2replay.KindOther]; n > 0 {
			t.Errorf("%s: %d events have no message of their own", name, n)
		}
		for i := range s.end.Parts {
			if !whole {
				break
			}
			part := &s.end.Parts[i]
			if part.State != sc2replay.PartStateComplete && part.State != sc2replay.PartStateAbsent {
				t.Errorf("%s: base build %d: %s: %d, %s", name, p.Start.Version.BaseBuild, part.Name, part.State, part.Error)
			}
			if strings.HasSuffix(string(part.Name), ".events") && part.BytesRead != part.Size {
				t.Errorf("%s: %s ends at %d of %d", name, part.Name, part.BytesRead, part.Size)
			}
		}
		checkPlayers(t, name, p)
		files++
		matches[s.end.Match]++
		if ref, ok := refs[name]; ok {
			compared++
			compare(t, name, p, s, &ref)
		}
	})
	t.Logf("%d replays, %d compared, by match %v", files, compared, matches)
}

// checkPlayers checks that each player of the lobby is in the details, and vice versa.
func checkPlayers(t *testing.T, name string, p *sc2replay.Replay) {
	t.Helper()
	if !p.Has.Lobby || !p.Has.Details {
		return
	}
	found := 0
	for i := range p.Players {
		q := &p.Players[i]
		if q.Result != sc2replay.ResultUnspecified {
			found++
		}
		for j := range p.Details.PlayerList {
			d := &p.Details.PlayerList[j]
			toon := fmt.Sprintf("%d-S2-%d-%d", d.Toon.Region, d.Toon.Realm, d.Toon.Id)
			if string(q.ToonHandle) == toon && d.Toon.Id != 0 && q.Result != sc2replay.Result(d.Result)+1 {
				t.Errorf("%s: %s has result %d, but %d in the details", name, q.Ref.Name, q.Result, d.Result)
			}
			if q.Result == sc2replay.ResultUnspecified && len(d.Name) > 0 && bytes.HasSuffix(d.Name, append([]byte(">"), q.Ref.Name...)) && !q.Observer {
				t.Errorf("%s: %s is in the details, but was not found there", name, q.Ref.Name)
			}
		}
	}
	if found == 0 && len(p.Details.PlayerList) > 0 {
		t.Errorf("%s: no player of %d was found in the details", name, len(p.Details.PlayerList))
	}
}

func compare(t *testing.T, name string, p *sc2replay.Replay, s *summary, ref *reference) {
	t.Helper()
	if p.Start.ElapsedGameLoops != ref.Loops || p.Start.Version.BaseBuild != ref.BaseBuild {
		t.Errorf("%s: %d loops of base build %d, want %d of %d", name, p.Start.ElapsedGameLoops, p.Start.Version.BaseBuild, ref.Loops, ref.BaseBuild)
	}
	if !ref.OK {
		compareSC2Reader(t, name, s, ref.SC2Reader.Counts)
		return
	}
	if string(p.Details.Title) != ref.Title {
		t.Errorf("%s: title %q, want %q", name, p.Details.Title, ref.Title)
	}
	want := map[string]int{}
	for event, n := range ref.ByName {
		_, event, _ = strings.Cut(event, ".")
		want[snake(event)] += n
	}
	for event, n := range want {
		got := s.counts[event]
		if got == 0 {
			got = s.counts[camel(event)]
		}
		if got != n {
			t.Errorf("%s: %d of %s, want %d", name, got, event, n)
		}
	}
	total := 0
	for event, n := range s.counts {
		switch event {
		case "start", "details", "lobby", "attributes", "game_metadata", "player_info", "member":
		default:
			if want[event] == 0 && want[snake(event)] == 0 {
				t.Errorf("%s: %d of %s, want none", name, n, event)
			}
			total += n
		}
	}
	if strings.Join(s.chat, "\n") != strings.Join(ref.Chat, "\n") {
		t.Errorf("%s: chat %q\nwant %q", name, s.chat, ref.Chat)
	}
	if len(p.Attributes.Attributes) != ref.Attributes {
		t.Errorf("%s: %d attributes, want %d", name, len(p.Attributes.Attributes), ref.Attributes)
	}
	if len(p.Details.PlayerList) != len(ref.Players) {
		t.Errorf("%s: %d players, want %d", name, len(p.Details.PlayerList), len(ref.Players))
		return
	}
	for i, want := range ref.Players {
		d := &p.Details.PlayerList[i]
		toon := fmt.Sprintf("%d-%s-%d-%d", d.Toon.Region, strings.Trim(string(d.Toon.ProgramId), "\x00"), d.Toon.Realm, d.Toon.Id)
		want.Toon = strings.ReplaceAll(want.Toon, "\x00", "") // s2prot keeps them
		if strings.ReplaceAll(string(d.Name), "<sp/>", "") != want.Name || toon != want.Toon || string(d.Race) != want.Race || d.TeamId != want.Team ||
			d.Observe != want.Observe || d.Result != want.Result {
			t.Errorf("%s: player %d is %q %s %s team %d observe %d result %d, want %+v", name, i, d.Name, toon, d.Race, d.TeamId, d.Observe, d.Result, want)
		}
	}
}

// compareSC2Reader compares counts with those of sc2reader, which has different event classes.
func compareSC2Reader(t *testing.T, name string, s *summary, want map[string]int) {
	t.Helper()
	c := s.counts
	for _, pair := range []struct {
		what string
		got  int
		want int
	}{
		{"camera updates", c["camera_update"], want["CameraEvent"]},
		{"selections", c["selection_delta"], want["SelectionEvent"]},
		{"orders", c["cmd"], want["BasicCommandEvent"] + want["TargetUnitCommandEvent"] + want["TargetPointCommandEvent"] + want["DataCommandEvent"]},
		{"control groups", c["control_group_update"], want["SetControlGroupEvent"] + want["GetControlGroupEvent"] + want["AddToControlGroupEvent"]},
		{"chat", c["chat"], want["ChatEvent"]},
		{"loading", c["loading_progress"], want["ProgressEvent"]},
		{"options", c["user_options"], want["UserOptionsEvent"]},
	} {
		if pair.got != pair.want {
			t.Errorf("%s: %d %s, want %d", name, pair.got, pair.what, pair.want)
		}
	}
}

// snake converts an event's name to the form of kinds.
func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func camel(s string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(s, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// TestLargest decodes the largest replay within the time and memory that any replay may take.
func TestLargest(t *testing.T) {
	var largest []byte
	corpus(t, func(_ string, data []byte) {
		if len(data) > len(largest) {
			largest = data
		}
	})
	if n := decodeWithin(t, "the largest replay", largest); n < 1000 {
		t.Errorf("%d events", n)
	}
}

// TestSalvage cuts off the archive's tables. The members that are recognised without them must be unchanged.
func TestSalvage(t *testing.T) {
	files, games, trackers := 0, 0, 0
	corpus(t, func(name string, data []byte) {
		whole, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil || len(data) < 2000 {
			return
		}
		want, err := summarize(whole)
		if isDamaged(t, name, err) {
			return
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		cut := data[:len(data)-20]
		p := open(t, cut)
		got, err := summarize(p)
		if !errors.Is(err, decoders.ErrTruncated) {
			t.Errorf("%s: %v", name, err)
		}
		files++
		if len(p.Details.Title) > 0 && !bytes.Equal(p.Details.Title, whole.Details.Title) {
			t.Errorf("%s: title %q", name, p.Details.Title)
		}
		for kind, n := range got.counts {
			if n != want.counts[kind] {
				t.Errorf("%s: %d of %s, want %d", name, n, kind, want.counts[kind])
			}
		}
		if got.counts["camera_update"] > 0 {
			games++
		}
		if got.counts["unit_born"] > 0 {
			trackers++
		}
	})
	t.Logf("%d replays, of %d the game events, of %d the tracker's", files, games, trackers)
	if games < files*9/10 {
		t.Errorf("of %d replays, the game events of %d only", files, games)
	}
}

// TestMasks checks the order of bits in lists of bits. The masks of selections end with the last bit that is set. Read
// in another order, they would not.
func TestMasks(t *testing.T) {
	masks := 0
	corpus(t, func(name string, data []byte) {
		p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil || p.Start.Version.BaseBuild < 16561 { // before that masks were as long as the selection
			return
		}
		d := p.Events(sc2replay.Options{})
		var ev sc2replay.Event
		for d.Next(&ev) == nil {
			var m *sc2replay.BitMask
			switch {
			case ev.Kind == sc2replay.KindSelectionDelta && ev.SelectionDelta.RemoveMaskCase == sc2replay.SelectionDeltaRemoveMaskMask:
				m = &ev.SelectionDelta.Mask
			case ev.Kind == sc2replay.KindControlGroupUpdate && ev.ControlGroupUpdate.RemoveMaskCase == sc2replay.ControlGroupUpdateRemoveMaskMask:
				m = &ev.ControlGroupUpdate.Mask
			default:
				continue
			}
			masks++
			if last := int(m.Size) - 1; last >= 0 && m.Bits[last/8]>>(last%8)&1 == 0 {
				t.Errorf("%s, tick %d: %d bits %x", name, ev.AtTick, m.Size, m.Bits)
				return
			}
		}
	})
	t.Logf("%d masks", masks)
}
