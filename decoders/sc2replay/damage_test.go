package sc2replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/mpq"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

// ends decodes a replay. It returns the events and the error that ended decoding, or nil.
func ends(t *testing.T, file []byte) (text string, err error) {
	t.Helper()
	lines, err := all(open(t, file).Events(sc2replay.Options{}))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.Join(lines, "\n"), err
}

// wantDamage checks that decoding ended with an error about the named part.
func wantDamage(t *testing.T, err error, part string) {
	t.Helper()
	var e *decoders.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), part) {
		t.Errorf("ends with %v, want an error of %s", err, part)
	}
}

// TestResumed decodes the tracker's events of a game that was saved and continued. Their gameloops go back to 0 and
// then jump to where the game was saved.
func TestResumed(t *testing.T) {
	r := sc2test.Sample(80949)
	setup := func(player int) sc2test.Event {
		return sc2test.Event{Loop: 0, Name: "PlayerSetup", Value: sc2test.S{"playerId": player, "type": 1, "userId": player - 1, "slotId": player - 1}}
	}
	stats := sc2test.Event{Loop: 3120, Name: "PlayerStats", Value: sc2test.S{"playerId": 1, "stats": sc2test.S{"scoreValueFoodUsed": 20 * 4096}}}
	r.Tracker = append(r.Tracker, setup(1), setup(2), stats)
	text, err := ends(t, r.Bytes())
	if err != nil {
		t.Error(err)
	}
	if want := "700 player_setup Alice/1\n700 player_setup Bob/2\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	if want := "3120 player_stats Alice/1 supply 20"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	d := open(t, r.Bytes()).Events(sc2replay.Options{})
	var ev sc2replay.Event
	var resumed []bool
	for d.Next(&ev) == nil {
		if ev.Kind == sc2replay.KindPlayerSetup {
			resumed = append(resumed, ev.PlayerSetup.Resumed)
		}
	}
	if !slices.Equal(resumed, []bool{false, false, true, true}) {
		t.Errorf("resumed: %v", resumed)
	}
}

// TestMissingParts omits one part at a time, or empties it. Everything else must be delivered. Only without game events an
// error must follow.
func TestMissingParts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		build   int
		without func(*sc2test.Replay)
		part    string // "" if it may be missing
	}{
		{"details", 80949, func(r *sc2test.Replay) { r.Details = nil }, ""},
		{"lobby", 80949, func(r *sc2test.Replay) { r.InitData = nil }, ""},
		{"attributes", 80949, func(r *sc2test.Replay) { r.Attributes = nil }, ""},
		{"attributes of 1.0", 15405, func(r *sc2test.Replay) { r.Attributes = nil }, ""},
		{"game events", 80949, func(r *sc2test.Replay) { r.Without = []string{"replay.game.events"} }, "replay.game.events"},
		{"messages", 80949, func(r *sc2test.Replay) { r.Without = []string{"replay.message.events"} }, ""},
		{"tracker", 80949, func(r *sc2test.Replay) { r.Without = []string{"replay.tracker.events"} }, ""},
		{"summary", 80949, func(r *sc2test.Replay) { r.Metadata = "" }, ""},
		{"all but game events", 80949, func(r *sc2test.Replay) {
			r.Details, r.InitData, r.Attributes, r.Metadata = nil, nil, nil, ""
			r.Without = []string{"replay.message.events", "replay.tracker.events"}
		}, ""},
		{"contents of details", 80949, emptied("replay.details"), ""},
		{"contents of the lobby", 80949, emptied("replay.initData"), ""},
		{"contents of attributes", 80949, emptied("replay.attributes.events"), ""},
		{"contents of the summary", 80949, emptied("replay.gamemetadata.json"), ""},
		{"contents of messages", 80949, emptied("replay.message.events"), ""},
		{"contents of the tracker", 80949, emptied("replay.tracker.events"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := sc2test.Sample(tt.build)
			tt.without(r)
			text, err := ends(t, r.Bytes())
			if !strings.HasSuffix(text, "end -") || strings.Count(text, "\n") < 12 {
				t.Errorf("delivered only\n%s", text)
			}
			if tt.part != "" {
				wantDamage(t, err, tt.part)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// emptied replaces a member of a replay by an empty one.
func emptied(name string) func(*sc2test.Replay) {
	return func(r *sc2test.Replay) {
		r.Without = []string{name}
		r.More = append(r.More, sc2test.Member{Name: name, Data: []byte{}, Method: sc2test.Stored})
	}
}

// TestChecksums damages each member in turn. Members are stored unpacked, so that only the archive's checksums can
// detect it.
func TestChecksums(t *testing.T) {
	r := sc2test.Sample(80949)
	r.Method = sc2test.Stored
	file := r.Bytes()
	a, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := ends(t, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range a.Names() {
		m, _ := a.Find(name)
		for at := m.Offset; at < m.Offset+m.Size; at += 1 + m.Size/16 {
			damaged := bytes.Clone(file)
			damaged[at] ^= 0x04
			text, err := ends(t, damaged)
			if err == nil {
				t.Errorf("%s, byte %d: no error, the same events: %v", name, at-m.Offset, text == whole)
			}
		}
	}
	// One wrong checksum is ignored if the other one is right.
	sums, _ := a.Find(mpq.AttributesFile)
	damaged := bytes.Clone(file)
	damaged[sums.Offset+8] ^= 0x04
	if text, err := ends(t, damaged); err != nil || text != whole {
		t.Errorf("with a wrong CRC: %v", err)
	}
}

// TestTables damages the archive's tables such that it can still be opened.
func TestTables(t *testing.T) {
	for _, version := range []int{1, 3} {
		for name, damage := range map[string]func(*sc2test.Archive){
			"a name leads to nothing": func(a *sc2test.Archive) { a.DropName = "replay.message.events" },
			"a block does not exist":  func(a *sc2test.Archive) { a.DropBlock = "replay.message.events" },
		} {
			r := sc2test.Sample(80949)
			r.Archive.Version = version
			damage(&r.Archive)
			text, err := ends(t, r.Bytes())
			wantDamage(t, err, "archive")
			if strings.Contains(text, "chat") || !strings.Contains(text, "unit_died") || !strings.HasSuffix(text, "end -") {
				t.Errorf("version %d: %s: delivered\n%s", version, name, text)
			}
		}
	}
	// Members that are not in the list of names.
	for name, damage := range map[string]func(*sc2test.Archive){
		"no name leads to": func(a *sc2test.Archive) { a.DropName = mpq.AttributesFile },
		"does not exist":   func(a *sc2test.Archive) { a.DropBlock = mpq.AttributesFile },
	} {
		r := sc2test.Sample(80949)
		damage(&r.Archive)
		_, err := ends(t, r.Bytes())
		wantDamage(t, err, name)
	}
	r := sc2test.Sample(80949)
	r.Archive.Version = 3
	file := r.Bytes()
	file[1024+8] ^= 1 // the archive's size, which only its checksum covers
	_, err := ends(t, file)
	wantDamage(t, err, "archive header")
}

// TestEqualSizes reads members whose declared size equals their packed size.
func TestEqualSizes(t *testing.T) {
	for _, method := range []byte{sc2test.Bzip2, sc2test.Zlib} {
		r := sc2test.Sample(80949)
		want, err := ends(t, r.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		r.Method, r.Archive.Equal = method, "replay.details"
		p := open(t, r.Bytes())
		if string(p.Details.Title) != "Testbed" || p.Fault != nil {
			t.Errorf("method %d: title %q, %v", method, p.Details.Title, p.Fault)
		}
		if text, err := ends(t, r.Bytes()); err != nil || text != want {
			t.Errorf("method %d: %v\n%s", method, err, text)
		}
		// If the packed data is damaged, the copy is read, and the error reports the damage.
		table, _ := protocol.Default().Table(80949)
		copied := sc2test.S{"title": "Copy", "playerList": r.Details["playerList"]}
		r.More = append(r.More, sc2test.Member{
			Name: "replay.details.backup", Data: sc2test.AppendVersioned(nil, table.Details, copied), Method: sc2test.Stored,
		})
		file := r.Bytes()
		a, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		m, _ := a.Find("replay.details")
		file[m.Offset+m.PackedSize/2] ^= 0x10
		p = open(t, file)
		if string(p.Details.Title) != "Copy" {
			t.Errorf("method %d: title %q in place of the copy's", method, p.Details.Title)
		}
		wantDamage(t, p.Fault, "replay.details")
	}
}

// TestCopies damages details and lobby such that only their checksums show it. Their copies must be delivered instead.
func TestCopies(t *testing.T) {
	table, _ := protocol.Default().Table(80949)
	r := sc2test.Sample(80949)
	r.Method = sc2test.Stored
	var w sc2test.PackedWriter
	w.Value(table.InitData, r.InitData)
	r.More = append(r.More,
		sc2test.Member{Name: "replay.details.backup", Data: sc2test.AppendVersioned(nil, table.Details, r.Details)},
		sc2test.Member{Name: "replay.initData.backup", Data: w.Buf})
	for member, text := range map[string]string{"replay.details": "Testbed", "replay.initData": "Watcher"} {
		file := r.Bytes()
		file[bytes.Index(file, []byte(text))] ^= 0x20 // the first occurrence is not in the copy
		p := open(t, file)
		wantDamage(t, p.Fault, member)
		if string(p.Details.Title) != "Testbed" || string(p.Players[2].Ref.Name) != "Watcher" {
			t.Errorf("%s: title %q, third player %q", member, p.Details.Title, p.Players[2].Ref.Name)
		}
	}
}

// TestTrailing appends bytes to the details. A part with trailing bytes is not complete.
func TestTrailing(t *testing.T) {
	table, _ := protocol.Default().Table(80949)
	r := sc2test.Sample(80949)
	data := append(sc2test.AppendVersioned(nil, table.Details, r.Details), "rest"...)
	r.Details = nil
	r.More = append(r.More, sc2test.Member{Name: "replay.details", Data: data})
	p := open(t, r.Bytes())
	wantDamage(t, p.Fault, "replay.details")
	for _, part := range p.Parts {
		if string(part.Name) == "replay.details" && (part.State != sc2replay.PartStatePartial || part.BytesRead != part.Size-4) {
			t.Errorf("%+v", part)
		}
	}
	if string(p.Details.Title) != "Testbed" {
		t.Errorf("title %q", p.Details.Title)
	}
}

// TestOtherGames checks that replays of other games in the same container are refused, and that damaged headers are
// not.
func TestOtherGames(t *testing.T) {
	r := sc2test.Sample(80949)
	r.Signature = "Heroes of the Storm replay\x1b11"
	file := r.Bytes()
	if _, err := sc2replay.Open(bytes.NewReader(file), int64(len(file))); !errors.Is(err, decoders.ErrUnsupported) ||
		!strings.Contains(fmt.Sprint(err), "Heroes of the Storm") {
		t.Errorf("another game: %v", err)
	}
	for _, damaged := range []string{"StarKraft II replay\x1b12", "StarKraft II replay\x1b11"} {
		r.Signature = damaged
		_, err := ends(t, r.Bytes())
		wantDamage(t, err, "header")
		if !errors.Is(err, decoders.ErrCorrupt) {
			t.Error(err)
		}
	}
}

// TestDamageIsDamage damages replays anywhere, also with what its checksums cover not, and also their headers. Whatever is noticed is
// told as damage: never as a limit of the program, nor as something that it does not support.
func TestDamageIsDamage(t *testing.T) {
	var files [][]byte
	for _, method := range []byte{sc2test.Stored, sc2test.Bzip2, sc2test.Zlib, sc2test.Bzip2 | sc2test.Sparse, sc2test.Zlib | sc2test.Sparse} {
		for _, version := range []int{1, 3} {
			for _, noSums := range []bool{false, true} {
				r := sc2test.Battle()
				r.Method, r.Archive.Version, r.NoSums = method, version, noSums
				files = append(files, r.Bytes())
				r.More = append(r.More, sc2test.Member{
					Name: "replay.smartcam.events", Data: bytes.Repeat([]byte("camera"), 4000), Method: method, Sectors: true, SectorSums: true,
				})
				files = append(files, r.Bytes())
			}
		}
	}
	damage := func(rnd *rand.Rand, i int) []byte {
		damaged := bytes.Clone(files[i%len(files)])
		from, to := 1024, len(damaged) // behind the replay's header
		switch i / len(files) % 4 {
		case 0:
			from = len(damaged) - 700 // the tables
		case 1: // the first bytes of a member, of which one is the method's
			a, err := mpq.Open(bytes.NewReader(damaged), int64(len(damaged)))
			if err != nil {
				t.Fatal(err)
			}
			m, _ := a.Find(a.Names()[rnd.IntN(len(a.Names()))])
			from, to = int(m.Offset), int(m.Offset+min(max(m.PackedSize, 1), 12))
		}
		for range 1 + rnd.IntN(3) {
			damaged[from+rnd.IntN(to-from)] ^= 1 << rnd.IntN(8)
		}
		return damaged
	}
	rnd := rand.New(rand.NewPCG(51, 52))
	noticed := 0
	for i := range 1600 {
		_, err := ends(t, damage(rnd, i))
		if err == nil {
			continue
		}
		noticed++
		if errors.Is(err, decoders.ErrLimit) || errors.Is(err, decoders.ErrUnsupported) {
			t.Errorf("damage %d: %v", i, err)
		}
	}
	t.Logf("%d of 1,600 were noticed", noticed)
	if noticed < 1100 {
		t.Errorf("only %d of 1,600 were noticed", noticed)
	}
}
