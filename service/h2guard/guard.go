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

// ErrAbused is the error of reading a connection that was closed for abuse.
var ErrAbused = errors.New("the connection is abused")

var preface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// Conn counts the frames that are read of a connection.
type Conn struct {
	net.Conn

	abused  func(Abuse)
	full    buckets
	began   int // bytes of the preface that were read
	plain   bool
	head    [9]byte
	have    int   // of head
	left    int64 // bytes of the frame's payload
	failure error
}

// New returns a connection that closes itself when it is abused, and calls abused then, once.
func New(conn net.Conn, abused func(Abuse)) *Conn {
	return &Conn{Conn: conn, abused: abused, full: buckets{}}
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	if c.failure != nil {
		return 0, c.failure
	}
	n, err := c.Conn.Read(p)
	if c.plain {
		return n, err
	}
	if sort := c.scan(p[:n]); sort != "" {
		c.failure = ErrAbused
		c.abused(sort)
		_ = c.Close()
		return 0, ErrAbused
	}
	return n, err
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

// scan looks at bytes that were read, and returns of what there was too much.
func (c *Conn) scan(b []byte) Abuse {
	if c.began < len(preface) {
		n := min(len(b), len(preface)-c.began)
		if !bytes.Equal(b[:n], preface[c.began:c.began+n]) {
			c.plain = true
			return ""
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
		n := copy(c.head[c.have:], b)
		c.have += n
		b = b[n:]
		if c.have < len(c.head) {
			return ""
		}
		c.have = 0
		c.left = int64(c.head[0])<<16 | int64(c.head[1])<<8 | int64(c.head[2])
		if sort := sortOf(c.head[3], c.head[4], c.left); sort != "" && !c.full.admit(sort, time.Now()) {
			return sort
		}
	}
	return ""
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

// admit counts a frame, and reports whether it is fine.
func (b buckets) admit(sort Abuse, now time.Time) bool {
	one, r := b[sort], rates[sort]
	if one == nil {
		one = &bucket{at: now}
		b[sort] = one
	}
	one.full = max(one.full-now.Sub(one.at).Seconds()*r.second, 0) + 1
	one.at = now
	return one.full <= r.burst
}
