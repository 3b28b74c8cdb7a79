package teehistorian

import (
	"bytes"
	"io"
	"math"
	"slices"
)

// The ids of records. An id of 0 or more is the client id of a PLAYER_DIFF. See docs/formats/teehistorian.md,
// "Records".
const (
	idFinish         = -1
	idTickSkip       = -2
	idPlayerNew      = -3
	idPlayerOld      = -4
	idInputDiff      = -5
	idInputNew       = -6
	idMessage        = -7
	idJoin           = -8
	idDrop           = -9
	idConsoleCommand = -10
	idEx             = -11
)

// tagInputDiff is the encoding of idInputDiff, one byte.
const tagInputDiff = 0x44

var recordNames = [...]string{
	"finish", "tick_skip", "player_new", "player_old", "input_diff", "input_new", "message", "join", "drop",
	"console_command", "ex",
}

// recordName returns the name of a record for error texts.
func recordName(id int32) string {
	switch {
	case id >= 0:
		return "player_diff"
	case int(-id) <= len(recordNames) && id > math.MinInt32:
		return recordNames[-id-1]
	default:
		return "record"
	}
}

// record is a record as stored in the file. Its slices refer to the bytes that it was read from.
type record struct {
	id     int32 // of the record
	client int32 // noClient if it names none
	// v holds the other integers, in the order of the file: dx and dy, x and y, the fields of an input, the skipped ticks, or flags
	// and the number of arguments.
	v         [inputFields]int32
	text      []byte // the reason or the command
	arguments []byte // each with its NUL
	uuid      UUID
	data      []byte     // of a message or an extension
	known     *extension // of an extension, if this package knows it
	// tooLong: a length or a number exceeds what servers write. Nothing after it was read.
	tooLong bool
	odd     bool // an integer has an unusual encoding
	rest    int  // bytes that are present after the record
}

// read reads a record. c.cut tells that it is not completely present.
func (r *record) read(c *cursor) {
	r.client, r.tooLong = noClient, false
	r.id = c.int()
	switch {
	case c.cut:
		return
	case r.id >= 0:
		r.client, r.v[0], r.v[1] = r.id, c.int(), c.int()
	default:
		r.fields(c)
	}
	r.odd, r.rest = c.odd, c.rest()
}

// fields reads the fields after the id of a record other than PLAYER_DIFF.
func (r *record) fields(c *cursor) {
	switch r.id {
	case idTickSkip:
		r.v[0] = c.int()
	case idPlayerNew:
		r.client, r.v[0], r.v[1] = c.int(), c.int(), c.int()
	case idPlayerOld, idJoin:
		r.client = c.int()
	case idInputDiff, idInputNew:
		r.client = c.int()
		for i := range r.v {
			r.v[i] = c.int()
		}
	case idMessage:
		r.client = c.int()
		r.data = r.sized(c, MaxRecord)
	case idDrop:
		r.client = c.int()
		r.text = r.string(c, maxReason)
	case idConsoleCommand:
		r.client, r.v[0] = c.int(), c.int()
		r.text = r.string(c, maxCommand)
		if r.v[1] = c.int(); r.v[1] < 0 || r.v[1] > MaxArguments {
			r.tooLong = true
			return
		}
		start := c.p
		for range r.v[1] {
			r.string(c, start+maxCommand-c.p)
		}
		r.arguments = c.b[start:c.p]
	case idEx:
		r.uuid = c.uuid()
		r.data = r.sized(c, MaxRecord)
	}
}

// sized reads a length and that many bytes.
func (r *record) sized(c *cursor, limit int32) []byte {
	n := c.int()
	if !c.cut && (n < 0 || n > limit) {
		r.tooLong = true
	}
	if c.cut || r.tooLong {
		return nil
	}
	return c.bytes(int(n))
}

// string reads a text of less than limit bytes.
func (r *record) string(c *cursor, limit int) []byte {
	if c.cut || r.tooLong {
		return nil
	}
	within := c.b[c.p:min(len(c.b), c.p+limit)]
	end := bytes.IndexByte(within, 0)
	if end < 0 {
		r.tooLong = len(within) == limit
		c.cut = !r.tooLong
		return nil
	}
	c.p += end + 1
	return within[:end:end]
}

// record decodes the record at the window's front. If the record is not completely present, it returns false and has
// changed nothing.
//
// A record is read first, then compared with the rules, and changes the state last.
func (d *Decoder) record(ev *Event) (bool, error) {
	c := cursor{b: d.w.Bytes()}
	r := &d.read
	if r.read(&c); c.cut && !r.tooLong {
		return false, nil
	}
	switch r.id {
	case idEx:
		d.contents(r, ev)
	case idFinish:
		if r.rest == 0 && d.w.Fill() == nil { // it should be the last byte; an error of Fill does not matter here
			c.b = d.w.Bytes()
			r.rest = c.rest()
		}
	}
	if broken := d.broken(r); broken != nil {
		d.tear(broken.broken)
		return d.search(ev)
	}
	switch r.id {
	case idFinish:
		d.finish(&c, ev)
	case idTickSkip:
		d.tickSkip(&c, ev, r)
	case idPlayerNew:
		d.playerNew(&c, ev, r)
	case idPlayerOld:
		d.playerOld(&c, ev, r)
	case idInputDiff:
		d.inputDiff(&c, ev, r)
	case idInputNew:
		d.inputNew(&c, ev, r)
	case idMessage:
		d.message(&c, ev, r)
	case idJoin:
		d.join(&c, ev, r)
	case idDrop:
		d.drop(&c, ev, r)
	case idConsoleCommand:
		d.consoleCommand(&c, ev, r)
	case idEx:
		d.extension(&c, ev, r)
	default:
		d.playerDiff(&c, ev, r)
	}
	return true, nil
}

// begin starts a record's own event and consumes the record, which the cursor has read completely.
func (d *Decoder) begin(c *cursor, ev *Event, kind Kind) {
	d.stamp(ev, kind)
	d.index = 0
	d.w.Advance(c.p)
}

// stamp sets the kind and the tick of an event.
func (d *Decoder) stamp(ev *Event, kind Kind) {
	ev.AtTick, ev.Kind = d.state.tick, kind
	if d.state.damaged() {
		warn(ev, WarningAfterDamage)
	}
}

func warn(ev *Event, w Warning) {
	if !slices.Contains(ev.Warnings, w) {
		ev.Warnings = append(ev.Warnings, w)
	}
}

// namedClient returns the client that a record names. It adds a warning if no earlier record has named the client, because a JOIN
// should have come first.
func (d *Decoder) namedClient(ev *Event, id int32) *Client {
	c := d.state.client(id)
	if !c.seen {
		c.seen, c.Present = true, true
		warn(ev, WarningClientNeverJoined)
	}
	return c
}

func (d *Decoder) finish(c *cursor, ev *Event) {
	d.begin(c, ev, KindFinish)
	d.end()
}

// end makes the end final. After damage the end is an error.
func (d *Decoder) end() {
	d.fast, d.finished, d.err = false, true, io.EOF
	if d.state.damaged() {
		d.err = d.state.damage.error(d.w.Offset(), d.state.tick)
	}
}

func (d *Decoder) join(c *cursor, ev *Event, r *record) {
	d.begin(c, ev, KindJoin)
	ev.Join = Join{ClientId: r.client}
	d.state.client(r.client).connect(d.state.tick == 0)
}

func (d *Decoder) drop(c *cursor, ev *Event, r *record) {
	start := d.w.Offset()
	d.begin(c, ev, KindDrop)
	ev.Drop = Drop{ClientId: r.client, Reason: r.text}
	client := d.namedClient(ev, r.client)
	ev.Drop.ReclaimedClientId = d.state.reclaimed(r.client, r.text, start)
	client.disconnect()
}

func (d *Decoder) consoleCommand(c *cursor, ev *Event, r *record) {
	arguments := ev.ConsoleCommand.Arguments[:0]
	rest := cursor{b: r.arguments}
	for range r.v[1] {
		arguments = append(arguments, rest.string())
	}
	d.begin(c, ev, KindConsoleCommand)
	ev.ConsoleCommand = ConsoleCommand{ClientId: r.client, Flags: r.v[0], Command: r.text, Arguments: arguments}
	if r.client >= 0 {
		d.namedClient(ev, r.client)
	}
	d.state.command(&ev.ConsoleCommand, d.w.Offset())
}
