// Package h2guard closes HTTP/2 connections that send abusive frames. Such frames cost the server much and the sender nothing.
// gRPC has no hook for that. So the guard counts frame headers where the bytes are read, after TLS.
//
// It counts RST_STREAM, SETTINGS, PRIORITY, WINDOW_UPDATE and CONTINUATION frames (RFC 9113), and DATA frames that are empty
// and do not end the stream. Each kind of frame has a leaky bucket, which allows a rate and a burst. Well-behaved clients
// stay far below the limits: they send a WINDOW_UPDATE for some kilobytes that they read. PING frames are not counted.
// gRPC's clients send one for each batch that they receive, to measure the connection. That can be thousands a second. gRPC
// itself closes connections that send PING frames without need.
//
// The first bytes of a connection show whether it is HTTP/2. If it is not, the guard passes its bytes through unchanged.
package h2guard

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"time"
)

// Frame types.
const (
	typeData         = 0x0
	typeHeaders      = 0x1
	typePriority     = 0x2
	typeReset        = 0x3
	typeSettings     = 0x4
	typeWindowUpdate = 0x8
	typeContinuation = 0x9

	flagEndStream = 0x1
	flagAck       = 0x1
)

// Abuse is a kind of frame that is counted.
type Abuse string

// The kinds of counted frames.
const (
	Resets        Abuse = "resets"
	EmptyData     Abuse = "empty_data"
	Settings      Abuse = "settings"
	Priorities    Abuse = "priorities"
	Updates       Abuse = "window_updates"
	Continuations Abuse = "continuations"
)

// rate is how many frames of one kind are allowed per second and at once.
type rate struct{ second, burst float64 }

var rates = map[Abuse]rate{
	Resets:        {200, 1000},
	EmptyData:     {20, 200},
	Settings:      {2, 20},
	Priorities:    {10, 200},
	Updates:       {100_000, 200_000},
	Continuations: {20, 200},
}

// leastBurst is the smallest burst of each kind, even after strikes. A client sends SETTINGS when it connects, and perhaps once
// more.
const leastBurst = 4

// ErrAbused means that a connection was closed because of abuse. Read returns it.
var ErrAbused = errors.New("the connection is abused")

var preface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// Conn is a connection that counts the HTTP/2 frames that are read from it.
type Conn struct {
	net.Conn

	abused  func(Abuse)
	share   float64 // bursts are divided by it
	full    buckets
	began   int  // bytes of the preface that were read
	plain   bool // not HTTP/2
	head    [9]byte
	have    int   // bytes of head that were read
	left    int64 // bytes of the frame's payload that were not read
	failure error
	calls   int    // frames of the current Read that start, finish or reset a request
	rest    []byte // bytes that were read and that the next Read returns
	room    []byte // the buffer that rest is part of
}

// maxCalls is how many frames that start, finish or reset a request one Read returns. The next Read yields the processor
// first, so that those calls and other connections can run. Otherwise a client that starts or resets hundreds of calls at once
// would block all others until those calls are handled.
const maxCalls = 4

// New returns a connection that closes itself when it is abused. It then calls abused once.
func New(conn net.Conn, abused func(Abuse)) *Conn { return newConn(conn, 1, abused) }

// newConn is New with 1/share of the usual bursts.
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
	if c.plain {
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
			c.plain = true
			return all, ""
		}
		c.began += n
		b = b[n:]
	}
	for len(b) > 0 {
		if c.left > 0 {
			n := min(c.left, int64(len(b)))
			c.left -= n
			b = b[n:]
			continue
		}
		if c.calls == maxCalls && c.have == 0 {
			return all - len(b), ""
		}
		n := copy(c.head[c.have:], b)
		c.have += n
		b = b[n:]
		if c.have < len(c.head) {
			return all, ""
		}
		c.have = 0
		c.left = int64(c.head[0])<<16 | int64(c.head[1])<<8 | int64(c.head[2])
		if sort := sortOf(c.head[3], c.head[4], c.left); sort != "" && !c.full.admit(sort, c.share, time.Now()) {
			return all, sort
		}
		if setsGoing(c.head[3], c.head[4]) {
			c.calls++
		}
	}
	return all, ""
}

// setsGoing reports whether a frame starts a request, finishes it or resets it.
func setsGoing(kind, flags byte) bool {
	return kind == typeHeaders || kind == typeReset || kind == typeData && flags&flagEndStream != 0
}

// sortOf returns the kind under which a frame is counted, and "" for a frame that is not counted.
func sortOf(kind, flags byte, length int64) Abuse {
	switch kind {
	case typeData:
		if length == 0 && flags&flagEndStream == 0 {
			return EmptyData
		}
	case typeReset:
		return Resets
	case typeSettings:
		if flags&flagAck == 0 {
			return Settings
		}
	case typePriority:
		return Priorities
	case typeWindowUpdate:
		return Updates
	case typeContinuation:
		return Continuations
	}
	return ""
}

// buckets holds the leaky bucket of each kind of frame.
type buckets map[Abuse]*bucket

type bucket struct {
	full float64
	at   time.Time
}

// admit counts a frame, and reports whether it is within 1/share of the usual burst.
func (b buckets) admit(sort Abuse, share float64, now time.Time) bool {
	one, r := b[sort], rates[sort]
	if one == nil {
		one = &bucket{at: now}
		b[sort] = one
	}
	one.full = max(one.full-max(now.Sub(one.at).Seconds(), 0)*r.second, 0) + 1 // the clock may be set back
	one.at = now
	return one.full <= max(r.burst/share, leastBurst)
}
