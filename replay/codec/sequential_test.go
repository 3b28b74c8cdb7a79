package codec_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
)

// The kinds of the events of tests.
const (
	kindMove = 1 + iota
	kindSay
	kindFact
)

// happened is the event of a format that only tests have. Its name is what it is delivered as.
type happened struct {
	kind   uint8
	tick   int32
	name   byte
	player int32
}

// playback is a decoder of such events. Each takes ten bytes, whose sum is a hundred times their number.
type playback struct {
	events []happened
	next   int
	tick   int32
	end    error
}

func (p *playback) Next(ev *happened) error {
	if p.next == len(p.events) {
		return p.end
	}
	*ev = p.events[p.next]
	p.next, p.tick = p.next+1, ev.tick
	return nil
}

func (p *playback) Position() decoders.Position { return decoders.Position{Offset: int64(10 * p.next)} }
func (p *playback) Tick() int32                 { return p.tick }
func (p *playback) Sum() decoders.Sum           { return decoders.Sum(100 * p.next) }
func (p *playback) Close() error                { return decoders.ErrTruncated }
func (p *playback) SumTo(at decoders.Position) decoders.Sum {
	return decoders.Sum(10 * at.Offset)
}

// pairs concludes two facts from everything that is said.
type pairs struct {
	of   happened
	left int
}

func (f *pairs) Apply(ev *happened) {
	if f.left = 0; ev.kind == kindSay {
		f.of, f.left = *ev, 2
	}
}

func (f *pairs) Pending() bool { return f.left > 0 }

func (f *pairs) Next(ev *happened) bool {
	if f.left == 0 {
		return false
	}
	f.left--
	*ev = happened{kind: kindFact, tick: f.of.tick, name: "21"[f.left], player: filter.None}
	return true
}

var (
	properties = filter.Table[happened]{
		kindMove: {Player: func(ev *happened) int32 { return ev.player }},
		kindSay:  {Player: func(ev *happened) int32 { return ev.player }},
	}
	filters = filter.Format{Name: "test", Kinds: properties.Describe([]string{"", "move", "say", "fact_pair"})}
	format  = codec.Events[happened]{
		Key:        func(ev *happened) (uint8, int32) { return ev.kind, ev.tick },
		Properties: properties.Set,
		Append:     func(b []byte, ev *happened) []byte { return append(b, ev.name) },
		AddRow:     func(t *table.Set, at decoders.Position, ev *happened) { t.Begin(ev.kind, at, ev.tick) },
		Work:       3,
	}
	game = []happened{
		{kindMove, 0, 'a', 1}, {kindMove, 0, 'b', 2}, {kindSay, 5, 'c', 1}, {kindMove, 5, 'd', 1}, {kindSay, 7, 'e', 2}, {kindMove, 9, 'f', 1},
	}
)

func compiled(t *testing.T, include ...*replaydv1.EventFilter) *filter.Filter {
	t.Helper()
	f, err := filter.Compile(&filters, include, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// read reads what is left, event by event. It returns the events' names, and where the reader was before each event.
func read(t *testing.T, s *codec.Sequential[happened], marks bool) (names string, places []codec.Mark, end error) {
	t.Helper()
	for {
		b := codec.Batch{MaxEvents: 1, MaxBytes: 1 << 10, KeepMarks: marks}
		before := codec.Mark{Event: filter.Of(0, s.Tick()), Next: s.Position(), Sum: s.Sum()}
		err := s.Fill(&b)
		if b.Count > 0 {
			names += string(b.Events[2:])
			places = append(places, before)
			if at := codectest.Places(t, &b)[0]; at.Before(before.Next) {
				t.Errorf("event %q is at %v, before the reader's %v", b.Events[2:], at, before.Next)
			}
			if after := s.Position(); marks && (b.Marks[0].Next != after || b.Marks[0].Sum != s.Sum()) {
				t.Errorf("the mark of %q is %+v, and the reader is at %v", b.Events[2:], b.Marks[0], after)
			}
		}
		if err != nil && !errors.Is(err, codec.ErrYield) {
			return names, places, err
		}
	}
}

func TestSequential(t *testing.T) {
	tick := func(v int32) *int32 { return &v }
	at := func(offset, index int64) codec.Start {
		return codec.Start{Position: decoders.Position{Offset: offset, Index: index}}
	}
	everything := []*replaydv1.EventFilter{{Kinds: []string{"move", "say", "fact_pair"}}}
	early := []*replaydv1.EventFilter{{Ticks: &replaydv1.TickRange{Max: proto.Int32(5)}}}
	one := []*replaydv1.EventFilter{{Players: []int32{1}}}
	for name, tt := range map[string]struct {
		start     codec.Start
		filter    []*replaydv1.EventFilter
		fold      bool
		unordered bool
		events    []happened // instead of game
		end       error      // of the decoder; io.EOF if it is nil
		// What is expected: what was passed and what is delivered, how many events the filter has not matched, and the end.
		passed, want string
		filtered     uint64
		over         error
	}{
		"everything":                {want: "abcdef"},
		"facts":                     {filter: everything, fold: true, want: "abc12de12f"},
		"facts are not asked for":   {fold: true, want: "abcdef"},
		"a position":                {start: at(30, 0), passed: "abc", want: "def"},
		"a position behind a fact":  {start: at(20, 2), filter: everything, fold: true, passed: "abc", want: "2de12f"},
		"a position before a fact":  {start: at(20, 1), filter: everything, fold: true, passed: "abc", want: "12de12f"},
		"the end":                   {start: at(60, 0), passed: "abcdef"},
		"tick 0":                    {start: codec.Start{Tick: tick(0)}, want: "abcdef"},
		"tick 5":                    {start: codec.Start{Tick: tick(5)}, passed: "ab", want: "cdef"},
		"tick 6, with facts":        {start: codec.Start{Tick: tick(6)}, filter: everything, fold: true, passed: "abcd", want: "e12f"},
		"tick 8, with facts":        {start: codec.Start{Tick: tick(8)}, filter: everything, fold: true, passed: "abcde", want: "f"},
		"now":                       {start: codec.Start{Now: true}, passed: "abcdef"},
		"now, in one that grows":    {start: codec.Start{Now: true}, end: decoders.ErrMore, passed: "abcdef"},
		"one that grows":            {end: decoders.ErrMore, want: "abcdef"},
		"a player":                  {filter: one, want: "acdf", filtered: 2},
		"a kind":                    {filter: []*replaydv1.EventFilter{{Kinds: []string{"say"}}}, want: "ce", filtered: 4},
		"a kind of a player":        {filter: []*replaydv1.EventFilter{{Kinds: []string{"say"}, Players: []int32{2}}}, want: "e", filtered: 5},
		"the first ticks":           {filter: early, want: "abcd", filtered: 1, over: codec.ErrDone},
		"the first ticks, unsorted": {filter: early, unordered: true, want: "abcd", filtered: 2},
		"a tick of unsorted events": {
			start: codec.Start{Tick: tick(4)}, unordered: true, events: []happened{{kindMove, 6, 'x', 1}, {kindMove, 2, 'y', 1}}, want: "xy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var end, passed = tt.end, ""
			if end == nil {
				end = io.EOF
			}
			open := func(start codec.Start) *codec.Sequential[happened] {
				events, o := format, codec.Options{Start: start}
				if events.Unordered = tt.unordered; tt.filter != nil {
					o.Filter = compiled(t, tt.filter...)
				}
				s := codec.NewSequential(o, events)
				s.Use(&playback{events: game, end: end})
				if tt.events != nil {
					s.Use(&playback{events: tt.events, end: end})
				}
				if s.Passed = func(ev *happened) { passed += string(ev.name) }; tt.fold {
					s.Fold = &pairs{}
				}
				if err := seek(&s); err != nil {
					t.Fatal(err)
				}
				return &s
			}
			over := tt.over
			if over == nil {
				over = end
			}
			s := open(tt.start)
			if passed != tt.passed {
				t.Errorf("passed %q, want %q", passed, tt.passed)
			}
			names, places, err := read(t, s, false)
			if names != tt.want || s.Filtered() != tt.filtered || !errors.Is(err, over) {
				t.Errorf("delivered %q, filtered %d, %v; want %q, %d, %v", names, s.Filtered(), err, tt.want, tt.filtered, over)
			}
			// A reader is never somewhere else because of marks, and whoever starts where it was gets the rest, from the same sum and clock.
			if marked, again, _ := read(t, open(tt.start), true); marked != names || !reflect.DeepEqual(places, again) {
				t.Errorf("with marks %q at %v, want %q at %v", marked, again, names, places)
			}
			for i, p := range places {
				if isFact := names[i] <= '9'; isFact && p.Next.Index != int64(names[i]-'0') || p.Sum != decoders.Sum(10*p.Next.Offset) {
					t.Errorf("%q is at %v, where the sum is %d", names[i], p.Next, p.Sum)
				}
				s := open(codec.Start{Position: p.Next})
				if s.Position() != p.Next || s.Sum() != p.Sum || s.Tick() != p.Tick {
					t.Errorf("event %d: at %v with sum %d and tick %d, want %+v", i, s.Position(), s.Sum(), s.Tick(), p)
				}
				if rest, _, _ := read(t, s, false); rest != names[i:] {
					t.Errorf("from %v on: %q, want %q", p.Next, rest, names[i:])
				}
			}
		})
	}
}

func seek(s *codec.Sequential[happened]) error {
	for {
		if err := s.Seek(); !errors.Is(err, codec.ErrYield) {
			return err
		}
	}
}

// TestSequentialEnds: what a reader does without a decoder, and where there is nothing to deliver.
func TestSequentialEnds(t *testing.T) {
	from := decoders.Position{Offset: 70}
	s := codec.NewSequential(codec.Options{Start: codec.Start{Position: from}}, format)
	if s.Position() != from || s.Tick() != 0 || s.Sum() != 0 || s.Close() != nil {
		t.Errorf("without a decoder: at %v, tick %d, sum %d, %v", s.Position(), s.Tick(), s.Sum(), s.Close())
	}
	s.Use(&playback{events: game, end: io.EOF})
	if err := seek(&s); !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %v", err)
	}
	if err := s.Close(); !errors.Is(err, decoders.ErrTruncated) {
		t.Errorf("the decoder's error is lost: %v", err)
	}
	s = codec.NewSequential(codec.Options{Start: codec.Start{Tick: new(int32(0))}}, format)
	s.Use(&playback{end: decoders.ErrMore})
	if err := s.Seek(); err != nil {
		t.Errorf("a replay that has only begun is at tick 0: %v", err)
	}
	damage := decoders.Errorf(decoders.Dem, 60, 9, "event", decoders.ErrWindow, "it is large")
	for name, start := range map[string]codec.Start{"now": {Now: true}, "position": {Position: from}} {
		s := codec.NewSequential(codec.Options{Start: start}, format)
		s.Use(&playback{events: game, end: damage})
		if err := seek(&s); !errors.Is(err, damage) {
			t.Errorf("%s: damage before the start: %v", name, err)
		}
	}
	f, err := filter.Compile(&filters, nil, []*replaydv1.EventFilter{{}})
	if err != nil {
		t.Fatal(err)
	}
	s = codec.NewSequential(codec.Options{Filter: f}, format)
	s.Use(&playback{events: game, end: io.EOF})
	if names, _, err := read(t, &s, false); names != "" || s.Filtered() != 0 || !errors.Is(err, codec.ErrDone) {
		t.Errorf("a filter that matches nothing: %q, %d filtered, %v", names, s.Filtered(), err)
	}
}

// TestSequentialYields: no call does more than it may.
func TestSequentialYields(t *testing.T) {
	p := &playback{events: game, end: io.EOF}
	s := codec.NewSequential(codec.Options{Start: codec.Start{Tick: new(int32(9))}, Filter: compiled(t, &replaydv1.EventFilter{Players: []int32{3}})}, format)
	s.Use(p)
	if err := s.Seek(); !errors.Is(err, codec.ErrYield) || p.next != format.Work {
		t.Errorf("%d events were passed: %v", p.next, err)
	}
	s = codec.NewSequential(codec.Options{Filter: s.Filter}, format)
	p.next = 0
	s.Use(p)
	var b codec.Batch
	b.MaxEvents, b.MaxBytes = 100, 100
	if err := s.Fill(&b); !errors.Is(err, codec.ErrYield) || p.next != format.Work {
		t.Errorf("%d events were decoded: %v", p.next, err)
	}
}

// described is a reader whose header is complete, or not.
type described struct {
	codec.Sequential[happened]
	err error
}

func (d *described) Header(r *replaydv1.Replay) error {
	r.MapName = "found"
	return d.err
}

// TestDescribeBy: the error is that of the header, and a file that ends in the header is torn.
func TestDescribeBy(t *testing.T) {
	for name, tt := range map[string]struct{ opened, header, want error }{
		"whole":    {},
		"torn":     {header: decoders.ErrMore, want: decoders.ErrTruncated},
		"damaged":  {header: decoders.ErrWindow, want: decoders.ErrWindow},
		"unopened": {opened: io.ErrUnexpectedEOF, want: io.ErrUnexpectedEOF},
	} {
		describe := codec.DescribeBy(func(source.Input, codec.Options) (codec.Reader, error) {
			d := &described{codec.NewSequential(codec.Options{}, format), tt.header}
			d.Use(&playback{})
			return d, tt.opened
		})
		var r replaydv1.Replay
		if err := describe(t.Context(), source.Input{}, &r); !errors.Is(err, tt.want) || (r.GetMapName() == "found") != (tt.opened == nil) {
			t.Errorf("%s: %v, %v", name, &r, err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := describe(cancelled, source.Input{}, &r); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: cancelled: %v", name, err)
		}
	}
}
