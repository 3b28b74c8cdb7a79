package service_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// meter returns the sum of a metric, only for method unless that is empty.
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

// sample returns the metrics as Prometheus reads them.
func (d *daemon) sample(t *testing.T) []string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(d.meters, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	return strings.Split(w.Body.String(), "\n")
}

// TestMetrics: the metrics that docs/operations.md describes are counted.
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
	for name, want := range map[string]int{"replayd_sent_bytes_total": bytes, "replayd_sent_responses_total": len(s.Responses)} {
		if got := d.meter(t, name, ""); got != float64(want) {
			t.Errorf("%s is %v, want %d", name, got, want)
		}
	}
	if err := uploadPieces(timeout(t), d.client, read(t, finishedSample), 1000); err != nil {
		t.Fatal(err)
	}
	bad := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name("nothing")}, nil)
	write(t, filepath.Join(dir, "corrupt.teehistorian"), corrupt(read(t, finishedSample)))
	worse := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name("corrupt.teehistorian")}, nil)
	if bad.Err == nil || worse.Err == nil {
		t.Fatal("no errors")
	}
	got := d.sample(t)
	for _, want := range []string{
		`replayd_errors_total{reason="REPLAY_NOT_FOUND"} 1`, `replayd_errors_total{reason="CORRUPT"} 1`,
		`replayd_decoder_faults_total{fault="corrupt",format="teehistorian"} 1`, "replayd_received_bytes_total 12392",
		"replayd_uploads 0", "replayd_feed_lag_bytes 0", `replayd_taken{resource="streams"} 0`, `replayd_limit{resource="streams"} 1024`,
		`replayd_refused_total{resource="memory",whose="all"} 0`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s among\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, test := range []struct {
		name, method string
		want         int
	}{
		{"grpc_server_started_total", "StreamEvents", 3},
		{"grpc_server_handled_total", "StreamEvents", 3},
		{"grpc_server_msg_sent_total", "StreamEvents", 0},
		{"grpc_server_msg_sent_total", "GetServerInfo", 1},
	} {
		if got := d.meter(t, test.name, test.method); got != float64(test.want) {
			t.Errorf("%s %s is %v, want %d", test.name, test.method, got, test.want)
		}
	}
}
