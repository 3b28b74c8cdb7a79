package teehistorian

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/replayd/replayd/decoders"
)

// Limits. A file that exceeds one ends decoding with an error that wraps decoders.ErrLimit.
const (
	// MaxHeader is the largest size of the header, in bytes. Real headers have about 4 KB.
	MaxHeader = 128 << 10
	// MaxRecord is the largest size of a record's texts or data, in bytes. It is three times the size of the servers'
	// buffers.
	//
	// MaxHeader and MaxRecord are small enough that one message of the daemon can carry a header or an event. It holds
	// raw bytes beside contents, and making all texts valid UTF-8 makes them longer.
	MaxRecord = 192 << 10
	// MaxClients is the upper bound of client ids, exclusive. Servers have up to 128 slots.
	MaxClients = 1024
	// MaxArguments is the largest number of arguments of a console command. Servers allow 16.
	MaxArguments = 4096
	// MaxWindow is the window size that suffices for every file within the limits, in bytes.
	MaxWindow = 256 << 10
)

// Options configure a Decoder. The zero value decodes every file within the limits.
type Options struct {
	// Window is the largest number of bytes of the file to hold in memory at once, at least 64 KiB. 0 means MaxWindow.
	// A header or record that does not fit ends decoding with an error that wraps decoders.ErrLimit.
	Window int
}

// Decoder decodes one file. It is not safe for concurrent use.
type Decoder struct {
	w      *decoders.Window
	header *Header
	state  State
	err    error // final

	// index is the number of events of the record at the window's front that were delivered. It is 1 after the tick
	// event that the record implies, and 0 otherwise.
	index int64

	// fast says that usual records may be decoded by the fast paths: the header was read, and there was no error and no damage.
	fast     bool
	finished bool  // the finish event was delivered
	seam     *seam // the search after a record that no server writes; nil before the first one

	scanned int             // bytes of the header already searched for its NUL
	read    record          // a field, so that no record allocates it
	ex      ex              // as read
	names   map[UUID][]byte // names of the header's UUIDs, filled at first use
}

var _ decoders.Decoder[Event] = (*Decoder)(nil)

// New returns a decoder of the file that src reads from its first byte. It does not read yet. When src returns 0,
// io.EOF, it has no more bytes for now; see decoders.Window.
func New(src io.Reader, opts Options) *Decoder {
	return &Decoder{w: decoders.NewWindow(src, 0, cmp.Or(opts.Window, MaxWindow)), state: newState()}
}

// window is the memory of a window that has not grown, and windows those of decoders that were left.
type window [64 << 10]byte

var windows = sync.Pool{New: func() any { return new(window) }}

// Leave is the last call: it gives memory of the decoder to others. What Next has filled is not valid any more.
func (d *Decoder) Leave() {
	if b := d.w.Leave(); len(b) == len(window{}) {
		windows.Put((*window)(b))
	}
}

// fastBytes is the maximum length of a PLAYER_DIFF or INPUT_DIFF, with room for the 8-byte loads that read beyond its
// end.
const fastBytes = 72

// Next decodes the next event into ev. It overwrites only the fields that the event's kind needs. Memory that ev points
// to is valid until the next call. Next returns
//
//   - decoders.ErrMore when the bytes present hold no further whole record. ev is then not valid, and Next may be
//     called again when more bytes have arrived.
//   - io.EOF after the finish event.
//   - a *decoders.Error, which is final, when the record cannot be decoded. Its Offset is where the record starts. After
//     the finish event of a file with damage, it wraps decoders.ErrCorrupt and its Offset is that of the first damage.
//   - an error of the window's source, unchanged.
func (d *Decoder) Next(ev *Event) error {
	if len(ev.Warnings) > 0 {
		ev.Warnings = ev.Warnings[:0]
	}
	// Nearly all records are small moves and changes of inputs. They are decoded here without checks for the end of the
	// bytes. For an unusual one, the general path decodes it from its start.
	if b := d.w.Bytes(); len(b) >= fastBytes && d.fast {
		s, x := &d.state, binary.LittleEndian.Uint32(b)
		id := int32(x & 0x3f)
		if x&0x8080c0 == 0 && x&0xffff00 != 0 && int(id) < len(s.clients) { // an id, dx and dy of one byte each
			c, dx, dy := &s.clients[id], short(byte(x>>8)), short(byte(x>>16))
			switch {
			case !c.Alive || beyond(c.X+dx, c.Y+dy):
			case id > s.prev:
				s.prev, d.index = id, 0
				ev.AtTick, ev.Kind = s.tick, KindPlayerDiff
				c.move(&ev.PlayerDiff, id, dx, dy)
				d.w.Advance(MoveBytes)
				return nil
			case s.tick < lastTick: // the event of the tick comes first
				s.tick++
				s.prev, d.index = -1, decoders.Room
				ev.AtTick, ev.Kind = s.tick, KindTick
				ev.Tick.Skipped, ev.Tick.Implicit = 0, true
				return nil
			}
		} else if x&0xff == tagInputDiff {
			if n := s.usualChange(&ev.InputDiff, b); n > 0 {
				d.index = 0
				ev.AtTick, ev.Kind = s.tick, KindInputDiff
				d.w.Advance(n)
				return nil
			}
		}
	}
	return d.next(ev)
}

// MoveBytes is the length of the PLAYER_DIFF records that Next decodes fast, and Moves.
const MoveBytes = 3

// move moves a client, and sets m to the move. It sets field by field: a literal is built elsewhere first, and copying memory
// that was just written in smaller pieces stalls.
func (c *Client) move(m *PlayerDiff, id, dx, dy int32) {
	x, y := c.X+dx, c.Y+dy
	c.X, c.Y = x, y
	m.ClientId, m.Dx, m.Dy, m.X, m.Y = id, dx, dy, x, y
}

// Moves decodes the next moves, as long as they are small ones of one tick and fit into moves, and returns how many it decoded. It is
// faster than Next, which decodes everything else. The moves are of the present tick. With begin they may be the first of the next
// one: began then says that the event of that tick, whose number is now Tick, comes before the moves; it is implicit and skips
// nothing. The first event starts at Position, the move that implies a tick has an Index of decoders.Room there, and each further move
// starts MoveBytes after the one before it, with an Index of 0. None has a warning.
func (d *Decoder) Moves(moves []PlayerDiff, begin bool) (n int, began bool) {
	if !d.fast {
		return 0, false
	}
	s, b := &d.state, d.w.Bytes()
	prev := s.prev
	for n < len(moves) && len(b) >= fastBytes {
		x := binary.LittleEndian.Uint32(b)
		id := int32(x & 0x3f)
		if x&0x8080c0 != 0 || x&0xffff00 == 0 || int(id) >= len(s.clients) {
			break
		}
		c, dx, dy := &s.clients[id], short(byte(x>>8)), short(byte(x>>16))
		if !c.Alive || beyond(c.X+dx, c.Y+dy) {
			break
		}
		if id <= prev {
			if !begin || n > 0 || s.tick >= lastTick {
				break
			}
			s.tick++
			began = true
		}
		c.move(&moves[n], id, dx, dy)
		prev = id
		b = b[MoveBytes:]
		n++
	}
	if n > 0 {
		s.prev = prev
		d.index = 0
		d.w.Advance(n * MoveBytes)
	}
	return n, began
}

// next is the general path of Next.
func (d *Decoder) next(ev *Event) error {
	if d.header == nil {
		if _, err := d.Header(); err != nil {
			return err
		}
	}
	if d.err != nil {
		return d.err
	}
	for {
		ev.Warnings = ev.Warnings[:0]
		step := d.record
		if d.searching() {
			step = d.search
		}
		whole, err := step(ev)
		if whole || err != nil {
			return err
		}
		if err := d.fill("record"); err != nil {
			return err
		}
	}
}

// fill reads more bytes into the window.
func (d *Decoder) fill(what string) error {
	if d.w.Held() == 0 { // only now: a thousand that wait for their turn to read have none
		d.w.Lend(windows.Get().(*window)[:])
	}
	err := d.w.Fill()
	if errors.Is(err, decoders.ErrWindow) {
		return d.fail(what, decoders.ErrLimit, "it is longer than the window of %d bytes", len(d.w.Bytes()))
	}
	return err
}

// fail returns an error about the record at the window's front and makes it final.
func (d *Decoder) fail(what string, kind error, detail string, args ...any) error {
	tick := d.state.tick
	if d.header == nil {
		tick = decoders.NoTick
	}
	d.fast, d.err = false, decoders.Errorf(decoders.Teehistorian, d.Position().Offset, tick, what, kind, detail, args...)
	return d.err
}

// Position returns where the next event starts. Its Index is decoders.Room between the tick event that a record implies and the
// record's own event, and 0 otherwise. While Next waits for more bytes behind a record that no server writes, it is the start of that
// record.
func (d *Decoder) Position() decoders.Position {
	if d.searching() {
		return decoders.Position{Offset: d.seam.from}
	}
	return decoders.Position{Offset: d.w.Offset(), Index: d.index}
}

// Sum returns the sum of the bytes before Position's Offset.
func (d *Decoder) Sum() decoders.Sum {
	if d.searching() {
		return d.seam.sum
	}
	return d.w.Sum()
}

// End returns the offset behind the last byte that the decoder has read, and the sum of all bytes before it.
func (d *Decoder) End() (int64, decoders.Sum) { return d.w.End() }

// SumTo returns the sum of the bytes before the last event, which starts at at.
func (d *Decoder) SumTo(at decoders.Position) decoders.Sum {
	if d.seam != nil && at.Offset == d.seam.from {
		return d.seam.sum
	}
	return d.w.SumTo(at.Offset)
}

// Tick returns the current tick, which is the tick of the last event. It is 0 before the first one.
func (d *Decoder) Tick() int32 { return d.state.tick }

// State returns the state after all records up to Position.
func (d *Decoder) State() *State { return &d.state }

// Close is called when Next or Header returned decoders.ErrMore and no more bytes will arrive. It returns nil when the
// file is complete, and otherwise the error that ended decoding, if any. If there is none, the file is truncated: Close
// returns a *decoders.Error that wraps decoders.ErrTruncated. Its Offset is where the partial record starts. It is the
// end of the bytes when only the finish record is missing, as after a server's crash.
func (d *Decoder) Close() error {
	switch rest := d.w.Bytes(); {
	case errors.Is(d.err, io.EOF):
		return nil
	case d.err != nil:
		return d.err
	case d.header == nil:
		return d.fail("header", decoders.ErrTruncated, "the file ends after %d bytes of it", len(rest))
	case d.searching(), d.state.damaged():
		m, end := d.state.damage, d.w.Offset()+int64(len(rest))
		if d.searching() {
			m.add(d.seam.from, end, d.seam.reason)
		}
		d.fast, d.err = false, m.error(end, d.state.tick)
		return d.err
	case len(rest) == 0:
		return d.fail("finish", decoders.ErrTruncated, "the file ends between two records, without this last one")
	default:
		c := cursor{b: rest}
		what := recordName(c.int())
		if c.cut {
			what = "record"
		}
		return d.fail(what, decoders.ErrTruncated, "the file ends after %d bytes of it", len(rest))
	}
}
