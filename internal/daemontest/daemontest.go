// Package daemontest runs a daemon in a test's own process. Tests of clients use it, so that clients/ imports nothing of
// the daemon.
package daemontest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/watch"
)

// Daemon is a daemon on a TCP address of its own. It can be stopped and started again there. Its methods are called by
// one goroutine at a time.
type Daemon struct {
	// Addr is the daemon's address. The first Start sets it, and it stays.
	Addr string

	root, dir string
	stop      func() error
	listener  *cuttable
}

// New returns a daemon with one root, of that alias, on a directory. It is not started.
func New(root, dir string) *Daemon { return &Daemon{root: root, dir: dir} }

// Start starts the daemon, again at the address that it had.
func (d *Daemon) Start() error {
	cat, err := catalog.New([]catalog.Root{{Alias: d.root, Dir: d.dir}}, catalog.Options{})
	if err != nil {
		return err
	}
	watcher, err := watch.New(watch.Options{Interval: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cmp.Or(d.Addr, "127.0.0.1:0"))
	if err != nil {
		return errors.Join(err, watcher.Close())
	}
	server, err := service.NewServer(service.Config{
		Catalog: cat, Watcher: watcher, Version: "test", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return errors.Join(err, listener.Close(), watcher.Close())
	}
	d.Addr = listener.Addr().String()
	d.listener = &cuttable{Listener: listener}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- service.NewDaemon(server, nil).Serve(ctx, d.listener, nil, nil, 5*time.Second) }()
	d.stop = sync.OnceValue(func() error {
		cancel()
		err := <-served
		if errors.Is(err, net.ErrClosed) { // by Kill
			err = nil
		}
		return errors.Join(err, watcher.Close())
	})
	return nil
}

// Stop drains the daemon, waits until it has ended, and returns the error that it ended with. Stopping it again does
// nothing.
func (d *Daemon) Stop() error { return d.stop() }

// Kill resets all connections before the daemon can end its streams, as if its machine had crashed, and then stops it.
func (d *Daemon) Kill() error {
	d.listener.cut()
	return d.stop()
}

// cuttable is a listener whose connections can be reset all at once.
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
