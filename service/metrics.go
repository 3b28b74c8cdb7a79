package service

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/admission"
)

// register registers the server's metrics with Prometheus. None has a replay's name as a label: there are too many names.
func (s *Server) register(reg prometheus.Registerer) {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "replayd", Name: name, Help: help},
			func() float64 { return float64(value()) })
	}
	reg.MustRegister(
		s.sentBytes, s.sentResponses, s.unknown, s.guessed, s.opened.LateBytes(), s.failures.errors, s.failures.decoders, s.failures.received, s.failures.uploads, s.failures.bodies,
		gauge("streams", "Streams that run now.", func() int { return int(s.Admission.Taken(admission.Streams)) }),
		gauge("feeds", "Live replays that are decoded for all who follow them.", s.opened.Feeds),
		gauge("feed_lag_bytes", "Bytes of live replays that are there and not decoded yet: of that which has most.", s.opened.Behind),
		gauge("index_files", "Files that the index knows.", func() int { return s.index.Figures().Files }),
		gauge("index_identified", "Files of which the index knows what their beginning says.",
			func() int { return s.index.Figures().Identified }),
		gauge("index_surveyed", "Replays that the index has decoded.", func() int { return s.index.Figures().Surveyed }),
		gauge("named_subscriptions", "Subscriptions that are kept by name.", func() int { names, _ := s.subscriptions(); return names }),
		gauge("named_subscription_bytes", "Bytes of their checkpoints.", func() int { _, space := s.subscriptions(); return space }),
		gauge("checkpoint_bytes", "Memory that decoders' states take.", s.checkpoints.Bytes),
	)
}

func newSentBytes() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "replayd", Name: "sent_bytes_total", Help: "Bytes of responses of streams.",
	})
}

func newSentResponses() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "replayd", Name: "sent_responses_total", Help: "Responses of streams: batches and all others.",
	})
}

func newUnknown() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "replayd", Name: "unknown_records_announced_total",
		Help: "Streams of replays whose header announces kinds of records that this version does not know.",
	})
}

// noteUnknown counts a replay whose header announces unknown kinds of records. It logs each kind's name once.
func (s *Server) noteUnknown(r *replaydv1.Replay) {
	names := r.GetTeehistorian().GetUnknownExtensions()
	if len(names) == 0 {
		return
	}
	s.unknown.Inc()
	for _, name := range names[:min(len(names), maxUnknown)] {
		if s.warnings.Add(1) > maxWarnings {
			return
		}
		if _, known := s.warned.LoadOrStore(name, true); !known {
			s.Log.Warn("a server announces records that this version does not know; if there are any they come as unknown_ex",
				"record", name, "replay", r.GetName(), "server_version", r.GetTeehistorian().GetServerVersion())
		}
	}
}

// maxUnknown limits the logged names of one replay, and maxWarnings the logged names of all replays.
const (
	maxUnknown  = 16
	maxWarnings = 1000
)

// failureMetrics counts failed calls and replays that cannot be decoded, and measures uploads.
type failureMetrics struct {
	errors   *prometheus.CounterVec
	decoders *prometheus.CounterVec
	received prometheus.Counter
	uploads  prometheus.Gauge
	bodies   *prometheus.CounterVec
}

// The reasons why a request was refused on arrival.
const (
	refusedLong = "long"
	refusedLate = "late"
)

func newFailureMetrics() *failureMetrics {
	f := &failureMetrics{
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "replayd", Name: "errors_total", Help: "Calls that failed, by the reason in the error, or else by the code.",
		}, []string{"reason"}),
		decoders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "replayd", Name: "decoder_faults_total", Help: "Replays that could not be read to their end, by format and what was wrong with them.",
		}, []string{"format", "fault"}),
		received: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "replayd", Name: "received_bytes_total", Help: "Bytes of uploads.",
		}),
		uploads: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "replayd", Name: "uploads", Help: "Uploads that run now.",
		}),
		bodies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "replayd", Name: "refused_bodies_total", Help: "Requests that were refused as they arrived, by why: long or late.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{refusedLong, refusedLate} {
		f.bodies.WithLabelValues(reason)
	}
	return f
}

// count counts a call's error. sent is the status that the client got for it.
func (f *failureMetrics) count(err, sent error) {
	if sent == nil {
		return
	}
	s := status.Convert(sent)
	reason := s.Code().String()
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			reason = info.GetReason()
		}
	}
	f.errors.WithLabelValues(reason).Inc()
	decoding, ok := errors.AsType[*decoders.Error](err)
	if !ok {
		return
	}
	for _, kind := range []struct {
		err  error
		name string
	}{
		{decoders.ErrCorrupt, "corrupt"}, {decoders.ErrTruncated, "truncated"}, {decoders.ErrLimit, "limit"}, {decoders.ErrUnsupported, "unsupported"},
	} {
		if errors.Is(err, kind.err) {
			f.decoders.WithLabelValues(decoding.Format.String(), kind.name).Inc()
			return
		}
	}
}
