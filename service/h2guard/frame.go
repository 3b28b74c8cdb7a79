package h2guard

import "encoding/binary"

// Frame types and flags.
const (
	typeData         = 0x0
	typeHeaders      = 0x1
	typePriority     = 0x2
	typeReset        = 0x3
	typeSettings     = 0x4
	typePing         = 0x6
	typeWindowUpdate = 0x8
	typeContinuation = 0x9

	flagEndStream = 0x1
	flagPadded    = 0x8
)

// frames finds the frames in the bytes of one direction of a connection. The zero value stands before a frame. next passes bytes;
// the other methods describe the frame with the last complete header.
type frames struct {
	head [9]byte
	have uint8 // bytes of an incomplete header
	left int64 // bytes of the frame's payload that are still to pass
}

// next passes at least one byte of b, all of one payload or of one header, and returns the rest. whole reports that a header is
// complete.
func (f *frames) next(b []byte) (rest []byte, whole bool) {
	if f.left > 0 {
		n := min(f.left, int64(len(b)))
		f.left -= n
		return b[n:], false
	}
	n := copy(f.head[f.have:], b)
	if f.have += uint8(n); int(f.have) < len(f.head) {
		return b[n:], false
	}
	f.have, f.left = 0, f.length()
	return b[n:], true
}

// between reports whether no frame is incomplete.
func (f *frames) between() bool { return f.have == 0 && f.left == 0 }

func (f *frames) length() int64 { return int64(f.head[0])<<16 | int64(f.head[1])<<8 | int64(f.head[2]) }

func (f *frames) kind() byte { return f.head[3] }

func (f *frames) has(flag byte) bool { return f.head[4]&flag != 0 }

func (f *frames) stream() uint32 { return binary.BigEndian.Uint32(f.head[5:]) &^ (1 << 31) }

// ends reports whether the frame is the last of its stream in its direction.
func (f *frames) ends() bool {
	return (f.kind() == typeData || f.kind() == typeHeaders) && f.has(flagEndStream)
}

// setsGoing reports whether the frame starts a request, finishes it or resets it.
func (f *frames) setsGoing() bool {
	return f.kind() == typeHeaders || f.kind() == typeReset || f.ends()
}

// sort returns the kind under which the frame is counted, and "" for a frame that is not counted.
func (f *frames) sort() Abuse {
	switch f.kind() {
	case typeHeaders:
		return ""
	case typeData:
		switch {
		case f.has(flagEndStream) || f.length() >= tiny:
			return ""
		case f.length() == 0:
			return EmptyData
		}
		return TinyData
	case typeReset:
		return Resets
	case typeSettings:
		return Settings
	case typePing:
		return Pings
	case typePriority:
		return Priorities
	case typeWindowUpdate:
		return Updates
	case typeContinuation:
		return Continuations
	}
	return Others
}
