package replayd_test

import (
	"net"
	"testing"

	"google.golang.org/grpc"

	replayd "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// dropping is a daemon that drops all events of a stream, in two gaps.
type dropping struct {
	replaydv1.UnimplementedReplayServiceServer
}

func (dropping) StreamEvents(_ *replaydv1.StreamEventsRequest, out grpc.ServerStreamingServer[replaydv1.StreamEventsResponse]) error {
	gap := func(first, next uint64) *replaydv1.StreamEventsResponse {
		return &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Gap{Gap: &replaydv1.Gap{FirstSequence: first, NextSequence: next}}}
	}
	for _, r := range []*replaydv1.StreamEventsResponse{
		{Response: &replaydv1.StreamEventsResponse_Start{Start: &replaydv1.StreamStart{Replay: &replaydv1.Replay{Name: "a"}}}},
		gap(0, 5), gap(5, 12),
		{Response: &replaydv1.StreamEventsResponse_End{End: &replaydv1.StreamEnd{Reason: replaydv1.EndReason_END_REASON_FINISHED}}},
	} {
		if err := out.Send(r); err != nil {
			return err
		}
	}
	return nil
}

// TestMissed: the events of all gaps are counted.
func TestMissed(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	replaydv1.RegisterReplayServiceServer(server, dropping{})
	go server.Serve(listener)
	defer server.Stop()
	client, err := replayd.Dial(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	s := client.Stream(soon(t), &replaydv1.StreamEventsRequest{Replay: "a"})
	for _, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
	}
	if s.Missed() != 12 || s.End() == nil {
		t.Errorf("%d events are missed, want 12; the end is %v", s.Missed(), s.End())
	}
}
