package opened_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/datafile"
	"github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/opened"
	"github.com/replayd/replayd/service/stream"
)

// TestDescribe: the memory of describing a replay is taken meanwhile, and refused where there is too little.
func TestDescribe(t *testing.T) {
	for _, limit := range []int64{1 << 10, enough} {
		h := build(t, admission.Amounts{admission.Streams: 10, admission.Memory: limit})
		ctx := h.call(t)
		file, err := source.OpenLocal(filepath.Join(h.dir, "map"), source.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var during int64
		format, err := opened.Describe(ctx, file, func(_ context.Context, f *source.File) (decoders.Format, error) {
			during = h.admission.Taken(admission.Memory)
			return f.Info().Format, nil
		})
		want := error(nil)
		if limit < enough {
			want = errRefused
		}
		check(t, err, "", want)
		if refused := err != nil; refused == (format == decoders.Datafile) || refused == (during > 0) {
			t.Errorf("limit %d: %v, %d bytes taken", limit, format, during)
		}
		_ = file.Close()
		h.nothing(t)
	}
}

// TestReport: a report takes memory of its decoder meanwhile, and gives it back.
func TestReport(t *testing.T) {
	h := build(t, admission.Amounts{admission.Streams: 10, admission.Memory: enough})
	for _, name := range []string{"game", "demo", "map"} {
		file, err := source.OpenLocal(filepath.Join(h.dir, name), source.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var during int64
		report, err := h.Report(h.call(t), file, nil, func() error {
			during = h.admission.Taken(admission.Memory)
			return nil
		})
		if err != nil || report == nil || name == "demo" && during == 0 {
			t.Errorf("%s: %v, %v, %d bytes were taken", name, report, err, during)
		}
		_ = file.Close()
		h.nothing(t)
	}
}

// TestPacked: the report and the description of a compressed map take the memory of the unpacked one.
func TestPacked(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "large.map")
	sample := decodertest.Sample(t, "datafile", "sample.map")
	data := slices.Concat(sample, make([]byte, 1<<20))
	for path, b := range map[string][]byte{plain: data, plain + ".gz": decodertest.Gzip(t, data)} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		h := build(t, admission.Amounts{admission.Streams: 10, admission.Memory: datafile.Codec.Cost(int64(len(data))) - 1})
		for _, refused := range []func(*source.File) error{
			func(file *source.File) error {
				_, err := h.Report(h.call(t), file, nil, func() error { return nil })
				return err
			},
			func(file *source.File) error {
				_, err := opened.Describe(h.call(t), file, describe.Replay)
				return err
			},
		} {
			file, err := source.OpenLocal(path, source.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			check(t, refused(file), "", errRefused)
			_ = file.Close()
			h.nothing(t)
		}
	}
}

// TestFedDecoders: followers of a live demo give back the memory of their own decoders, once one decodes for all.
func TestFedDecoders(t *testing.T) {
	const followers = 8
	h := build(t, admission.Amounts{admission.Memory: 1 << 30})
	live := filepath.Join(h.dir, "live")
	data := decodertest.Sample(t, "dem/teamfight.dem")
	if err := os.WriteFile(live, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(h.call(t))
	var all sync.WaitGroup
	for range followers {
		c, err := h.Open(ctx, &replaydv1.StreamEventsRequest{Replay: "r/live", Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		c.MaxEvents, c.Heartbeat = 512, time.Minute
		all.Go(func() {
			if err := stream.Run(ctx, c, func(f *frame.Frame) error { f.Free(); return nil }); !errors.Is(err, context.Canceled) {
				t.Errorf("a stream ended: %v", err)
			}
		})
	}
	one := dem.Codec.Cost(int64(len(data)))
	for h.admission.Taken(admission.Memory) > 2*one { // the feed's
		time.Sleep(time.Millisecond)
	}
	cancel()
	all.Wait()
	if n := h.admission.Taken(admission.Memory); n != 0 {
		t.Errorf("%d bytes are still taken", n)
	}
}
