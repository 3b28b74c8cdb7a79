package broadcast

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/record"
	"github.com/replayd/replayd/decoders/dem/internal/unpack"
)

// Fragment is a fragment of a broadcast.
type Fragment struct {
	// Tick is the first tick of the fragment, and EndTick that of the next one.
	Tick, EndTick int32
	// Full is nil for all but the first fragment: a demo does not have the state of its string tables at any tick, so nobody can join
	// later.
	Full, Delta []byte
}

// Split makes a broadcast of a demo: its start, and fragments of the given number of ticks. The last Delta ends with the record Stop.
// Left out is what a broadcast has no place for: dumps of string tables, key frames, console commands and the commands of the
// player who recorded. Split serves tests, and whoever wants to broadcast a recorded match.
func Split(demo []byte, ticks int32) (start []byte, fragments []Fragment, err error) {
	s := splitter{ticks: max(ticks, 1)}
	in := record.NewReader(bytes.NewReader(demo))
	if err := in.Begin(); err != nil {
		return nil, nil, fmt.Errorf("reading the demo: %w", err)
	}
	for !s.stopped {
		contents, err := in.Next()
		if err != nil {
			return nil, nil, fmt.Errorf("reading the demo: %w", err)
		}
		if in.Head.Compressed {
			if contents, err = unpack.Snappy(nil, contents, record.MaxSize); err != nil {
				return nil, nil, decoders.Errorf(decoders.Dem, in.Head.Offset, in.Head.Tick, "record", decoders.ErrCorrupt, "%v", err)
			}
		}
		s.add(&in.Head, contents)
	}
	if s.start == nil || len(s.fragments) == 0 {
		return nil, nil, decoders.Errorf(decoders.Dem, 0, decoders.NoTick, "demo", decoders.ErrUnsupported, "it has no packets behind its sign-on part")
	}
	return s.start, s.fragments, nil
}

type splitter struct {
	ticks     int32
	start     []byte
	synced    bool // the sign-on part is over
	stopped   bool
	fragments []Fragment
}

func (s *splitter) add(h *record.Head, contents []byte) {
	switch h.Command {
	case record.CmdSyncTick:
		s.synced = true
	case record.CmdStop:
		s.stopped = true
		if n := len(s.fragments); n > 0 {
			f := &s.fragments[n-1]
			f.Delta = append(f.Delta, make([]byte, stopSize)...)
		}
	case record.CmdPacket, record.CmdSignonPacket:
		if !s.synced {
			s.start = appendBody(s.start, h.Command, 0, bitsOf(contents))
			return
		}
		s.packet(h, bitsOf(contents))
	case record.CmdSendTables, record.CmdClassInfo:
		s.start = appendBody(s.start, h.Command, 0, contents)
	}
}

// packet adds a packet to its fragment. The first one has the state of all entities.
func (s *splitter) packet(h *record.Head, contents []byte) {
	n := len(s.fragments)
	if n == 0 {
		s.fragments = append(s.fragments, Fragment{Tick: h.Tick, EndTick: h.Tick + s.ticks, Full: appendBody(nil, h.Command, h.Tick, contents)})
		return
	}
	if f := &s.fragments[n-1]; h.Tick >= f.EndTick && len(f.Delta) > 0 {
		s.fragments = append(s.fragments, Fragment{Tick: f.EndTick, EndTick: max(h.Tick+1, f.EndTick+s.ticks)})
		n++
	}
	f := &s.fragments[n-1]
	f.EndTick = max(f.EndTick, h.Tick+1)
	f.Delta = appendBody(f.Delta, h.Command, h.Tick, contents)
}

// bitsOf returns the field of CDemoPacket that has the messages.
func bitsOf(packet []byte) []byte {
	for m := pb.Read(packet, lexicon.Type("CDemoPacket"), nil); m.Next(); {
		if m.Num == 3 {
			return m.Raw
		}
	}
	return nil
}

// appendBody appends a record of a broadcast.
func appendBody(dst []byte, command uint32, tick int32, contents []byte) []byte {
	dst = append(dst, byte(command))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(tick))
	dst = append(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(contents)))
	return append(dst, contents...)
}
