package service

import (
	"google.golang.org/grpc"

	"github.com/replayd/replayd/replay/codec"
)

// SetCodecs puts other codecs in place of the daemon's, until restore is called.
func SetCodecs(c ...*codec.Codec) (restore func()) {
	before := codecs
	codecs = c
	return func() { codecs = before }
}

// Services returns the gRPC services that the daemon serves.
func (d *Daemon) Services() map[string]grpc.ServiceInfo { return d.grpc.GetServiceInfo() }
