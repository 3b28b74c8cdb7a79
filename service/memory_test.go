package service_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/source"
)

// TestReadersDeclareTheirMemory decodes a replay of each format, several times at once. It compares the used memory with what
// the format declares and the readers report.
func TestReadersDeclareTheirMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector's memory is no measure")
	}
	const readers = 16
	paths := map[decoders.Format]string{
		decoders.Teehistorian: finishedSample, decoders.Datafile: samples("datafile", "sample.map"),
		decoders.Dem: samples("dem", "sample.dem"), decoders.SC2Replay: samples("sc2replay", "5.0.SC2Replay"),
	}
	for _, c := range service.Codecs() {
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
			for fills := 0; (err == nil || errors.Is(err, codec.ErrYield)) && fills < 20; fills++ { // then the reader stays idle
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

// heap returns how much heap memory is in use.
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
	b.MaxEvents = min(b.MaxEvents, 10) // so that there are several batches
	return g.Reader.Fill(b)
}

// TestGrowingDecoder: a stream whose decoder grows beyond the limit ends with RESOURCE_EXHAUSTED, a cursor and the time of a
// retry, and gives back its memory. Within the limit it continues.
func TestGrowingDecoder(t *testing.T) {
	step := int64(0)
	c := codecWith(nil)
	open := c.Open
	c.Open = func(in source.Input, o codec.Options) (codec.Reader, error) {
		r, err := open(in, o)
		return &growing{Reader: r.(slowReader).Reader, step: step}, err
	}
	t.Cleanup(service.SetCodecs(c))
	control := admission.New(admission.Limits{All: admission.Amounts{admission.Memory: 64 << 20}})
	dir := t.TempDir()
	d := start(t, dir, func(c *service.Config) { c.Admission, c.SurveyBudget = control, 0 })
	req := &replaydv1.StreamEventsRequest{Replay: copyIn(t, dir, finishedSample), MaxBatchEvents: 10}
	for _, upload := range []bool{false, true} {
		for _, s := range []int64{100 << 10, 80 << 20} { // an upload may come in one batch, which alone is too much then
			step = s
			var err error
			if upload {
				err = uploadPieces(timeout(t), d.client, read(t, finishedSample), 1000)
			} else {
				err = d.Session(timeout(t), req, nil).Err
			}
			refused := false
			if err != nil {
				f := explainFailure(t, err)
				refused = f.code == codes.ResourceExhausted && f.reason == "LIMIT_EXCEEDED" && f.retry
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

// TestUploadOfLargeMessages: messages of an upload that wait in memory count towards the budget.
func TestUploadOfLargeMessages(t *testing.T) {
	control := admission.New(admission.Limits{All: admission.Amounts{admission.Memory: 2 << 20}})
	d := start(t, t.TempDir(), func(c *service.Config) { c.Admission = control })
	data := append(read(t, finishedSample), make([]byte, 900<<10)...)
	if err := uploadPieces(timeout(t), d.client, read(t, finishedSample), 1000); err != nil {
		t.Errorf("small messages: %v", err)
	}
	if f := explainFailure(t, uploadPieces(timeout(t), d.client, data, len(data))); f.code != codes.ResourceExhausted {
		t.Errorf("a message of %d bytes: %v", len(data), f)
	}
}
