// Package natsserver runs a NATS server with JetStream in this process, for the queue of one machine and for tests.
package natsserver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Options configure Start.
type Options struct {
	// Dir is the directory of JetStream's streams.
	Dir string
	// URL is the address to listen at, nats://HOST:PORT. The host is one of this machine's loopback addresses: others need a
	// server with TLS and accounts of its own.
	URL string
	// User and Password are required of clients unless they are empty.
	User, Password string
	// Sync writes each message to the disk before acknowledging it, so that a loss of power loses none.
	Sync bool
	// Failed is called from another goroutine with each error that makes the server start again. It may be nil.
	Failed func(error)
}

// Start starts a server. The caller stops it. When the server cannot write, for example to a full disk, it is started again each
// second until it can: a NATS server that failed to write refuses everything, even when there is room again.
func Start(o Options) (stop func(), err error) {
	s, err := start(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			err := watch(ctx, s)
			s.Shutdown()
			s.WaitForShutdown()
			for ; err != nil; s, err = start(o) {
				if o.Failed != nil {
					o.Failed(err)
				}
				if !pause(ctx) {
					return
				}
			}
			if ctx.Err() != nil {
				return
			}
		}
	})
	return func() { cancel(); wg.Wait() }, nil
}

// checkEvery is the time between two checks of the server's health.
const checkEvery = time.Second

func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(checkEvery):
		return true
	}
}

// watch returns the server's problem once two checks have found it, or nil when ctx ends.
func watch(ctx context.Context, s *server.Server) error {
	for failed := 0; pause(ctx); {
		health := s.Healthz(&server.HealthzOptions{})
		if health.Error == "" {
			failed = 0
		} else if failed++; failed == 2 {
			return fmt.Errorf("the server of NATS is not well: %s", health.Error)
		}
	}
	return nil
}

func start(o Options) (*server.Server, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "nats" {
		return nil, errors.New("want nats://HOST:PORT")
	}
	port, err := strconv.Atoi(u.Port())
	if ip := net.ParseIP(u.Hostname()); err != nil || u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, errors.New("the server in this process listens on 127.0.0.1:PORT or [::1]:PORT only; start a NATS server for other machines")
	}
	size, err := diskSize(o.Dir)
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "replayd", Host: u.Hostname(), Port: port, JetStream: true, StoreDir: o.Dir, Username: o.User, Password: o.Password,
		NoLog: true, NoSigs: true, SyncAlways: o.Sync, JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: size, MaxPayload: 1 << 20,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, errors.New("the server of NATS did not start: is the port in use, or the directory another server's?")
	}
	return s, nil
}

// diskSize returns the size of the disk of a directory, which it makes if necessary. Without a limit, a server takes three
// quarters of the space that is free when it starts; if that was nearly nothing, it refuses everything later.
func diskSize(dir string) (int64, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("the disk of %s: %w", dir, err)
	}
	return int64(min(stat.Blocks*uint64(stat.Bsize), math.MaxInt64)), nil // the type of a block's size differs between systems
}
