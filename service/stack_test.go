package service

import (
	"context"
	"log/slog"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
)

// called is the stream of a call.
type called struct {
	grpc.ServerStream

	ctx context.Context //nolint:containedctx // of the call
}

func (c called) Context() context.Context { return c.ctx }

// TestHandlerStacks: the stack of a handler is larger than that of its call, so that it does not share pages with stacks that stay.
func TestHandlerStacks(t *testing.T) {
	cat, err := catalog.New([]catalog.Root{{Alias: "root", Dir: t.TempDir()}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(Config{Catalog: cat, Log: slog.New(slog.DiscardHandler), Admission: admission.New(admission.Limits{})})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection makes stacks smaller
	stacks := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	const calls, large = 500, 16 << 10
	before := stacks()
	var entered, ended sync.WaitGroup
	release := make(chan struct{})
	for range calls {
		entered.Add(1)
		ended.Go(func() {
			if err := s.detach(nil, called{ctx: t.Context()}, &grpc.StreamServerInfo{}, func(any, grpc.ServerStream) error {
				entered.Done()
				<-release
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	entered.Wait()
	each := (stacks() - before) / calls
	close(release)
	ended.Wait()
	if each < large {
		t.Errorf("a call and its handler have stacks of %d bytes", each)
	}
}
