// Package natsserver runs a NATS server with JetStream in this process, for the queue of one machine and for tests.
package natsserver

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Options are those of Start.
type Options struct {
	// Dir is where JetStream stores its streams.
	Dir string
	// URL is nats://HOST:PORT to listen on. The host is one of this machine's loopback addresses: others need a server with TLS and
	// accounts of its own.
	URL string
	// User and Password are asked of clients, if they are not empty.
	User, Password string
	// Sync writes each message through to the disk before it is acknowledged, so that none is lost with the power.
	Sync bool
}

// Start starts a server. The caller stops it.
func Start(o Options) (stop func(), err error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "nats" {
		return nil, errors.New("want nats://HOST:PORT")
	}
	port, err := strconv.Atoi(u.Port())
	if ip := net.ParseIP(u.Hostname()); err != nil || u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, errors.New("the server in this process listens on 127.0.0.1:PORT or [::1]:PORT only; start a NATS server for other machines")
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "replayd", Host: u.Hostname(), Port: port, JetStream: true, StoreDir: o.Dir, Username: o.User, Password: o.Password,
		NoLog: true, NoSigs: true, SyncAlways: o.Sync, JetStreamMaxMemory: 64 << 20, MaxPayload: 1 << 20,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		s.Shutdown()
		return nil, errors.New("the server of NATS did not start: is the port in use, or the directory another server's?")
	}
	return func() { s.Shutdown(); s.WaitForShutdown() }, nil
}
