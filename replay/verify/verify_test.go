package verify_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/replay/tiles"
	"github.com/replayd/replayd/replay/verify"
)

const (
	race  = "../../cmd/internal/demo/race/"
	rooms = "../../decoders/teehistorian/physics/testdata/rooms/"
)

func report(t *testing.T, recording []byte) *verify.Report {
	t.Helper()
	return reportOn(t, recording, race)
}

// reportOn verifies a recording whose map is in a directory.
func reportOn(t *testing.T, recording []byte, maps string) *verify.Report {
	t.Helper()
	r, err := verify.Open(bytes.NewReader(recording))
	if err != nil {
		t.Fatal(err)
	}
	path, err := tiles.Find(t.Context(), maps, r.Header().MapName, r.Header().MapSHA256, r.Header().MapSize)
	if err != nil {
		t.Fatal(err)
	}
	m, err := verify.ReadMap(path, r.Header())
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Verify(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// move is the record of a character that moved by few units, in three bytes.
type move struct {
	offset int64
	tick   int32
	client int32
}

// moves returns the moves of a recording in which nobody else is near the character.
func moves(t *testing.T, recording []byte) (found []move) {
	t.Helper()
	d := teehistorian.New(bytes.NewReader(recording), teehistorian.Options{})
	for {
		at := d.Position().Offset
		var ev teehistorian.Event
		if err := d.Next(&ev); err != nil {
			return found
		}
		m := &ev.PlayerDiff
		if ev.Kind != teehistorian.KindPlayerDiff || d.Position().Offset-at != 3 || recording[at+1]&0x3f == 0x3f {
			continue
		}
		alone := true
		for id, c := range d.State().Clients() {
			dx, dy := int64(c.X-m.X), int64(c.Y-m.Y)
			alone = alone && (id == m.ClientId || !c.Alive || dx*dx+dy*dy > 600*600)
		}
		if alone {
			found = append(found, move{at, ev.AtTick, m.ClientId})
		}
	}
}

// TestVerifyTampered changes one byte of a recording, by which one character is a unit further from there on. The report names the
// tick and the player, and no run that has the tick is proven.
func TestVerifyTampered(t *testing.T) {
	recording := read(t, race+"race.teehistorian")
	honest := report(t, recording)
	if honest.Verdict != verify.VerdictProven || honest.End != "finished" {
		t.Fatalf("the honest recording is %s, and %s", honest.Verdict, honest.End)
	}
	all := moves(t, recording)
	random := rand.New(rand.NewPCG(3, 4))
	for range 12 {
		m := all[random.IntN(len(all))]
		tampered := bytes.Clone(recording)
		tampered[m.offset+1]++
		got := report(t, tampered)
		for i := range got.Players {
			p := &got.Players[i]
			its := p.ClientID == m.client && p.FirstTick <= m.tick && m.tick <= p.LastTick
			if its != (deviates(&p.Part) == m.tick) {
				t.Errorf("client %d is moved in tick %d: client %d is %s from %d on", m.client, m.tick, p.ClientID, p.Verdict, deviates(&p.Part))
			}
			for j := range p.Runs {
				if run := &p.Runs[j]; its && run.FirstTick <= m.tick && m.tick <= run.LastTick && run.Verdict == verify.VerdictProven {
					t.Errorf("client %d is moved in tick %d: its run from %d is proven", m.client, m.tick, run.FirstTick)
				}
			}
		}
	}
}

// deviates returns the first tick that is not proven, 0 for none.
func deviates(p *verify.Part) (tick int32) {
	if p.Broken != nil {
		tick = p.Broken.Tick
	}
	for _, c := range p.Causes {
		if tick == 0 || c.FirstTick < tick {
			tick = c.FirstTick
		}
	}
	return tick
}

// TestCoverage expects the tiles and weapons of a room among what was at work, the most frequent first.
func TestCoverage(t *testing.T) {
	packed, err := gzip.NewReader(bytes.NewReader(read(t, rooms+"arms.teehistorian.gz")))
	if err != nil {
		t.Fatal(err)
	}
	recording, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	got := reportOn(t, recording, rooms).Coverage
	found := map[string]bool{}
	for i, c := range got {
		found[c.What] = true
		if c.Ticks == 0 || c.Proven != c.Ticks || i > 0 && got[i-1].Ticks < c.Ticks {
			t.Errorf("%+v after %+v", c, got[max(i-1, 0)])
		}
	}
	for _, what := range []string{"freeze", "unfreeze", "jetpack_on", "hammer", "gun", "shotgun", "grenade", "laser", "jetpack"} {
		if !found[what] {
			t.Errorf("%q is not in %+v", what, got)
		}
	}
	if len(found) != len(got) {
		t.Errorf("some are twice in %+v", got)
	}
}

// TestVerifyCut verifies what is there of a recording that is cut.
func TestVerifyCut(t *testing.T) {
	recording := read(t, race+"race.teehistorian")
	got := report(t, recording[:len(recording)/2])
	if got.Verdict != verify.VerdictProven || got.End != "truncated" || len(got.Players) == 0 {
		t.Errorf("%s, %s, %d players", got.Verdict, got.End, len(got.Players))
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := verify.Open(bytes.NewReader(recording))
	if err != nil {
		t.Fatal(err)
	}
	m, err := verify.ReadMap(race+"course.map", r.Header())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Verify(cancelled, m); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestRefused refuses games whose rules are not known, and other maps.
func TestRefused(t *testing.T) {
	recording := read(t, race+"race.teehistorian")
	edit := func(key, value string) []byte {
		end := bytes.IndexByte(recording, 0)
		header, err := teehistorian.EditHeader(recording[16:end], map[string]string{key: value})
		if err != nil {
			t.Fatal(err)
		}
		return append(append(bytes.Clone(recording[:16]), header...), recording[end:]...)
	}
	for key, value := range map[string]string{"game_type": "gCTF", "version_minor": "1"} {
		if _, err := verify.Open(bytes.NewReader(edit(key, value))); !errors.Is(err, decoders.ErrUnsupported) {
			t.Errorf("%s %s: %v", key, value, err)
		}
	}
	if _, err := verify.Open(strings.NewReader("nothing")); err == nil {
		t.Error("no recording is opened")
	}
	r, err := verify.Open(bytes.NewReader(edit("map_sha256", strings.Repeat("00", 32))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verify.ReadMap(race+"course.map", r.Header()); !errors.Is(err, verify.ErrOtherMap) {
		t.Errorf("another map: %v", err)
	}
	if _, err := tiles.Find(t.Context(), race, "other", r.Header().MapSHA256, r.Header().MapSize); !errors.Is(err, tiles.ErrNoMap) {
		t.Errorf("a directory with another map: %v", err)
	}
	if _, err := tiles.Find(t.Context(), filepath.Join(race, "absent"), "other", r.Header().MapSHA256, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}
