package codectest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

// Input returns a replay's bytes as the input of a codec.
func Input(data []byte) source.Input {
	return source.Input{At: bytes.NewReader(data), Size: int64(len(data))}
}

// Open returns a reader of a replay's bytes that has read the header.
func Open(tb testing.TB, c codec.Codec, data []byte, o codec.Options) codec.Reader {
	tb.Helper()
	r, err := c.Open(Input(data), o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := r.Header(new(replaydv1.Replay)); err != nil {
		tb.Fatal(err)
	}
	return r
}

// Seek seeks to the start of delivery, with as many calls as necessary.
func Seek(r codec.Reader) error {
	for {
		if err := r.Seek(); !errors.Is(err, codec.ErrYield) {
			return err
		}
	}
}

// Read seeks, and reads all events in batches of limited size. It returns the events' wire bytes, and their marks, whose End
// counts in those bytes. The error is the one that ended reading. It is io.EOF also when no later event can match the filter.
func Read(tb testing.TB, r codec.Reader, batch int) (events []byte, marks []codec.Mark, err error) {
	tb.Helper()
	if err := Seek(r); err != nil {
		return nil, nil, err
	}
	b := codec.Batch{MaxEvents: batch, MaxBytes: 256 << 10, KeepMarks: true}
	for {
		err := r.Fill(&b)
		if b.Count != len(b.Marks) || b.Count > batch {
			tb.Fatalf("a batch of %d has %d events and %d marks", batch, b.Count, len(b.Marks))
		}
		for _, m := range b.Marks {
			m.End += len(events)
			marks = append(marks, m)
		}
		events = append(events, b.Events...)
		b.Reset()
		if errors.Is(err, codec.ErrDone) {
			err = io.EOF
		}
		if err != nil && !errors.Is(err, codec.ErrYield) {
			return events, marks, err
		}
	}
}

// Places returns the positions of a batch's events.
func Places(tb testing.TB, b *codec.Batch) (all []decoders.Position) {
	tb.Helper()
	r := b.Places.Reader()
	for range b.Count {
		offset, index, ok := r.Next()
		if !ok {
			break
		}
		all = append(all, decoders.Position{Offset: offset, Index: index})
	}
	if !r.Done() || len(all) != b.Count {
		tb.Fatalf("%d events have %d positions or more", b.Count, len(all))
	}
	return all
}

// Secrets returns the secrets of a reader that reveals everything, or nothing.
func Secrets(reveal bool) codec.Secrets {
	if reveal {
		return codec.Secrets{Reveal: decoders.AllSecrets}
	}
	return codec.Secrets{}
}

// CheckReport checks the promise of reports for any file: a report of the codec's format, of at most 1 MiB, or an error of the
// file.
func CheckReport(tb testing.TB, c codec.Codec, data []byte) {
	tb.Helper()
	r := &replaydv1.Report{Replay: &replaydv1.Replay{}}
	err := c.Report(context.Background(), Input(data), codec.ReportOptions{Pause: func(int64) error { return nil }}, r)
	if _, damaged := errors.AsType[*decoders.Error](err); err != nil && !damaged {
		tb.Fatal(err)
	}
	m := r.ProtoReflect()
	if game := m.WhichOneof(m.Descriptor().Oneofs().ByName("game")); err == nil && (game == nil || string(game.Name()) != c.Format.String()) {
		tb.Fatalf("no report of %v and no error: %v", c.Format, game)
	}
	if n := proto.Size(r); n > 1<<20 {
		tb.Fatalf("a report of %d bytes of a file of %d", n, len(data))
	}
}

// ReadAll is Read for a replay that has an end.
func ReadAll(tb testing.TB, r codec.Reader, batch int) (events []byte, marks []codec.Mark) {
	tb.Helper()
	events, marks, err := Read(tb, r, batch)
	if !errors.Is(err, io.EOF) {
		tb.Fatal(err)
	}
	return events, marks
}

// CheckFilters checks that a reader with a filter, which is compiled of what is included and excluded, delivers the events that match it.
func CheckFilters(tb testing.TB, c codec.Codec, data []byte, filters map[string][2][]*replaydv1.EventFilter) {
	tb.Helper()
	events, marks := ReadAll(tb, Open(tb, c, data, codec.Options{}), 512)
	for name, lists := range filters {
		f, err := filter.Compile(&c.Filters, lists[0], lists[1])
		if err != nil {
			tb.Fatal(err)
		}
		var want []byte
		from, count := 0, uint64(0)
		for _, m := range marks {
			if f.Match(&m.Event) {
				want = append(want, events[from:m.End]...)
			} else {
				count++
			}
			from = m.End
		}
		r := Open(tb, c, data, codec.Options{Filter: f})
		if got, _ := ReadAll(tb, r, 512); !bytes.Equal(got, want) {
			tb.Errorf("%s: got %d bytes, want %d", name, len(got), len(want))
		}
		if r.Filtered() > count+uint64(len(marks)) {
			tb.Errorf("%s: %d events were filtered out of %d", name, r.Filtered(), len(marks))
		}
	}
}

// CheckResume starts after some events of a replay, and expects exactly the rest.
func CheckResume(tb testing.TB, c codec.Codec, data []byte, starts int) {
	tb.Helper()
	events, marks := ReadAll(tb, Open(tb, c, data, codec.Options{}), 512)
	for i := 0; i < len(marks); i += 1 + len(marks)/starts {
		r := Open(tb, c, data, codec.Options{Start: codec.Start{Position: marks[i].Next}})
		if rest, _ := ReadAll(tb, r, 1+i%107); !bytes.Equal(rest, events[marks[i].End:]) {
			tb.Fatalf("resumed after event %d at %+v: not the rest", i, marks[i].Next)
		}
	}
}

// CheckReports is CheckReport for a replay that is damaged in many ways, and cut.
func CheckReports(tb testing.TB, c codec.Codec, sample []byte) {
	tb.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		data := bytes.Clone(sample)
		for range 1 + random.IntN(8) {
			data[random.IntN(len(data))] ^= byte(1 + random.IntN(255))
		}
		CheckReport(tb, c, data[:random.IntN(len(data)+1)])
	}
}
