package service_test

import (
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// meter is the sum of a metric, of one method where that is not empty.
func (d *daemon) meter(t *testing.T, name, method string) (sum float64) {
	t.Helper()
	families, err := d.meters.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			of := ""
			for _, label := range m.GetLabel() {
				if label.GetName() == "grpc_method" {
					of = label.GetValue()
				}
			}
			if of == method {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// TestMetrics: what docs/operations.md says is counted.
func TestMetrics(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	if _, err := d.client.GetServerInfo(timeout(t), &replaydv1.GetServerInfoRequest{}); err != nil {
		t.Fatal(err)
	}
	s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: copyIn(t, dir, finishedSample)}, nil)
	check(t, streamtest.History{s}, []streamtest.Replay{offline(t, finishedSample, nil)}, streamtest.Options{})
	bytes := 0
	for _, r := range s.Responses {
		bytes += len(r)
	}
	for _, test := range []struct {
		name, method string
		want         int
	}{
		{"replayd_sent_bytes_total", "", bytes},
		{"replayd_sent_responses_total", "", len(s.Responses)},
		{"grpc_server_started_total", "StreamEvents", 1},
		{"grpc_server_handled_total", "StreamEvents", 1},
		{"grpc_server_msg_sent_total", "StreamEvents", 0},
		{"grpc_server_msg_sent_total", "GetServerInfo", 1},
	} {
		if got := d.meter(t, test.name, test.method); got != float64(test.want) {
			t.Errorf("%s %s is %v, want %d", test.name, test.method, got, test.want)
		}
	}
}
