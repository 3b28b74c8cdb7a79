package command

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// stoppingDaemon sends the same responses to every caller, and then returns the error.
type stoppingDaemon struct {
	replaydv1.UnimplementedReplayServiceServer

	responses []*replaydv1.StreamEventsResponse
	err       error
}

func (d *stoppingDaemon) StreamEvents(
	_ *replaydv1.StreamEventsRequest, out grpc.ServerStreamingServer[replaydv1.StreamEventsResponse],
) error {
	for _, r := range d.responses {
		if err := out.Send(r); err != nil {
			return err
		}
	}
	return d.err
}

// TestInterruptedStream checks that a stream that the daemon interrupts has an exit code of its own, and that the cursor to
// resume it is printed.
func TestInterruptedStream(t *testing.T) {
	t.Parallel()
	start := &replaydv1.StreamEventsResponse{
		Cursor: []byte("start"), Response: &replaydv1.StreamEventsResponse_Start{Start: &replaydv1.StreamStart{}},
	}
	sign := &replaydv1.StreamEventsResponse{
		Cursor: []byte("sign"), Response: &replaydv1.StreamEventsResponse_Heartbeat{Heartbeat: &replaydv1.Heartbeat{}},
	}
	end := func(reason replaydv1.EndReason) *replaydv1.StreamEventsResponse {
		return &replaydv1.StreamEventsResponse{
			Cursor: []byte("end"), Response: &replaydv1.StreamEventsResponse_End{End: &replaydv1.StreamEnd{Reason: reason}},
		}
	}
	list := func(r ...*replaydv1.StreamEventsResponse) []*replaydv1.StreamEventsResponse { return r }
	lost := status.Error(codes.Unavailable, "gone")
	for _, test := range []struct {
		name   string
		daemon stoppingDaemon
		code   int
		stderr string
	}{
		{
			"finished", stoppingDaemon{responses: list(start, sign, end(replaydv1.EndReason_END_REASON_FINISHED))},
			ExitOK, "",
		}, {
			"drained", stoppingDaemon{responses: list(start, sign, end(replaydv1.EndReason_END_REASON_SERVER_DRAINING))},
			ExitLost, "replayd: the daemon is shutting down\nreplayd: resume with --cursor ZW5k\n",
		}, {
			"without an end", stoppingDaemon{responses: list(start, sign)},
			ExitLost, "replayd: the stream stopped without an end\nreplayd: resume with --cursor c2lnbg\n",
		}, {
			"lost", stoppingDaemon{responses: list(start, sign), err: lost},
			ExitLost, "replayd: gone\nreplayd: resume with --cursor c2lnbg\n",
		}, {
			"lost after the start", stoppingDaemon{responses: list(start), err: lost},
			ExitLost, "replayd: gone\nreplayd: resume with --cursor c3RhcnQ\n",
		}, {
			"refused", stoppingDaemon{responses: list(start, sign), err: status.Error(codes.DataLoss, "damaged")},
			ExitCorrupt, "replayd: any: damaged\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := grpc.NewServer()
			replaydv1.RegisterReplayServiceServer(server, &test.daemon)
			served := make(chan error, 1)
			go func() { served <- server.Serve(l) }()
			defer func() {
				server.Stop()
				if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
					t.Error(err)
				}
			}()
			var out, notes bytes.Buffer
			code := replayd.Run(t.Context(), []string{"cat", "--addr", l.Addr().String(), "any"}, Console{strings.NewReader(""), &out, &notes})
			if code != test.code || notes.String() != test.stderr {
				t.Errorf("exit code %d and %q; want %d and %q", code, &notes, test.code, test.stderr)
			}
		})
	}
}

// TestPassedOn: responses of this process that are only passed on are those of the file, and what is noted of them is what others note.
func TestPassedOn(t *testing.T) {
	for kind, note := range map[string]string{"tick": "", "voice": "replayd: no event matches\n"} {
		var out, notes bytes.Buffer
		args := []string{"cat", "--format", "proto", "--with-state", "--kind", kind, "../../../testdata/dem/cs2.dem"}
		if code := replayd.Run(t.Context(), args, Console{strings.NewReader(""), &out, &notes}); code != 0 || notes.String() != note {
			t.Errorf("%s: exit code %d and %q, want %q", kind, code, &notes, note)
		}
		each := func(client.Response) error { return nil }
		passed, parsed := streaming{each: each}, streaming{each: each}
		for rest := out.Bytes(); len(rest) > 0; {
			size, n := binary.Uvarint(rest)
			wire := rest[n : n+int(size)]
			rest = rest[n+int(size):]
			r, err := client.ParseResponse(wire)
			if err := errors.Join(err, passed.pass(wire), parsed.response(r)); err != nil {
				t.Fatal(err)
			}
			if passed.some != parsed.some || !bytes.Equal(passed.cursor, parsed.cursor) {
				t.Errorf("%s: events %t, cursor %x; want %t, %x", kind, passed.some, passed.cursor, parsed.some, parsed.cursor)
			}
		}
		if parsed.some != (note == "") || len(parsed.cursor) == 0 {
			t.Errorf("%s: events %t, cursor %x", kind, parsed.some, parsed.cursor)
		}
	}
}
