package service_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// processor returns the processor time of the process so far.
func processor() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkDoors streams a replay of 4 MB by each door: gRPC, HTTP, HTTP with the replay in the request, Flight. The processor time
// includes that of the client.
func BenchmarkDoors(b *testing.B) {
	data := teetest.Repeat(read(b, finishedSample), 4<<20)
	dir := b.TempDir()
	write(b, filepath.Join(dir, "long.teehistorian"), data)
	d := startPlain(b, dir)
	ctx := context.Background()
	replay := name("long.teehistorian")
	ticket, err := protojson.Marshal(&replaydv1.StreamEventsRequest{
		Replay: replay, Include: []*replaydv1.EventFilter{{Kinds: []string{"player_diff"}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	drain := func(resp answered) error {
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		_, err := io.Copy(io.Discard, resp.Body)
		return err
	}
	for door, stream := range map[string]func() error{
		"grpc": func() error {
			s, err := d.client.StreamEvents(ctx, &replaydv1.StreamEventsRequest{Replay: replay})
			for err == nil {
				_, err = s.Recv()
			}
			return err
		},
		"http": func() error {
			return drain(d.do(ctx, b, http.MethodGet, eventsPath(replay, ""), nil, http.NoBody))
		},
		"http-upload": func() error {
			return drain(d.do(ctx, b, http.MethodPost, "/v1/decode?kind=join", nil, bytes.NewReader(data[:4<<20-1<<10])))
		},
		"flight": func() error {
			s, err := flight.NewFlightServiceClient(d.conn).DoGet(ctx, &flight.Ticket{Ticket: ticket})
			for err == nil {
				_, err = s.Recv()
			}
			return err
		},
	} {
		b.Run(door, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			before := processor()
			for b.Loop() {
				if err := stream(); err != nil && !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processor()-before)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}
