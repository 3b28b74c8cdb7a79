package service

import "google.golang.org/grpc"

// Services returns the gRPC services that the daemon serves.
func (d *Daemon) Services() map[string]grpc.ServiceInfo { return d.grpc.GetServiceInfo() }
