package work

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/replayd/replayd/fleet/queue"
)

// metrics holds a worker's metrics, and the queue's, for which it asks the queue.
type metrics struct {
	running  prometheus.Gauge
	attempts *prometheus.CounterVec
	failures *prometheus.CounterVec
	seconds  prometheus.Histogram
	read     prometheus.Counter
	events   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, q *queue.Queue) *metrics {
	m := &metrics{
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "replayd", Name: "work_running", Help: "Jobs that this worker is doing.",
		}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "replayd", Name: "work_attempts_total",
			Help: "Attempts of this worker to do a job, by result: done, there (was done before), failed, retried, released (the worker ended), lost (another worker has it, or it was cancelled), abandoned.",
		}, []string{"result"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "replayd", Name: "work_failures_total", Help: "Attempts of this worker that failed or are to be retried, by reason.",
		}, []string{"reason"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "replayd", Name: "work_seconds", Help: "Time that attempts took.", Buckets: prometheus.ExponentialBuckets(0.01, 3, 12),
		}),
		read: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "replayd", Name: "work_read_bytes_total", Help: "Bytes of replays that this worker has read.",
		}),
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "replayd", Name: "work_events_total", Help: "Events that this worker has exported.",
		}),
	}
	reg.MustRegister(m.running, m.attempts, m.failures, m.seconds, m.read, m.events, queueCollector{q})
	return m
}

// done counts an attempt.
func (m *metrics) done(result string, r *queue.Record, took time.Duration) {
	m.attempts.WithLabelValues(result).Inc()
	m.seconds.Observe(took.Seconds())
	if (result == resultFailed || result == resultRetried) && r.Reason != "" {
		m.failures.WithLabelValues(r.Reason).Inc()
	}
}

// queueCollector asks NATS when metrics are collected.
type queueCollector struct{ q *queue.Queue }

var (
	queueUp      = prometheus.NewDesc("replayd_queue_up", "Whether NATS answered.", nil, nil)
	queueJobs    = prometheus.NewDesc("replayd_queue_jobs", "Jobs that are queued or worked on, by priority.", []string{"priority"}, nil)
	queueTenants = prometheus.NewDesc("replayd_queue_tenants", "Tenants with such jobs, by priority.", []string{"priority"}, nil)
	queueOldest  = prometheus.NewDesc("replayd_queue_oldest_seconds", "Age of the oldest such job, by priority; 0 if there is none.", []string{"priority"}, nil)
)

// Describe implements prometheus.Collector.
func (queueCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{queueUp, queueJobs, queueTenants, queueOldest} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c queueCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	lines, err := c.q.Lines(ctx)
	if err != nil {
		to <- prometheus.MustNewConstMetric(queueUp, prometheus.GaugeValue, 0)
		return
	}
	to <- prometheus.MustNewConstMetric(queueUp, prometheus.GaugeValue, 1)
	for _, p := range []queue.Priority{queue.High, queue.Normal, queue.Low} {
		jobs, tenants := uint64(0), 0
		for _, l := range lines {
			if l.Priority == p {
				jobs += l.Jobs
				tenants++
			}
		}
		age := 0.0
		if since, err := c.q.Oldest(ctx, p); err == nil && !since.IsZero() {
			age = time.Since(since).Seconds()
		}
		to <- prometheus.MustNewConstMetric(queueJobs, prometheus.GaugeValue, float64(jobs), string(p))
		to <- prometheus.MustNewConstMetric(queueTenants, prometheus.GaugeValue, float64(tenants), string(p))
		to <- prometheus.MustNewConstMetric(queueOldest, prometheus.GaugeValue, age, string(p))
	}
}
