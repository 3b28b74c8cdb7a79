package mirror

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/replay/source"
)

// The states of files come in a stream of their own, before or after the bytes that they are about. The last one of each file is
// kept, and settle applies it once the bytes are here.

// readStates reads the states of files until reading fails.
func (m *Mirror) readStates(ctx context.Context, stream *shipment.Stream, began func()) error {
	return stream.ReadStates(ctx, shipment.Which{Source: m.o.Source}, func(d *shipment.Delivered) error {
		began()
		src, p, _, err := shipment.ParseSubject(stream.Name(), d.Subject)
		m.mu.Lock()
		defer m.mu.Unlock()
		name := src + "/" + p
		_, known := m.states[name]
		if err != nil || d.Err != nil || d.Kind == shipment.Bytes || !known && len(m.states) >= 2*m.o.MaxFiles {
			m.ignored++
			return nil
		}
		d.Data = nil
		m.states[name] = d.Message
		m.messages++
		m.settle(ctx, name)
		return nil
	}, func() { m.caughtUp(&m.read.states) })
}

// settle applies the state of a file if it is about the present bytes. The Mirror must be locked.
func (m *Mirror) settle(ctx context.Context, name string) {
	state, there := m.states[name]
	f := m.known[name]
	if !there || f == nil || f.generation != state.Generation || f.length > state.Offset && state.Kind != shipment.Removed {
		return
	}
	switch state.Kind {
	case shipment.Removed:
		_ = m.remove(name, f) // tried again with the next state, or when the stream has nothing of it
	case shipment.Archived:
		m.archive(f, state.Offset)
	case shipment.Finished:
		if f.length == state.Offset && [sha256.Size]byte(f.sum.Sum(nil)) != state.Sum {
			m.o.Log.WarnContext(ctx, "a finished file is not the one beside the game server, which was changed in the middle",
				"stream", m.o.Name, "file", name)
		}
	}
}

// archive notes that the archive has a file of a length.
func (m *Mirror) archive(f *file, length int64) {
	if f.archived.IsZero() {
		f.archived = time.Now()
	}
	f.whole = length
	m.poke()
}

// fill appends bytes that the archive has of a file and the stream had not: the game ended while the stream was full. Somebody
// reads the file here.
func (m *Mirror) fill(ctx context.Context, name string, at int64) {
	h, err := m.o.Archive.Open(ctx, name)
	if err != nil {
		return // the next time
	}
	defer h.Close() //nolint:errcheck // nothing was written
	for chunk := make([]byte, shipment.MaxChunk); m.append(ctx, h, name, at, chunk); {
		at += int64(len(chunk))
	}
}

// append appends a chunk to a file of a length. It returns false unless there may be more.
func (m *Mirror) append(ctx context.Context, from source.Handle, name string, at int64, chunk []byte) bool {
	n, err := from.ReadAt(chunk, at)
	if n == 0 || err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.known[name]
	state := m.states[name]
	if f == nil || f.length != at || f.generation != state.Generation || f.whole < at+int64(n) {
		return false
	}
	src, _ := split(name)
	err = m.extend(name, m.lane(src), f, &shipment.Message{Kind: shipment.Bytes, Generation: f.generation, Offset: at, Modified: state.Modified, Data: chunk[:n]})
	if err == nil && f.length == f.whole && [sha256.Size]byte(f.sum.Sum(nil)) != state.Sum {
		m.o.Log.WarnContext(ctx, "the archive has other bytes of a file than the stream had", "stream", m.o.Name, "file", name)
	}
	return err == nil && n == len(chunk)
}
