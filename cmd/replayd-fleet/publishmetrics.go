package main

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/replayd/replayd/fleet/publish"
)

// publishMetrics returns a registry with the metrics of a publisher.
func publishMetrics(s *publish.Stats, conn *nats.Conn) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, m := range []struct {
		name, help string
		value      func() uint64
	}{
		{"messages_total", "Messages that NATS has acknowledged.", s.Messages.Load},
		{"events_total", "Events in these messages.", s.Events.Load},
		{"bytes_total", "Bytes of the payloads of these messages.", s.Bytes.Load},
		{"others_total", "Times that another publisher was faster.", s.Others.Load},
		{"retries_total", "Requests that NATS refused or did not answer.", s.Retries.Load},
		{"failures_total", "Replays that ended with an error.", s.Failures.Load},
	} {
		o := prometheus.CounterOpts{Namespace: "replayd", Subsystem: "publish", Name: m.name, Help: m.help}
		reg.MustRegister(prometheus.NewCounterFunc(o, func() float64 { return float64(m.value()) }))
	}
	for _, m := range []struct {
		name, help string
		value      func() float64
	}{
		{"replays", "Replays that are being published.", func() float64 { return float64(s.Replays.Load()) }},
		{"connected", "1 while there is a connection to NATS.", func() float64 {
			if conn.IsConnected() {
				return 1
			}
			return 0
		}},
		{"waiting_seconds", "For how long NATS has taken no messages; 0 while it does.", func() float64 {
			if since := s.Waiting.Load(); since > 0 {
				return max(time.Since(time.Unix(since, 0)).Seconds(), 0)
			}
			return 0
		}},
		{"away", "Directories that wait for the daemon.", func() float64 { return float64(s.Away.Load()) }},
	} {
		o := prometheus.GaugeOpts{Namespace: "replayd", Subsystem: "publish", Name: m.name, Help: m.help}
		reg.MustRegister(prometheus.NewGaugeFunc(o, m.value))
	}
	return reg
}

// publishing returns an error that names what a publisher waits for, or nil.
func publishing(s *publish.Stats, conn *nats.Conn) error {
	switch {
	case !conn.IsConnected():
		return errors.New("NATS cannot be reached")
	case s.Waiting.Load() > 0:
		return errors.New("NATS takes no messages")
	case s.Away.Load() > 0:
		return errors.New("the daemon cannot be reached")
	}
	return nil
}
