package service

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
)

// register makes the server's figures known to Prometheus. None of them names a replay: names are many.
func (s *Server) register(reg prometheus.Registerer) {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "replayd", Name: name, Help: help},
			func() float64 { return float64(value()) })
	}
	reg.MustRegister(
		s.sentBytes, s.sentResponses, s.unknown, s.left.bytes, s.faults.errors, s.faults.decoders, s.faults.received, s.faults.uploads,
		gauge("streams", "Streams that run now.", func() int { return int(s.Admission.Taken(admission.Streams)) }),
		gauge("feeds", "Live replays that are decoded for all who follow them.", s.live.count),
		gauge("feed_lag_bytes", "Bytes of live replays that are there and not decoded yet: of that which has most.", s.live.behind),
		gauge("index_files", "Files that the index knows.", func() int { return s.index.Figures().Files }),
		gauge("index_identified", "Files of which the index knows what their beginning says.",
			func() int { return s.index.Figures().Identified }),
		gauge("index_surveyed", "Replays that the index has decoded.", func() int { return s.index.Figures().Surveyed }),
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

// described is told of each replay that is streamed. What its server can write and nobody here knows is worth a line in the
// log, once for each name.
func (s *Server) described(r *replaydv1.Replay) {
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

// maxUnknown is how many names of one replay the log may get, and maxWarnings of all.
const (
	maxUnknown  = 16
	maxWarnings = 1000
)

// patiently sends, and tells how long that takes.
func patiently[M any](ctx context.Context, send func(M) error) func(M) error {
	w := writingOf(ctx)
	return func(m M) error {
		w.begin()
		defer w.end()
		return send(m)
	}
}

// counted sends by a stream and counts what is sent.
func (s *Server) counted(ss grpc.ServerStream) stream.Send {
	send, use, w := sendMsg(ss), access.UseOf(ss.Context()), writingOf(ss.Context())
	return func(f *frame.Frame) error {
		n := f.Len() // sending consumes the frame
		w.begin()
		err := send(f)
		w.end()
		if err != nil {
			return err
		}
		s.sentBytes.Add(float64(n))
		use.Sent(n)
		s.sentResponses.Inc()
		return nil
	}
}
