package service

import (
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

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
		s.sentBytes, s.sentResponses,
		gauge("streams", "Streams that run now.", func() int { return len(s.slots) }),
		gauge("feeds", "Live replays that are decoded for all who follow them.", s.live.count),
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

// counted sends by a stream and counts what is sent.
func (s *Server) counted(ss grpc.ServerStream) stream.Send {
	send := sendMsg(ss)
	return func(f *frame.Frame) error {
		n := f.Len() // sending consumes the frame
		if err := send(f); err != nil {
			return err
		}
		s.sentBytes.Add(float64(n))
		s.sentResponses.Inc()
		return nil
	}
}
