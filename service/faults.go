package service

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"github.com/replayd/replayd/decoders"
)

// faults counts what goes wrong, for whoever watches the daemon.
type faults struct {
	errors   *prometheus.CounterVec
	decoders *prometheus.CounterVec
	received prometheus.Counter
	uploads  prometheus.Gauge
}

func newFaults() *faults {
	return &faults{
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "replayd", Name: "errors_total", Help: "Calls that failed, by the reason that clients were told, or else by the code.",
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
	}
}

// count counts a call's error, and the status that was made of it.
func (f *faults) count(err, told error) {
	if told == nil {
		return
	}
	s := status.Convert(told)
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
