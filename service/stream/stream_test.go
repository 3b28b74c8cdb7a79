package stream_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	"github.com/replayd/replayd/replay/codec/registry"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/streamtest"
)

// recording repeats the records of a sample to a recording of about that many bytes.
func recording(tb testing.TB, size int) []byte {
	tb.Helper()
	data := decodertest.Sample(tb, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	return teetest.Repeat(data, size)
}

func config(data []byte) stream.Config {
	in := codectest.Input(data)
	return stream.Config{
		Replay: &stream.Replay{
			Codec: &teehistorian.Codec, Info: new(replaydv1.Replay),
			Opened: streamtest.Opened(func(o codec.Options) (codec.Reader, error) { return teehistorian.Codec.Open(in, o) }),
		},
		MaxEvents: stream.DefaultBatchEvents, Heartbeat: time.Minute,
	}
}

// tables is the configuration of a stream of tables of some kinds with some columns, or all.
func tables(tb testing.TB, data []byte, kinds, columns []string, o arrowipc.Encoder) stream.Config {
	tb.Helper()
	c := config(data)
	c.MaxEvents = stream.MaxTableRows
	var err error
	if c.Replay.Options.Filter, err = filter.Compile(&teehistorian.Codec.Filters, []*replaydv1.EventFilter{{Kinds: kinds}}, nil); err != nil {
		tb.Fatal(err)
	}
	layout := teehistorian.Codec.Tables.Layout(false)
	if columns != nil {
		if layout, err = layout.Select(columns, c.Replay.Options.Filter.Kind); err != nil {
			tb.Fatal(err)
		}
	}
	c.Replay.Tables = &stream.Tables{
		Encoder: &o, Layout: layout, Bytes: stream.TableBytes(&teehistorian.Codec, layout, c.Replay.Options.Filter.Kind),
	}
	return c
}

// TestTableMemory: the memory of a column that has all bytes of a batch is used again for the next batch.
func TestTableMemory(t *testing.T) {
	if streamtest.Race {
		t.Skip("with the race detector, pools drop some of what is put into them, at random")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))           // which empties pools
	for _, o := range []arrowipc.Encoder{{}, {Narrow: true}} { // Arrow's library does not keep what it compresses with
		testTableMemory(t, o)
	}
}

func testTableMemory(t *testing.T, o arrowipc.Encoder) {
	t.Helper()
	measure := func(size int) (batches int, bytes uint64) {
		c := tables(t, recording(t, size), []string{"player_diff"}, []string{"dx"}, o)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := stream.Run(context.Background(), c, func(f *frame.Frame) error { batches++; f.Free(); return nil }); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return batches, after.TotalAlloc - before.TotalAlloc
	}
	measure(1 << 20) // fills pools
	fewBatches, few := measure(2 << 20)
	manyBatches, many := measure(8 << 20)
	if manyBatches < fewBatches+8 {
		t.Fatalf("%d and %d batches", fewBatches, manyBatches)
	}
	if each := (int64(many) - int64(few)) / int64(manyBatches-fewBatches); each > 400<<10 { // a batch has 512 KiB
		t.Errorf("%+v: %d bytes are allocated for a batch", o, each)
	} else {
		t.Logf("%+v: %d bytes are allocated for a batch", o, each)
	}
}

// TestTableBounds: tables of small rows nearly fill a response, and none is larger than a client takes. Those with texts, of which
// one more could be large, are smaller.
func TestTableBounds(t *testing.T) {
	streamtest.SkipLong(t)
	t.Parallel()
	data := recording(t, 1<<20)
	moves := []string{"player_diff"}
	for _, test := range []struct {
		what           string
		kinds, columns []string
		options        arrowipc.Encoder
		least, most    int // of the largest response, in KiB
	}{
		{"six numbers", moves, []string{"at_tick", "client_id", "dx", "dy", "x", "y"}, arrowipc.Encoder{}, 900, 1024},
		{"six small ones", moves, []string{"at_tick", "client_id", "dx", "dy", "x", "y"}, arrowipc.Encoder{Narrow: true}, 100, 500},
		{"compressed ones", moves, []string{"at_tick", "client_id", "dx", "dy", "x", "y"}, arrowipc.Encoder{Compress: true}, 100, 1024},
		{"all numbers", moves, []string{"offset", "index", "at_tick", "time", "client_id", "dx", "dy", "x", "y"}, arrowipc.Encoder{}, 900, 1024},
		{"of two kinds", []string{"player_diff", "player_new"}, []string{"at_tick", "client_id", "x", "y"}, arrowipc.Encoder{}, 900, 1024},
		{"with warnings", moves, []string{"offset", "index", "at_tick", "time", "warnings", "client_id", "dx", "dy", "x", "y"}, arrowipc.Encoder{}, 900, 1024},
		{"without the texts of a kind", []string{"player_diff", "message"}, []string{"at_tick", "client_id"}, arrowipc.Encoder{}, 900, 1024},
		{"and with them", []string{"player_diff", "message"}, nil, arrowipc.Encoder{}, 800, 1024},
		{"of all kinds", nil, nil, arrowipc.Encoder{}, 700, 1024},
	} {
		largest := 0
		c := tables(t, data, test.kinds, test.columns, test.options)
		if err := stream.Run(context.Background(), c, func(f *frame.Frame) error { largest = max(largest, f.Len()); f.Free(); return nil }); err != nil {
			t.Fatal(err)
		}
		if largest < test.least<<10 || largest > test.most<<10 {
			t.Errorf("%s: the largest response has %d bytes", test.what, largest)
		}
	}
	largest := 0
	c := tables(t, data, moves, []string{"at_tick", "x", "y"}, arrowipc.Encoder{})
	c.State = true
	if err := stream.Run(context.Background(), c, func(f *frame.Frame) error { largest = max(largest, f.Len()); f.Free(); return nil }); err != nil {
		t.Fatal(err)
	}
	if largest > 300<<10 {
		t.Errorf("with a state: the largest response has %d bytes", largest)
	}
}

// standing is the follower of a file that does not grow. It calls wait when the stream waits for that.
type standing struct {
	present int64
	wait    func()
}

func (f standing) Changed() <-chan struct{} {
	f.wait()
	return nil
}

func (f standing) Look() (int64, error) { return f.present, nil }

func (standing) Standing() stream.Standing { return stream.Standing{} }

// TestTablesOfWaiting: a stream that waits for its replay to grow does not keep the memory of large tables.
func TestTablesOfWaiting(t *testing.T) {
	data := recording(t, 1<<20)
	data = data[:len(data)-1]
	ctx, cancel := context.WithCancel(context.Background())
	c := tables(t, data, []string{"player_diff"}, []string{"x"}, arrowipc.Encoder{})
	c.Replay.Follower = standing{int64(len(data)), cancel}
	var set *table.Set
	open := c.Replay.Open
	c.Replay.Opened = streamtest.Opened(func(o codec.Options) (codec.Reader, error) {
		set = o.Tables
		return open(o)
	})
	most := 0
	err := stream.Run(ctx, c, func(f *frame.Frame) error {
		most = max(most, f.Len())
		f.Free()
		return nil
	})
	if !errors.Is(err, context.Canceled) || most < 256<<10 {
		t.Fatalf("%v after responses of up to %d bytes", err, most)
	}
	memory := 0
	for kind := range set.Layout.Format.Kinds {
		for _, column := range set.Table(uint8(kind)).Columns {
			memory += cap(column.Data)
		}
	}
	if memory > 64<<10 {
		t.Errorf("%d bytes are kept", memory)
	}
}

// TestTableBytes: of formats whose readers leave no rows, full batches of rows of any size are small, and others have room for one more row.
func TestTableBytes(t *testing.T) {
	all := func(uint8) bool { return true }
	for _, c := range registry.Codecs() {
		positions, err := c.Tables.Layout(false).Select([]string{"offset", "index", "at_tick", "time"}, all)
		if err != nil {
			t.Fatal(err)
		}
		n := stream.TableBytes(c, positions, all)
		if most := n + codec.UsualRowBytes; n <= 3*stream.DefaultTableBytes || most+most/32 > stream.MaxResponseBytes-4<<10 {
			t.Errorf("%v: %d bytes beside a row", c.Format, n)
		}
		for kind := uint8(1); int(kind) < len(c.Tables.Kinds); kind++ {
			if row, known := c.Tables.Layout(true).MaxRow(kind); known && row+c.Tables.Layout(true).Overhead(kind) > codec.UsualRowBytes {
				t.Errorf("%v: the first row of %s takes %d bytes", c.Format, c.Tables.Kinds[kind].Name, row)
			}
		}
		n = stream.TableBytes(c, c.Tables.Layout(true), all)
		if most := n + c.MaxRow + codec.UsualRowBytes; (n == stream.DefaultTableBytes) != (!c.LeavesRows && c.MaxRow == 0) || c.MaxRow > 0 && most+most/33 > stream.MaxResponseBytes-4<<10 {
			t.Errorf("%v: %d bytes of all columns", c.Format, n)
		}
		fault := uint8(slices.IndexFunc(c.Tables.Kinds, func(k table.Kind) bool { return k.Name == "fault" }))
		for kind := uint8(1); c.MaxRow > 0 && int(kind) < len(c.Tables.Kinds); kind++ { // a fault is in the place of a row that is too large
			if around := c.Tables.Layout(true).Overhead(kind) + c.Tables.Layout(true).Overhead(fault); around > codec.UsualRowBytes {
				t.Errorf("%v: %d bytes around a row of %s and a fault", c.Format, around, c.Tables.Kinds[kind].Name)
			}
		}
	}
}

// TestEmptyTables: of kinds that the filter names, and that have no event, a client learns the columns. It does not when it resumes.
func TestEmptyTables(t *testing.T) {
	var after *cursor.Cursor
	for _, resumed := range []bool{false, true} {
		c := tables(t, recording(t, 1<<15), []string{"player_diff", "save_failure"}, nil, arrowipc.Encoder{})
		c.MaxEvents, c.Start.Cursor = 1000, after
		rows := map[string]uint64{}
		if err := stream.Run(t.Context(), c, func(f *frame.Frame) error {
			defer f.Free()
			if f.Response() != nil {
				return nil
			}
			if after == nil {
				at, err := cursor.Parse(f.Cursor())
				if after = &at; err != nil {
					return err
				}
			}
			b := f.Buffer()
			defer b.Free()
			var r replaydv1.StreamEventsResponse
			if err := proto.Unmarshal(b.ReadOnlyData(), &r); err != nil {
				return err
			}
			for _, table := range r.GetBatch().GetTables() {
				rows[table.GetKind()] += uint64(table.GetRows())
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if n, told := rows["save_failure"]; told == resumed || n > 0 || rows["player_diff"] == 0 {
			t.Errorf("resumed %t: %v", resumed, rows)
		}
	}
}

// TestAllocations: a stream allocates at most ten times for a batch, and nothing for an event.
func TestAllocations(t *testing.T) {
	measure := func(size int) (batches int, allocations uint64) {
		c := config(recording(t, size))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := stream.Run(context.Background(), c, func(f *frame.Frame) error { batches++; f.Free(); return nil }); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return batches, after.Mallocs - before.Mallocs
	}
	measure(1 << 20) // fills pools
	fewBatches, few := measure(1 << 16)
	manyBatches, many := measure(4 << 20)
	each := float64(many-few) / float64(manyBatches-fewBatches)
	t.Logf("%.1f allocations for a batch of %d events", each, stream.DefaultBatchEvents)
	if each > 10 {
		t.Errorf("%.1f allocations for a batch, want at most 10", each)
	}
}

// TestSendFails: the sender's error comes back as it is, and the replay is closed.
func TestSendFails(t *testing.T) {
	data := recording(t, 0)
	broken := errors.New("the client is gone")
	for fails := range 3 {
		c := config(data)
		closed := 0
		c.Replay.Opened = closer{c.Replay.Opened, func() { closed++ }}
		n := 0
		err := stream.Run(context.Background(), c, func(f *frame.Frame) error {
			defer f.Free()
			if n++; n > fails {
				return broken
			}
			return nil
		})
		if err != broken || closed != 1 { //nolint:errorlint // as it is
			t.Errorf("after %d responses: %v, closed %d times", fails, err, closed)
		}
	}
}

// TestCancelled: the context's error comes back, whatever the stream is doing.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	err := stream.Run(ctx, config(recording(t, 1<<20)), func(f *frame.Frame) error {
		defer f.Free()
		if n++; n == 3 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || n > 4 {
		t.Errorf("%v after %d responses", err, n)
	}
}

// watched is a reader that calls a function before each Fill.
type watched struct {
	codec.Reader

	fill func()
}

func (w *watched) Fill(b *codec.Batch) error {
	w.fill()
	return w.Reader.Fill(b)
}

// TestCancelledSilent: a stream whose filter lets nothing through decodes no further when its client has left.
func TestCancelledSilent(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := config(recording(t, 4<<20))
	var err error
	if c.Replay.Options.Filter, err = filter.Compile(&teehistorian.Codec.Filters, []*replaydv1.EventFilter{{Players: []int32{1 << 20}}}, nil); err != nil {
		t.Fatal(err)
	}
	fills, open := 0, c.Replay.Open
	c.Replay.Opened = streamtest.Opened(func(o codec.Options) (codec.Reader, error) {
		r, err := open(o)
		return &watched{r, func() {
			if fills++; fills == 2 {
				cancel()
			}
		}}, err
	})
	if err := stream.Run(ctx, c, func(f *frame.Frame) error { f.Free(); return nil }); !errors.Is(err, context.Canceled) || fills != 2 {
		t.Errorf("%v after %d fills", err, fills)
	}
}

// TestBatchBounds: batches hold no more events than asked for, and responses no more bytes than a client takes.
func TestBatchBounds(t *testing.T) {
	size := 1 << 20
	if streamtest.Race {
		size = 1 << 17 // four batches of the largest size
	}
	data := recording(t, size)
	in := codectest.Input(data)
	want, err := streamtest.Offline(&teehistorian.Codec, in, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 7, 512, 4096} {
		c := config(data)
		c.MaxEvents = size
		var s streamtest.Session
		s.Err = stream.Run(context.Background(), c, func(f *frame.Frame) error {
			b := f.Buffer()
			s.Responses = append(s.Responses, slices.Clone(b.ReadOnlyData()))
			b.Free()
			f.Free()
			return nil
		})
		if err := streamtest.Check(streamtest.History{s}, []streamtest.Replay{want}, streamtest.Options{}); err != nil {
			t.Errorf("batches of %d: %v", size, err)
		}
		if least := len(want.Events)/size + 2; len(s.Responses) < least {
			t.Errorf("batches of %d: %d responses, want at least %d", size, len(s.Responses), least)
		}
	}
}

// TestAhead: a reader may be read ahead where the replay allows it, while a processor is idle, and what reads ahead has ended when
// the replay is closed.
func TestAhead(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		c := config(recording(t, 0))
		c.Replay.Ahead, c.Turns = allowed, admission.NewTurns(2)
		open := c.Replay.Open
		var steps atomic.Int32
		ended := false
		c.Replay.Opened = closer{streamtest.Opened(func(o codec.Options) (codec.Reader, error) {
			if (o.Ahead != nil) != allowed {
				t.Errorf("it may be read ahead: %t, want %t", o.Ahead != nil, allowed)
			}
			if o.Ahead != nil {
				started := make(chan struct{})
				o.Ahead(func() bool {
					if steps.Add(1) == 1 {
						close(started)
					}
					return true
				}, func() { ended = true })
				<-started
			}
			return open(o)
		}), func() {
			if ended != allowed {
				t.Error("it is read ahead in a replay that is closed")
			}
		}}
		if err := stream.Run(context.Background(), c, func(f *frame.Frame) error { f.Free(); return nil }); err != nil {
			t.Fatal(err)
		}
		if (steps.Load() > 0) != allowed {
			t.Errorf("%d steps ahead", steps.Load())
		}
	}
}

// closer calls a function when what was opened is closed.
type closer struct {
	stream.Opened

	close func()
}

func (c closer) Close() { c.close() }

// TestLastEvents: a stream of the last events has as many as were asked for, also of more than are first kept room for.
func TestLastEvents(t *testing.T) {
	data := recording(t, 1<<18)
	for _, last := range []int{1, 100, 5000} {
		c := config(data)
		c.Start.Last = last
		sent := uint64(0)
		if err := stream.Run(t.Context(), c, func(f *frame.Frame) error {
			sent = f.Response().GetEnd().GetEventsSent()
			f.Free()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if sent != uint64(last) {
			t.Errorf("%d of the last %d events were sent", sent, last)
		}
	}
}

// chain are replays that follow one another.
type chain struct{ next []*stream.Replay }

func (c *chain) Changed() <-chan struct{} { return nil }
func (c *chain) Close()                   {}

func (c *chain) Next(context.Context, stream.Ended) (stream.Next, error) {
	if len(c.next) == 0 {
		return stream.Next{Over: true}, nil
	}
	replay := c.next[0]
	c.next = c.next[1:]
	return stream.Next{Replay: replay}, nil
}

// TestCountsOfSuccessors: the end of a stream counts the events of all its replays, those that the filter dropped, too.
func TestCountsOfSuccessors(t *testing.T) {
	data := recording(t, 1<<14)
	only := func() stream.Config {
		c := config(data)
		var err error
		if c.Replay.Options.Filter, err = filter.Compile(&teehistorian.Codec.Filters, []*replaydv1.EventFilter{{Kinds: []string{"join"}}}, nil); err != nil {
			t.Fatal(err)
		}
		return c
	}
	end := func(c stream.Config) (end *replaydv1.StreamEnd) {
		if err := stream.Run(t.Context(), c, func(f *frame.Frame) error {
			end = f.Response().GetEnd()
			f.Free()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return end
	}
	one := end(only())
	c := only()
	c.Successors = &chain{[]*stream.Replay{only().Replay, only().Replay}}
	three := end(c)
	if one.GetEventsSent() == 0 || one.GetEventsFiltered() == 0 || three.GetEventsSent() != 3*one.GetEventsSent() ||
		three.GetEventsFiltered() != 3*one.GetEventsFiltered() {
		t.Errorf("three replays: %v, one: %v", three, one)
	}
}

// resting is an opened replay with bytes behind its own end.
type resting struct {
	stream.Opened

	rest func() error
}

func (r resting) Rest() error { return r.rest() }

// TestRest: what follows a replay of unknown size is read to its end, and damage there ends the stream.
func TestRest(t *testing.T) {
	for _, present := range []int64{-1, 1 << 14} {
		for _, damage := range []error{nil, io.ErrUnexpectedEOF} {
			c, reads := config(recording(t, 1<<14)), 0
			c.Replay.Present = present
			c.Replay.Opened = resting{c.Replay.Opened, func() error { reads++; return damage }}
			ended := false
			err := stream.Run(t.Context(), c, func(f *frame.Frame) error {
				ended = ended || f.Response().GetEnd() != nil
				f.Free()
				return nil
			})
			if want := present < 0; (reads == 1) != want || ended != (damage == nil || !want) || ended == (err != nil) {
				t.Errorf("%d bytes, %v behind them: %d reads, ended %t, %v", present, damage, reads, ended, err)
			}
		}
	}
}

// TestCursors: a cursor resumes the bytes that it was made of, and no others.
func TestCursors(t *testing.T) {
	data := recording(t, 1<<15)
	var last cursor.Cursor
	run := func(data []byte, at *cursor.Cursor) error {
		c := config(data)
		c.Start.Cursor, c.MaxEvents = at, 100
		return stream.Run(t.Context(), c, func(f *frame.Frame) error {
			defer f.Free()
			if f.Response() == nil && at == nil {
				last, _ = cursor.Parse(f.Cursor())
			}
			return nil
		})
	}
	if err := run(data, nil); err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(data)
	changed[last.Position.Offset-50] ^= 1
	other := last
	other.Replay++
	for _, test := range []struct {
		what string
		data []byte
		at   cursor.Cursor
		want error
	}{
		{"the same", data, last, nil},
		{"a changed byte", changed, last, stream.ErrCursorChanged},
		{"fewer bytes", data[:last.Position.Offset-50], last, stream.ErrCursorRange},
		{"another replay", data, other, stream.ErrCursorReplay},
	} {
		if err := run(test.data, &test.at); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.what, err, test.want)
		}
	}
}
