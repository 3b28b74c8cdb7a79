package service_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
)

// TestReadersDeclareTheirMemory decodes a replay of each format, several times at once, and holds what that takes against what
// the format declares and the readers say.
func TestReadersDeclareTheirMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector's memory is no measure")
	}
	const readers = 16
	paths := map[decoders.Format]string{
		decoders.Teehistorian: finishedSample, decoders.Datafile: samples("datafile", "sample.map"),
		decoders.Dem: samples("dem", "sample.dem"), decoders.SC2Replay: samples("sc2replay", "5.0.SC2Replay"),
	}
	for _, c := range describe.Codecs() {
		data := read(t, paths[c.Format])
		if c.Cost == nil || c.Cost(-1) <= 0 || c.Cost(1<<30) < c.Cost(-1) {
			t.Errorf("%v: it is not declared what a reader takes", c.Format)
			continue
		}
		before := heap()
		var open []codec.Reader
		held := c.Cost(int64(len(data)))
		for range readers {
			r, err := c.Open(source.Input{At: bytes.NewReader(data), Size: int64(len(data))}, codec.Options{})
			if err != nil {
				t.Fatal(err)
			}
			err = r.Header(&replaydv1.Replay{})
			for err == nil || errors.Is(err, codec.ErrYield) {
				if err = r.Seek(); err == nil {
					break
				}
			}
			b := codec.Batch{MaxEvents: 1 << 20, MaxBytes: 64 << 10}
			for fills := 0; (err == nil || errors.Is(err, codec.ErrYield)) && fills < 20; fills++ { // and then it is left alone
				err = r.Fill(&b)
				b.Reset()
			}
			h, ok := r.(codec.Holder)
			if !ok {
				t.Fatalf("%v: a reader does not say what it holds", c.Format)
			}
			held = max(held, h.Held())
			open = append(open, r)
		}
		took := (heap() - before) / readers
		t.Logf("%v: a reader takes %d KiB, declared are %d", c.Format, took>>10, held>>10)
		if took > held {
			t.Errorf("%v: a reader takes %d bytes, declared are %d", c.Format, took, held)
		}
		runtime.KeepAlive(open)
	}
}

// heap is how much memory is in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// growing is a reader that holds more with every batch.
type growing struct {
	codec.Reader

	step, held int64
}

func (g *growing) Held() int64 { return g.held }

func (g *growing) Fill(b *codec.Batch) error {
	g.held += g.step
	if g.held == g.step {
		return codec.ErrYield // there is a second call, also if all of an upload is there at the first
	}
	return g.Reader.Fill(b)
}

// TestGrowingDecoder: a stream whose decoder comes to hold more than is free ends by RESOURCE_EXHAUSTED, with a cursor and when to try
// again; one whose decoder comes to hold more than there ever is, by FAILED_PRECONDITION. It gives back what it took; within the limit
// it goes on.
func TestGrowingDecoder(t *testing.T) {
	step := int64(0)
	c := codecWith(nil)
	open := c.Open
	c.Open = func(in source.Input, o codec.Options) (codec.Reader, error) {
		r, err := open(in, o)
		return &growing{Reader: r.(slowReader).Reader, step: step}, err
	}
	t.Cleanup(describe.SetCodecs(c))
	control := admission.New(admission.Limits{All: admission.Amounts{admission.Memory: 64 << 20}})
	dir := t.TempDir()
	d := start(t, dir, func(c *service.Config) { c.Admission, c.SurveyBudget = control, 0 })
	req := &replaydv1.StreamEventsRequest{Replay: copyIn(t, dir, finishedSample), MaxBatchEvents: 10}
	for _, upload := range []bool{false, true} {
		for _, s := range []int64{100 << 10, 60 << 20, 80 << 20} {
			step = s
			other, err := control.Enter(admission.Who{}, admission.Streams)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Memory(8 << 20); err != nil {
				t.Fatal(err)
			}
			if upload {
				err = uploadPieces(timeout(t), d.client, read(t, finishedSample), 1000)
			} else {
				err = d.Session(timeout(t), req, nil).Err
			}
			other.Return()
			refused := false
			if err != nil {
				f := explainFailure(t, err)
				refused = f.code == codes.ResourceExhausted && f.reason == "LIMIT_EXCEEDED" && f.retry
				if s > 64<<20 {
					refused = f.code == codes.FailedPrecondition && f.reason == "TOO_LARGE" && !f.retry
				}
			}
			if refused != (s > 1<<20) || !refused && err != nil {
				t.Errorf("a decoder that grows by %d bytes a batch (upload %v): %v", s, upload, err)
			}
			for control.Taken(admission.Memory) != 0 {
				if t.Context().Err() != nil {
					t.Fatal("something is still taken")
				}
			}
		}
	}
}

// TestUploadOfLargeMessages: messages of an upload that wait in memory are taken of the budget.
func TestUploadOfLargeMessages(t *testing.T) {
	control := admission.New(admission.Limits{All: admission.Amounts{admission.Memory: 2 << 20}})
	d := start(t, t.TempDir(), func(c *service.Config) { c.Admission = control })
	data := append(read(t, finishedSample), make([]byte, 900<<10)...)
	if err := uploadPieces(timeout(t), d.client, read(t, finishedSample), 1000); err != nil {
		t.Errorf("small messages: %v", err)
	}
	if f := explainFailure(t, uploadPieces(timeout(t), d.client, data, len(data))); f.code != codes.FailedPrecondition {
		t.Errorf("a message of %d bytes: %v", len(data), f)
	}
}

// TestTableCost: a stream of tables takes memory for the batches that it may have. Those of a file are large, and those of replays that are
// followed are not.
func TestTableCost(t *testing.T) {
	control := admission.New(admission.Limits{All: admission.Amounts{admission.Memory: 3 << 20}})
	dir := t.TempDir()
	d := start(t, dir, func(c *service.Config) { c.Admission = control })
	name := copyIn(t, dir, finishedSample)
	numbers := []string{"at_tick", "client_id"}
	for _, test := range []struct {
		what     string
		encoding replaydv1.Encoding
		columns  []string
		follow   bool
		refused  bool
	}{
		{"rows", replaydv1.Encoding_ENCODING_ROWS, nil, false, false},
		{"numbers", replaydv1.Encoding_ENCODING_ARROW, numbers, false, true},
		{"numbers that may grow", replaydv1.Encoding_ENCODING_ARROW, numbers, true, false},
		{"texts", replaydv1.Encoding_ENCODING_ARROW, nil, false, true},
		{"texts that may grow", replaydv1.Encoding_ENCODING_ARROW, nil, true, false},
	} {
		req := &replaydv1.StreamEventsRequest{Replay: name, Encoding: test.encoding, Columns: test.columns, Follow: test.follow}
		if test.columns != nil {
			req.Include = []*replaydv1.EventFilter{{Kinds: []string{"player_diff"}}}
		}
		err := d.Session(timeout(t), req, nil).Err
		if refused := err != nil && explainFailure(t, err).code == codes.FailedPrecondition; refused != test.refused || !refused && err != nil {
			t.Errorf("%s: %v", test.what, err)
		}
	}
	for control.Taken(admission.Memory) != 0 {
		if t.Context().Err() != nil {
			t.Fatal("something is still taken")
		}
	}
}
