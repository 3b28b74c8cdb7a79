// Package h2guard closes HTTP/2 connections that are abused: by frames that cost a server much and their sender nothing. gRPC
// has no hook for that, so the heads of frames are counted where they are read, behind TLS.
//
// What is counted (RFC 9113): streams that are begun and reset at once, DATA frames that are empty and end nothing,
// SETTINGS, PRIORITY and WINDOW_UPDATE frames, and CONTINUATION frames. Each sort has a bucket that leaks: so many a second, and
// so many at once, are fine. What clients do for good reasons is far below: a WINDOW_UPDATE for some kilobytes that
// they read. PING frames are not counted: gRPC's clients measure the connection by one for each batch that they get, thousands a
// second, and gRPC itself closes connections that send them without need.
//
// A connection that is not HTTP/2, which its first bytes show, is passed on as it is.
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

// Abuse is a sort of frames that are counted.
type Abuse string

// The sorts.
const (
	Resets        Abuse = "resets"
	EmptyData     Abuse = "empty_data"
	Settings      Abuse = "settings"
	Priorities    Abuse = "priorities"
	Updates       Abuse = "window_updates"
	Continuations Abuse = "continuations"
)

// rate is how many frames of a sort a second are fine, and how many at once.
type rate struct{ second, burst float64 }

var rates = map[Abuse]rate{
	Resets:        {200, 1000},
	EmptyData:     {20, 200},
	Settings:      {2, 20},
	Priorities:    {10, 200},
	Updates:       {100_000, 200_000},
	Continuations: {20, 200},
}

// leastBurst is what everybody may send at once: a client sends SETTINGS when it begins, and perhaps once more.
const leastBurst = 4

// ErrAbused is the error of reading a connection that was closed for abuse.
var ErrAbused = errors.New("the connection is abused")

var preface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// Conn counts the frames that are read of a connection.
type Conn struct {
	net.Conn

	abused  func(Abuse)
	share   float64 // of bursts, as 1/n
	full    buckets
	began   int // bytes of the preface that were read
	plain   bool
	head    [9]byte
	have    int   // of head
	left    int64 // bytes of the frame's payload
	failure error
	calls   int    // frames of the present Read that had a call do something
	rest    []byte // was read, and is passed on by the next Read
	room    []byte // that rest is part of
}

// maxCalls is how many calls one Read sets going, or ends. Then whoever else can run does: those calls, and other connections.
// Otherwise somebody who begins hundreds at once, or resets them, would have all others wait until they are dealt with.
const maxCalls = 4

// New returns a connection that closes itself when it is abused, and calls abused then, once.
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
		if err != nil { // it comes again
			err = nil
		}
	}
	return looked, err
}

// keep puts bytes before those that are to be passed on.
func (c *Conn) keep(b []byte) {
	if len(c.rest) == 0 {
		c.room = append(c.room[:0], b...)
		c.rest = c.room
		return
	}
	// They were taken from before rest, and still lie there.
	c.rest = c.room[len(c.room)-len(c.rest)-len(b):]
}

// TLS returns what is known of the connection that is guarded, where that is TLS; nil before its handshake.
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

// scan looks at bytes that were read, up to where they set so many calls going, and returns how many that are, and of what there
// was too much.
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

// setsGoing reports whether a frame has a call begin, go on whose client has said all, or end.
func setsGoing(kind, flags byte) bool {
	return kind == typeHeaders || kind == typeReset || kind == typeData && flags&flagEndStream != 0
}

// sortOf returns as what a frame counts, if it does.
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

// buckets are how much there is of each sort.
type buckets map[Abuse]*bucket

type bucket struct {
	full float64
	at   time.Time
}

// admit counts a frame, and reports whether it is fine with 1/share of the usual burst.
func (b buckets) admit(sort Abuse, share float64, now time.Time) bool {
	one, r := b[sort], rates[sort]
	if one == nil {
		one = &bucket{at: now}
		b[sort] = one
	}
	one.full = max(one.full-max(now.Sub(one.at).Seconds(), 0)*r.second, 0) + 1 // a clock that was set back fills nothing
	one.at = now
	return one.full <= max(r.burst/share, leastBurst)
}
