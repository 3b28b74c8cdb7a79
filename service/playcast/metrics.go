package playcast

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what all matches of a process do. A nil Metrics counts nothing.
type Metrics struct {
	bodies *prometheus.CounterVec
	pushes *prometheus.CounterVec
	holes  prometheus.Counter
	match  prometheus.Gauge
}

// What came of a request for a body.
const (
	written = "written"
	absent  = "absent"  // not there yet
	failed  = "failed"  // the relay did not answer, or answered with an error
	corrupt = "corrupt" // it arrived damaged
)

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		bodies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "replayd", Name: "broadcast_bodies_total", Help: "Requests for parts of broadcasts, by what came of them.",
		}, []string{"result"}),
		pushes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "replayd", Name: "broadcast_pushes_total", Help: "Bodies that game servers pushed, by the status of the answer: 205 asks for the start.",
		}, []string{"code"}),
		holes: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "replayd", Name: "broadcast_holes_total", Help: "Recordings of broadcasts that ended before their match.",
		}),
		match: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "replayd", Name: "broadcast_matches", Help: "Broadcasts that are followed now.",
		}),
	}
	for _, result := range []string{written, absent, failed, corrupt} {
		m.bodies.WithLabelValues(result)
	}
	reg.MustRegister(m.bodies, m.pushes, m.holes, m.match)
	return m
}

func (m *Metrics) body(result string) {
	if m != nil {
		m.bodies.WithLabelValues(result).Inc()
	}
}

func (m *Metrics) hole() {
	if m != nil {
		m.holes.Inc()
	}
}

func (m *Metrics) run(n float64) {
	if m != nil {
		m.match.Add(n)
	}
}

func (m *Metrics) push(code int) {
	if m != nil {
		m.pushes.WithLabelValues(strconv.Itoa(code)).Inc()
	}
}
