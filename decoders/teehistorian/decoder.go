package teehistorian

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/replayd/replayd/decoders"
)

// Limits. What exceeds them ends decoding with an error that wraps decoders.ErrLimit.
const (
	// MaxHeader is how long the header may be, in bytes. Real ones have some 4 KB.
	MaxHeader = 128 << 10
	// MaxRecord is how long a record's texts or data may be, in bytes: three times what the buffers of servers hold.
	//
	// Both are small enough that a header or an event fits one message of the daemon, raw bytes beside contents, even
	// when its texts become longer because they are made valid UTF-8.
	MaxRecord = 192 << 10
	// MaxClients bounds client ids, which are below it. Servers have up to 128 slots.
	MaxClients = 1024
	// MaxArguments is how many arguments a console command may have. Servers allow 16.
	MaxArguments = 4096
	// MaxWindow is how large the window of a decoder must be allowed to become for every file within the limits, in bytes.
	MaxWindow = 256 << 10
)

// Options are how a file is decoded. The zero value decodes every file within the limits.
type Options struct {
	// Window bounds how many bytes of the file are held in memory at once, 64 KiB at least; 0 means MaxWindow. With a smaller
	// one, a header or a record that is larger ends decoding with an error that wraps decoders.ErrLimit.
	Window int
}

// Decoder decodes one file. It is not safe for concurrent use.
type Decoder struct {
	w      *decoders.Window
	header *Header
	state  State
	err    error // final

	// index is how many events of the record at the window's front were delivered: 1 when it began a tick, whose event
	// comes before its own.
	index int64

	looked   int             // bytes of the header in which there is no NUL
	searches [2]search       // for the ends of a torn record's texts
	ex       ex              // here so that it is not allocated for each record
	names    map[UUID][]byte // of the header's UUIDs, made when first needed
}

var _ decoders.Decoder[Event] = (*Decoder)(nil)

// New returns a decoder of the file that src reads from its first byte. It reads nothing yet. A src that returns 0, io.EOF
// has no more bytes for now; see decoders.Window.
func New(src io.Reader, opts Options) *Decoder {
	return &Decoder{w: decoders.NewWindow(src, 0, cmp.Or(opts.Window, MaxWindow)), state: newState()}
}

// fastBytes is how many bytes any PLAYER_DIFF and INPUT_DIFF has at most, and what loads of 8 bytes read beyond.
const fastBytes = 72

// Next decodes the next event into ev, overwriting what its kind needs and nothing else. What ev points to is valid
// until the next call. It returns
//
//   - decoders.ErrMore when the bytes present hold no further whole record; ev then holds nothing, and Next may be
//     called again when there are more;
//   - io.EOF after the finish event;
//   - a *decoders.Error, final, when the record cannot be decoded: its Offset is where the record starts;
//   - an error of the window's source as it is.
func (d *Decoder) Next(ev *Event) error {
	if len(ev.Warnings) > 0 {
		ev.Warnings = ev.Warnings[:0]
	}
	// Nearly all records are small moves and changes of inputs. They are decoded here without looking out for the end
	// of the bytes. Whatever is unusual about one is left to the general way, which begins anew.
	if b := d.w.Bytes(); len(b) >= fastBytes && d.header != nil && d.err == nil {
		x := binary.LittleEndian.Uint32(b)
		switch {
		case x&0x8080c0 == 0: // an id, dx and dy of one byte each
			if d.move(ev, int32(x&0x3f), short(byte(x>>8)), short(byte(x>>16))) {
				return nil
			}
		case x&0xff == tagInputDiff:
			if d.steer(ev, b) {
				return nil
			}
		}
	}
	return d.next(ev)
}

// moveLen is how long the PLAYER_DIFF records are that move decodes.
const moveLen = 3

// move is the fast way of a PLAYER_DIFF whose three integers have a byte each. It returns false, having changed nothing, for what is unusual.
func (d *Decoder) move(ev *Event, id, dx, dy int32) bool {
	s := &d.state
	if int(id) >= len(s.clients) {
		return false
	}
	c := &s.clients[id]
	if !c.Alive {
		return false
	}
	if id <= s.prev {
		if s.tick == math.MaxInt32 {
			return false
		}
		s.tick++
		s.prev = -1
		d.index = 1
		ev.AtTick, ev.Kind = s.tick, KindTick
		ev.Tick.Skipped, ev.Tick.Implicit = 0, true
		return true
	}
	s.prev = id
	d.index = 0
	x, y := c.X+dx, c.Y+dy
	c.X, c.Y = x, y
	// Field by field: a literal is made elsewhere first, and copying what was just written in smaller pieces stalls.
	ev.AtTick, ev.Kind = s.tick, KindPlayerDiff
	m := &ev.PlayerDiff
	m.ClientId, m.Dx, m.Dy, m.X, m.Y = id, dx, dy, x, y
	d.w.Advance(moveLen)
	return true
}

// next is the general way.
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
		whole, err := d.record(ev)
		if whole || err != nil {
			return err
		}
		if err := d.fill("record"); err != nil {
			return err
		}
	}
}

// fill makes the window show more bytes.
func (d *Decoder) fill(what string) error {
	err := d.w.Fill()
	if errors.Is(err, decoders.ErrWindow) {
		return d.fail(what, decoders.ErrLimit, "it is longer than the window of %d bytes", len(d.w.Bytes()))
	}
	return err
}

// fail makes an error of the record at the window's front final.
func (d *Decoder) fail(what string, kind error, detail string, args ...any) error {
	tick := d.state.tick
	if d.header == nil {
		tick = decoders.NoTick
	}
	d.err = decoders.Errorf(decoders.Teehistorian, d.w.Offset(), tick, what, kind, detail, args...)
	return d.err
}

// Position is where the next event starts. Its Index is 1 between the tick event that a record implies and the record's
// own event, and 0 otherwise.
func (d *Decoder) Position() decoders.Position {
	return decoders.Position{Offset: d.w.Offset(), Index: d.index}
}

// Sum is the sum of the bytes before Position's Offset.
func (d *Decoder) Sum() decoders.Sum { return d.w.Sum() }

// SumTo is Sum for where the last event starts.
func (d *Decoder) SumTo(at decoders.Position) decoders.Sum { return d.w.SumTo(at.Offset) }

// Tick is the current tick: that of the last event. It is 0 before the first one.
func (d *Decoder) Tick() int32 { return d.state.tick }

// State is what the records up to Position add up to.
func (d *Decoder) State() *State { return &d.state }

// Close is to be called when Next or Header returned decoders.ErrMore and no more bytes will come. It returns nil when
// the file is complete, the error that ended decoding when there was one, and otherwise a *decoders.Error that wraps
// decoders.ErrTruncated: its Offset is where the torn record starts, or the end of the bytes when all records are whole
// and only the finish record is missing, as after a server's crash.
func (d *Decoder) Close() error {
	switch rest := d.w.Bytes(); {
	case errors.Is(d.err, io.EOF):
		return nil
	case d.err != nil:
		return d.err
	case d.header == nil:
		return d.fail("header", decoders.ErrTruncated, "the file ends after %d bytes of it", len(rest))
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
