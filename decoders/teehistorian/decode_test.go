package teehistorian_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// seen is the part of an event that tests compare: the position behind it, and a hash of its contents.
type seen struct {
	next decoders.Position
	hash uint64
}

var hashSeed = maphash.MakeSeed()

// hash returns a hash of the whole event.
func hash(ev *teehistorian.Event) uint64 {
	h := maphash.Comparable(hashSeed, [2]int32{int32(ev.Kind), ev.AtTick})
	for _, w := range ev.Warnings {
		h = h*31 + uint64(w) + 1
	}
	switch ev.Kind { // frequent kinds, without the cost of reflection
	case teehistorian.KindPlayerDiff:
		return h ^ maphash.Comparable(hashSeed, ev.PlayerDiff)
	case teehistorian.KindInputDiff:
		return h ^ maphash.Comparable(hashSeed, ev.InputDiff)
	case teehistorian.KindTick:
		return h ^ maphash.Comparable(hashSeed, ev.Tick)
	default:
		return h ^ maphash.String(hashSeed, describe(ev))
	}
}

// describe returns an event as text: the field of its kind, with byte slices as strings.
func describe(ev *teehistorian.Event) string {
	if ev.Kind == teehistorian.KindNone {
		return "none"
	}
	v := reflect.ValueOf(ev).Elem().FieldByName(camel(ev.Kind.String()))
	return fmt.Sprintf("%d %v %v %s", ev.AtTick, ev.Kind, ev.Warnings, text(v))
}

// text formats a value. Of a message it formats only the field that ContentCase names.
func text(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return fmt.Sprintf("%q", v.Bytes())
	case v.Kind() == reflect.Slice:
		s := "["
		for i := range v.Len() {
			s += text(v.Index(i)) + " "
		}
		return s + "]"
	case v.Kind() == reflect.Struct:
		s := "{"
		fields := v.NumField()
		if content := v.FieldByName("ContentCase"); content.IsValid() {
			for i := range v.NumField() {
				if v.Type().Field(i).Name == "ContentCase" {
					fields = i
					s += fmt.Sprint(content)
					if c := content.Uint(); c > 0 {
						s += text(v.Field(i + int(c)))
					}
				}
			}
		}
		for i := range fields {
			s += v.Type().Field(i).Name + ":" + text(v.Field(i)) + " "
		}
		return s + "}"
	default:
		return fmt.Sprint(v)
	}
}

func camel(name string) string {
	var b []byte
	up := true
	for _, c := range []byte(name) {
		if c == '_' {
			up = true
			continue
		}
		if up && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		b = append(b, c)
		up = false
	}
	return string(b)
}

// all decodes to the end. It returns the events and the error that ended decoding.
func all(d *teehistorian.Decoder) ([]seen, error) {
	var events []seen
	var ev teehistorian.Event
	for {
		if err := d.Next(&ev); err != nil {
			return events, err
		}
		events = append(events, seen{d.Position(), hash(&ev)})
	}
}

// prefixOf fails the test unless want begins with got.
func prefixOf(tb testing.TB, got, want []seen, what string) {
	tb.Helper()
	if len(got) > len(want) {
		tb.Fatalf("%s: %d events of %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			tb.Fatalf("%s: event %d differs: %+v, not %+v", what, i, got[i], want[i])
		}
	}
}

// recordEnd returns the offset at which the record of an event ends. A tick event that a record implies is delivered
// with that record.
func recordEnd(events []seen, i int) int64 {
	if events[i].next.Index > 0 {
		i++
	}
	return events[i].next.Offset
}

// TestPrefixes cuts the smallest files at every byte and larger ones at some bytes.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	for name := range references(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := corpusFile(t, name)
			want, end := all(decode(data, nil))
			step := 1
			if len(data) > 4<<10 && !decodertest.WholeCorpus() {
				step = max(len(data)/100, len(data)*len(data)/25_000_000) | 1
			}
			complete := 0 // events whose record is in the prefix
			for n := 0; n < len(data); n += step {
				for complete < len(want) && recordEnd(want, complete) <= int64(n) {
					complete++
				}
				d := decode(data[:n], nil)
				got, err := all(d)
				if !errors.Is(err, decoders.ErrMore) {
					t.Fatalf("%d bytes: %v", n, err)
				}
				prefixOf(t, got, want, fmt.Sprintf("%d bytes", n))
				if len(got) != complete {
					t.Fatalf("%d bytes: %d events, not %d", n, len(got), complete)
				}
				at := d.Position()
				var failure *decoders.Error
				if err := d.Close(); !errors.As(err, &failure) || !errors.Is(err, decoders.ErrTruncated) ||
					failure.Offset != at.Offset {
					t.Fatalf("%d bytes: at %+v: %v", n, at, err)
				}
			}
			if !errors.Is(end, io.EOF) && !errors.Is(end, decoders.ErrMore) {
				t.Fatal(end)
			}
		})
	}
}

// TestChunks checks that the sizes of the reads make no difference.
func TestChunks(t *testing.T) {
	for name, ref := range references(t) {
		if ref.Bytes > 400<<10 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			data := corpusFile(t, name)
			want, end := all(decode(data, nil))
			for chunk, src := range map[string]func(io.Reader) io.Reader{
				"one byte": iotest.OneByteReader,
				"half":     iotest.HalfReader,
				"71 bytes": func(r io.Reader) io.Reader { return pieces{r, 71} },
				"77 bytes": func(r io.Reader) io.Reader { return pieces{r, 77} },
			} {
				got, err := all(decode(data, src))
				prefixOf(t, got, want, chunk)
				if len(got) != len(want) || !errors.Is(err, end) {
					t.Errorf("%s: %d events of %d, %v", chunk, len(got), len(want), err)
				}
			}
		})
	}
}

// TestGrowing reads files whose source has no bytes for now between any two pieces.
func TestGrowing(t *testing.T) {
	for name, ref := range references(t) {
		if ref.Bytes > 400<<10 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			data := corpusFile(t, name)
			want, end := all(decode(data, nil))
			src := bytes.NewReader(data)
			d := teehistorian.New(&growing{r: src}, teehistorian.Options{})
			var got []seen
			for {
				more, err := all(d)
				got = append(got, more...)
				if errors.Is(err, decoders.ErrMore) && src.Len() > 0 {
					continue
				}
				if !errors.Is(err, end) {
					t.Errorf("ended by %v, not %v", err, end)
				}
				break
			}
			prefixOf(t, got, want, "growing")
			if len(got) != len(want) {
				t.Errorf("%d events of %d", len(got), len(want))
			}
		})
	}
}

// pieces is a reader that returns at most n bytes at a time.
type pieces struct {
	r io.Reader
	n int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.n)]) }

// growing is a reader of pieces of 1 to 40 bytes that returns io.EOF between them.
type growing struct {
	r   io.Reader
	n   int
	dry bool
}

func (g *growing) Read(b []byte) (int, error) {
	if g.dry = !g.dry; g.dry {
		return 0, io.EOF
	}
	g.n = g.n%40 + 1
	return g.r.Read(b[:min(len(b), g.n)])
}
