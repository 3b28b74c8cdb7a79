package dem

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/demtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

func never() error { return nil }

// TestSurvey: the length of a demo and its end are found in a file, in a stream, which is what a compressed file is, and in a file that
// grows. Of one that was cut there is no end.
func TestSurvey(t *testing.T) {
	data := demtest.Sample()
	file := func(n int) source.Input { return source.Input{At: bytes.NewReader(data[:n]), Size: int64(n)} }
	all, err := survey(file(len(data)), nil, nil, never)
	if err != nil || !all.Ended || all.State != nil || all.LastTick <= 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	streamed, err := survey(source.Input{Front: bytes.NewReader(data), Size: -1}, nil, nil, never)
	if err != nil || !streamed.Ended || streamed.LastTick != all.LastTick || streamed.Offset != int64(len(data)) {
		t.Errorf("streamed: %+v, as a file %+v, %v", streamed, all, err)
	}
	var told replaydv1.Replay
	if err := describe(t.Context(), file(len(data)), &told); err != nil {
		t.Fatal(err)
	}
	if streamed.Length != told.GetDuration().AsDuration() || streamed.TicksPerSecond != told.GetTicksPerSecond() || streamed.Length == 0 {
		t.Errorf("streamed: %v at %v, the header says %v at %v", streamed.Length, streamed.TicksPerSecond, told.GetDuration(), told.GetTicksPerSecond())
	}
	var last *codec.Survey
	whole := int64(0) // where a record ends
	for n := len(data) / 3; n < len(data)-200; n += 777 {
		if last, err = survey(file(n), last, nil, never); err != nil || last.Ended || last.State == nil || last.Broken || last.Offset > int64(n) {
			t.Fatalf("of %d bytes: %+v, %v", n, last, err)
		}
		whole = last.Offset
	}
	if last, err = survey(file(len(data)), last, nil, never); err != nil || !last.Ended || last.LastTick != all.LastTick {
		t.Errorf("it grew: %+v, at once %+v, %v", last, all, err)
	}
	bad := bytes.Clone(data)
	copy(bad[whole:], bytes.Repeat([]byte{0xff}, 50))
	damaged := source.Input{At: bytes.NewReader(bad[:whole+100]), Size: whole + 100}
	cut, err := survey(damaged, nil, nil, never)
	if err != nil || cut.Ended || cut.Broken || cut.State == nil || cut.Offset != whole {
		t.Errorf("damaged, while it grows: %+v, %v", cut, err)
	}
	// The game writes the summary nevertheless, and a decoder gets there.
	if s, err := survey(source.Input{At: bytes.NewReader(bad), Size: int64(len(bad))}, cut, nil, never); err != nil || !s.Ended || s.LastTick != all.LastTick {
		t.Errorf("damaged, with its end: %+v, %v", s, err)
	}
	later := errors.New("later")
	long, err := demtest.Repeat(data, 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	s, err := survey(source.Input{Front: bytes.NewReader(long), Size: -1}, nil, nil, func() error { return later })
	if !errors.Is(err, later) || s == nil || s.Offset == 0 || s.State == nil {
		t.Errorf("interrupted: %+v, %v", s, err)
	}
}

// TestSurveyPlayers: those who play in a demo whose end does not name them are found, with the numbers that events have of them, in a file, in a
// stream, and in a file that grows by small steps.
func TestSurveyPlayers(t *testing.T) {
	dota := decodertest.Sample(t, "dem", "teamfight.dem")
	for game, test := range map[string]struct {
		data []byte
		want string
		ids  []int32
	}{
		"Counter-Strike 2": {demtest.Players("csgo"), "somebody vs Larry", []int32{0, 1}},
		"Deadlock":         {demtest.Players("citadel"), "somebody vs another", []int32{0, 1}},
		"without teams":    {demtest.Round(), "somebody, Larry", []int32{0, 1}},
		"Dota 2":           {dota[:len(dota)*3/4], "Ada, Grace, Linus, Margaret, Edsger vs Barbara, Donald, Frances, Ken, Radia", []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		data := test.data
		var known *codec.Survey
		for n := 1; n < len(data); n += 1 + len(data)/40 {
			s, err := survey(source.Input{At: bytes.NewReader(data[:n]), Size: int64(n)}, known, nil, never)
			if err != nil {
				t.Fatalf("%s: the first %d bytes: %v", game, n, err)
			}
			known = s
		}
		file := source.Input{At: bytes.NewReader(data), Size: int64(len(data))}
		for how, in := range map[string]source.Input{"file": file, "stream": {Front: bytes.NewReader(data), Size: -1}, "growing": file} {
			var from *codec.Survey
			if how == "growing" {
				from = known
			}
			s, err := survey(in, from, nil, never)
			if err != nil {
				t.Fatalf("%s, %s: %v", game, how, err)
			}
			r := new(replaydv1.Replay)
			Codec.AddPlayers(r, s)
			if r.GetLineup() != test.want || r.PlayersTick == nil || r.GetPlayersTick() > s.LastTick {
				t.Errorf("%s, %s: %q at %v of %d, want %q", game, how, r.GetLineup(), r.PlayersTick, s.LastTick, test.want)
			}
			var ids []int32
			var names []string
			for _, p := range r.GetPlayers() {
				ids, names = append(ids, p.GetId()), append(names, p.GetName())
			}
			if !slices.Equal(ids, test.ids) || !slices.Equal(names, s.Names) {
				t.Errorf("%s, %s: players %v %q, names %q", game, how, ids, names, s.Names)
			}
		}
	}
}

// counted counts the bytes that are read from it.
type counted struct {
	io.ReaderAt
	read int64
}

func (c *counted) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(b, at)
	c.read += int64(n)
	return n, err
}

// TestSurveyCost: of a long demo that grows each byte is read three times on average at most, for its head and for the players, who are looked
// for again whenever there is twice as much of the beginning. Who was found once stays. Compressed, the players of its end are known.
func TestSurveyCost(t *testing.T) {
	t.Parallel()
	data, err := demtest.Repeat(demtest.Players("csgo"), maxBeginning*5/4)
	if err != nil {
		t.Fatal(err)
	}
	at := &counted{ReaderAt: bytes.NewReader(data)}
	var s *codec.Survey
	for n := int64(1 << 10); ; n = min(n+n/4, int64(len(data))) {
		if s, err = survey(source.Input{At: io.NewSectionReader(at, 0, n), Size: n}, s, nil, never); err != nil {
			t.Fatal(err)
		}
		if n > 8<<10 && len(s.Names) != 2 {
			t.Fatalf("after %d bytes: %q", n, s.Names)
		}
		if n == int64(len(data)) {
			break
		}
	}
	if !s.Ended || at.read > int64(3*len(data)) {
		t.Errorf("%+v, %d bytes were read of %d", s, at.read, len(data))
	}
	named, err := survey(source.Input{Front: bytes.NewReader(demtest.Sample()), Size: -1}, nil, nil, never)
	if err != nil || len(named.Names) != 2 {
		t.Errorf("%+v, %v", named, err)
	}
	later := errors.New("later")
	const size = 1 << 20
	whole, err := survey(source.Input{At: bytes.NewReader(data[:size]), Size: size}, nil, nil, never)
	if err != nil || len(whole.Names) != 2 {
		t.Errorf("%+v, %v", whole, err)
	}
	for pauses := 0; ; pauses++ { // wherever it is interrupted, it is known that something is left to do
		left := pauses
		again, err := survey(source.Input{At: bytes.NewReader(data[:size]), Size: size}, nil, nil, func() error {
			if left--; left < 0 {
				return later
			}
			return nil
		})
		if err == nil {
			if pauses < 3 {
				t.Errorf("it pauses %d times", pauses)
			}
			break
		}
		if !errors.Is(err, later) || again != nil && again.Offset == whole.Offset {
			t.Errorf("interrupted: %+v, %v", again, err)
		}
	}
}
