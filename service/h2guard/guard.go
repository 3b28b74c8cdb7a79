// Package h2guard closes HTTP/2 connections that send abusive frames. Such frames cost the server much and the sender nothing.
// gRPC has no hook for that. So the guard counts frame headers where the bytes are read, after TLS.
//
// It counts all frames (RFC 9113) but those that carry requests: HEADERS, and DATA frames that are not tiny. Each kind of frame
// has a leaky bucket, which allows a rate and a burst. Well-behaved clients stay far below the limits. Two kinds answer what the
// server sends, so for each DATA frame that it writes some of them are free: gRPC's clients send a PING for a batch that they
// receive, to measure the connection, which can be thousands a second; and clients send WINDOW_UPDATE for what they read.
//
// The first bytes of a connection show whether it is HTTP/2. If it is not, the guard passes its bytes through unchanged.
//
//	guard.go        the connection, and what it counts
//	write.go        counts what the server writes, and writes more of it at once
//	frame.go        finds frames in bytes
//	request.go      the length of requests
//	credentials.go  connections of a daemon, with strikes for those that were closed (strikes.go)
package h2guard

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"time"
)

// Abuse is a kind of frame that is counted.
type Abuse string

// The kinds of counted frames.
const (
	Resets        Abuse = "resets"
	EmptyData     Abuse = "empty_data" // and does not end the stream
	TinyData      Abuse = "tiny_data"  // and does not end the stream
	Settings      Abuse = "settings"   // and their acknowledgements
	Pings         Abuse = "pings"      // and their acknowledgements
	Priorities    Abuse = "priorities"
	Updates       Abuse = "window_updates"
	Continuations Abuse = "continuations"
	Others        Abuse = "others" // of types that the server does not use
)

// rate is the number of frames of one kind that are allowed per second and at once. Each DATA frame that the server has written
// allows free more, of which saved are kept for later.
type rate struct {
	second, burst float64
	free, saved   int64
}

var rates = map[Abuse]rate{
	Resets:        {second: 200, burst: 1000},
	EmptyData:     {second: 20, burst: 200},
	TinyData:      {second: 1000, burst: 20_000, free: 1, saved: 20_000}, // see common
	Settings:      {second: 2, burst: 20},
	Pings:         {second: 2, burst: 50, free: 1, saved: 1000},
	Priorities:    {second: 10, burst: 200},
	Updates:       {second: 200, burst: 2000, free: 8, saved: 100_000},
	Continuations: {second: 20, burst: 200},
	Others:        {second: 20, burst: 200},
}

// tiny is the length below which a DATA frame is tiny. A server keeps up to 100 bytes beside each frame that waits to be read.
const tiny = 64

// leastBurst is the smallest burst of each kind, even after strikes. A client sends SETTINGS when it connects, acknowledges
// those of the server, and perhaps sends them once more.
const leastBurst = 4

// ErrAbused means that a connection was closed because of abuse. Read returns it.
var ErrAbused = errors.New("the connection is abused")

var preface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// Conn is a connection that counts the HTTP/2 frames that are read from it.
type Conn struct {
	net.Conn // this and the next fields are those of Write, in one cache line

	out     frames       // this and held belong to Write
	held    *[]byte      // of frames, to be written; nil if there are none
	written atomic.Int64 // DATA frames
	starts  *starts      // nil if the length of requests is not limited
	plain   atomic.Bool  // the connection is not HTTP/2

	in      frames // belongs to Read
	abused  func(Abuse)
	share   float64 // bursts are divided by it
	full    buckets
	began   int // bytes of the preface that were read
	failure error
	calls   int    // frames of the current Read that start, finish or reset a request
	rest    []byte // bytes that were read, for the next Read to return
	room    []byte // the buffer that rest is part of
}

// maxCalls is how many frames that start, finish or reset a request one Read returns. The next Read yields the processor
// first, so that those calls and other connections can run. Otherwise a client that starts or resets hundreds of calls at once
// would block all others until those calls are handled.
const maxCalls = 4

// New returns a connection that closes itself when it is abused. It then calls abused once.
func New(conn net.Conn, abused func(Abuse)) *Conn { return newConn(conn, 1, abused) }

// newConn is like New, with 1/share of the usual bursts.
func newConn(conn net.Conn, share int, abused func(Abuse)) *Conn {
	return &Conn{Conn: conn, abused: abused, share: float64(share), full: buckets{}}
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	if c.failure != nil {
		return 0, c.failure
	}
	var n int
	var err error
	if len(c.rest) > 0 {
		runtime.Gosched()
		n = copy(p, c.rest)
		c.rest = c.rest[n:]
	} else {
		n, err = c.Conn.Read(p)
	}
	if c.plain.Load() {
		return n, err
	}
	c.calls = 0
	looked, sort := c.scan(p[:n])
	if sort != "" {
		c.failure = ErrAbused
		c.abused(sort)
		_ = c.Close()
		return 0, ErrAbused
	}
	if looked < n {
		c.keep(p[looked:n])
		err = nil // the connection's next Read returns it again
	}
	return looked, err
}

// keep puts b in front of the bytes that the next Read returns.
func (c *Conn) keep(b []byte) {
	if len(c.rest) == 0 {
		c.room = append(c.room[:0], b...)
		c.rest = c.room
		return
	}
	// b was copied from the bytes directly before rest, and they are still in room.
	c.rest = c.room[len(c.room)-len(c.rest)-len(b):]
}

// TLS returns the TLS state of the guarded connection. It returns nil before the handshake and for a connection without TLS.
func (c *Conn) TLS() *tls.ConnectionState {
	secured, ok := c.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	state := secured.ConnectionState()
	if !state.HandshakeComplete {
		return nil
	}
	return &state
}

// scan counts the frames in b and stops after maxCalls frames that start, finish or reset a request. It returns how many bytes
// it scanned, and the kind of frame that exceeded its limit, if any.
func (c *Conn) scan(b []byte) (looked int, tooMuch Abuse) {
	all := len(b)
	if c.began < len(preface) {
		n := min(len(b), len(preface)-c.began)
		if !bytes.Equal(b[:n], preface[c.began:c.began+n]) {
			c.plain.Store(true)
			return all, ""
		}
		c.began += n
		b = b[n:]
	}
	for len(b) > 0 {
		if c.calls == maxCalls && c.in.between() {
			return all - len(b), ""
		}
		before := b
		var whole bool
		b, whole = c.in.next(b)
		if c.starts != nil {
			c.starts.look(&c.in, whole, before[:len(before)-len(b)])
		}
		if !whole {
			continue
		}
		if sort := c.in.sort(); sort != "" && !c.full.admit(sort, c.share, c.written.Load(), time.Now()) {
			return all, sort
		}
		if c.in.setsGoing() {
			c.calls++
		}
	}
	return all, ""
}

// buckets holds the leaky bucket of each kind of frame.
type buckets map[Abuse]*bucket

type bucket struct {
	level

	had    int64   // the free frames that were used or not kept
	common *common // also counts the frames, for all connections of the address; may be nil
}

// level is how full a bucket is.
type level struct {
	full float64
	at   time.Time
}

// now returns how full the bucket is. second leaks out in a second.
func (l *level) now(second float64, now time.Time) float64 {
	return max(l.full-max(now.Sub(l.at).Seconds(), 0)*second, 0) // the clock may be set back
}

func (l *level) add(second float64, now time.Time) {
	l.full = l.now(second, now) + 1
	l.at = now
}

// admit counts a frame, and reports whether it is within 1/share of the usual burst. written is how many DATA frames the server
// has written on the connection so far.
func (b buckets) admit(sort Abuse, share float64, written int64, now time.Time) bool {
	one, r := b[sort], rates[sort]
	if one == nil {
		one = &bucket{level: level{at: now}}
		b[sort] = one
	}
	paid := written * r.free
	one.had = max(one.had, paid-r.saved)
	if one.had < paid {
		one.had++
		return true
	}
	if one.common != nil {
		one.common.add(r.second, now)
	}
	one.add(r.second, now)
	return one.full <= max(r.burst/share, leastBurst)
}
