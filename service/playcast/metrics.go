package playcast

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what all matches of a process do. A nil Metrics counts nothing.
type Metrics struct {
	bodies *prometheus.CounterVec
	pushes *prometheus.CounterVec
	holes  prometheus.Counter
	match  prometheus.Gauge
	lags   [2]*lags
}

// Behind what a Match lags.
const (
	relayLag = iota
	gameLag
)

// lags has how far each Match is behind, in seconds.
type lags struct {
	mu  sync.Mutex
	now map[*Match]float64
}

// worst returns the largest one, 0 if there is none.
func (l *lags) worst() (most float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.now {
		most = max(most, s)
	}
	return most
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
	for i, of := range []string{relayLag: "relay", gameLag: "game"} {
		l := &lags{now: map[*Match]float64{}}
		m.lags[i] = l
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "replayd", Name: "broadcast_lag_seconds", ConstLabels: prometheus.Labels{"behind": of},
			Help: "How far the broadcast that is furthest behind lags, by what the relay said last.",
		}, l.worst))
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

// lag notes how far a Match is behind its relay and its game.
func (m *Metrics) lag(of *Match, behind [2]time.Duration) {
	if m == nil {
		return
	}
	for i, l := range m.lags {
		l.mu.Lock()
		l.now[of] = max(behind[i], 0).Seconds()
		l.mu.Unlock()
	}
}

// over forgets a Match that is over, or waits for the next one.
func (m *Metrics) over(of *Match) {
	if m == nil {
		return
	}
	for _, l := range m.lags {
		l.mu.Lock()
		delete(l.now, of)
		l.mu.Unlock()
	}
}

func (m *Metrics) push(code int) {
	if m != nil {
		m.pushes.WithLabelValues(strconv.Itoa(code)).Inc()
	}
}
