package publish_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/fleet/publish"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

// later is a daemon of a later version: its cursors are as long as the API permits, and it fails behind the first batch.
type later struct {
	replaydv1.UnimplementedReplayServiceServer

	replay  *replaydv1.Replay
	event   *teehistorianv1.Event
	resumed chan []byte // the cursor of each stream
}

func (l *later) GetReplay(context.Context, *replaydv1.GetReplayRequest) (*replaydv1.GetReplayResponse, error) {
	return &replaydv1.GetReplayResponse{Replay: l.replay}, nil
}

// longest returns the cursor behind so many responses.
func longest(n byte) []byte { return bytes.Repeat([]byte{n}, 4096) }

func (l *later) StreamEvents(req *replaydv1.StreamEventsRequest, out grpc.ServerStreamingServer[replaydv1.StreamEventsResponse]) error {
	l.resumed <- req.GetStart().GetCursor()
	start := &replaydv1.StreamStart{Replay: l.replay}
	if err := out.Send(&replaydv1.StreamEventsResponse{Cursor: longest(1), Response: &replaydv1.StreamEventsResponse_Start{Start: start}}); err != nil {
		return err
	}
	if req.GetStart() == nil {
		batch := &replaydv1.EventBatch{NextSequence: 1, Offsets: []int64{100}, Events: &replaydv1.EventBatch_Teehistorian{
			Teehistorian: &teehistorianv1.EventList{Events: []*teehistorianv1.Event{l.event}},
		}}
		if err := out.Send(&replaydv1.StreamEventsResponse{Cursor: longest(2), Response: &replaydv1.StreamEventsResponse_Batch{Batch: batch}}); err != nil {
			return err
		}
	}
	return status.Error(codes.InvalidArgument, "enough")
}

// TestLongestCursor: beside the longest payload and a long name, the headers have room for a cursor of the largest promised size, from
// which another publisher goes on.
func TestLongestCursor(t *testing.T) {
	h := newHub(t)
	conn := connect(t, h.url)
	raw := bytes.Repeat([]byte{1}, int(conn.MaxPayload())-20<<10-400)
	l := &later{
		replay:  &replaydv1.Replay{Name: "root/" + strings.Repeat("ü", 1000), Identity: game, Format: replaydv1.Format_FORMAT_TEEHISTORIAN},
		event:   &teehistorianv1.Event{Kind: &teehistorianv1.Event_Message{Message: &teehistorianv1.Message{Raw: raw}}},
		resumed: make(chan []byte, 2),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	replaydv1.RegisterReplayServiceServer(server, l)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	c, err := client.Dial(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, want := range [][]byte{nil, longest(2)} {
		err := open(t, c, conn, publish.Options{Encoding: publish.Proto}).Replay(within(t), l.replay.GetName())
		if err == nil || !strings.Contains(err.Error(), "enough") {
			t.Fatal(err)
		}
		if got := <-l.resumed; !bytes.Equal(got, want) {
			t.Errorf("a cursor of %d bytes, want %d", len(got), len(want))
		}
	}
	all := messagesOf(t, conn, publish.DefaultStream, ">")
	if len(all) != 2 {
		t.Fatalf("%d messages", len(all))
	}
	for i, m := range all {
		if got, err := cursor.ParseText(m.Headers().Get(publish.HeaderCursor)); err != nil || !bytes.Equal(got, longest(byte(i+1))) {
			t.Errorf("message %d has a cursor of %d bytes: %v", i, len(got), err)
		}
	}
}
