package dem

import (
	"bytes"
	"errors"
	"testing"

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
