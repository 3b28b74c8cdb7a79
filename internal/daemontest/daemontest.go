// Package daemontest runs a daemon in the process of a test. Tests of clients use it, so that clients/ does not import the daemon's
// packages.
package daemontest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/playcast"
	"github.com/replayd/replayd/service/watch"
)

// Daemon is a daemon on a TCP address. It can be stopped and started again at the same address. Its methods must not be called
// concurrently.
type Daemon struct {
	// Addr is the daemon's address. The first Start sets it, and it does not change afterwards.
	Addr string
	// Index is the file of its index; empty keeps the index in memory.
	Index string
	// Subscriptions is the file of named subscriptions; empty keeps none.
	Subscriptions string
	// Broadcasts is a pattern of the broadcasts that clients may name; empty allows none. Their files are below "tv" in the root.
	Broadcasts string

	root, dir string
	stop      func() error
	listener  *cuttable
}

// New returns a daemon that serves a directory as its only root, under an alias. It is not started.
func New(root, dir string) *Daemon { return &Daemon{root: root, dir: dir} }

// Start starts the daemon, at its previous address if it was started before.
func (d *Daemon) Start() error {
	cat, err := catalog.New([]catalog.Root{{Alias: d.root, Dir: d.dir}}, catalog.Options{})
	if err != nil {
		return err
	}
	watcher, err := watch.New(watch.Options{Interval: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", cmp.Or(d.Addr, "127.0.0.1:0"))
	if err != nil {
		return errors.Join(err, watcher.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	var follower *playcast.Follower
	if d.Broadcasts != "" {
		allow, err := playcast.ParsePattern(d.Broadcasts)
		if err != nil {
			cancel()
			return errors.Join(err, listener.Close(), watcher.Close())
		}
		follower = playcast.NewFollower(ctx, playcast.FollowerOptions{
			Dir: filepath.Join(d.dir, "tv"), Name: d.root + "/tv", Allow: []playcast.Pattern{allow},
			Like: playcast.Match{Pace: time.Millisecond, Log: slog.New(slog.DiscardHandler)},
		})
	}
	config := service.Config{
		Broadcasts: follower,
		Catalog:    cat, Watcher: watcher, Version: "test", IndexPath: d.Index, Log: slog.New(slog.DiscardHandler),
	}
	config.Subscriptions.Path = d.Subscriptions
	server, err := service.NewServer(config)
	if err != nil {
		cancel()
		return errors.Join(err, listener.Close(), watcher.Close())
	}
	d.Addr = listener.Addr().String()
	d.listener = &cuttable{Listener: listener}
	served := make(chan error, 1)
	go func() { served <- service.NewDaemon(server, nil).Serve(ctx, d.listener, nil, nil, 5*time.Second) }()
	d.stop = sync.OnceValue(func() error {
		cancel()
		err := <-served
		if follower != nil {
			follower.Wait()
		}
		if errors.Is(err, net.ErrClosed) { // by Kill
			err = nil
		}
		return errors.Join(err, watcher.Close())
	})
	return nil
}

// Stop drains the daemon, waits until it has ended, and returns its error. Stopping a stopped daemon does nothing.
func (d *Daemon) Stop() error { return d.stop() }

// Kill resets all connections and then stops the daemon, so that it cannot end its streams. To clients this looks like a crash.
func (d *Daemon) Kill() error {
	d.listener.cut()
	return d.stop()
}

// cuttable is a listener whose connections can all be reset together.
type cuttable struct {
	net.Listener

	mu    sync.Mutex
	conns []*net.TCPConn
}

// Accept implements net.Listener.
func (l *cuttable) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.conns = append(l.conns, tcp)
	}
	return conn, err
}

// cut closes the listener and resets all its connections.
func (l *cuttable) cut() {
	_ = l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
}
