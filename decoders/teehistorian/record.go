package teehistorian

import (
	"io"
	"math"
	"slices"

	"github.com/replayd/replayd/decoders"
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

// record decodes the record at the window's front. If the record is not completely present, it returns false and has
// changed nothing.
//
// Each kind of record reads all its fields first, then checks them, and changes the state last.
func (d *Decoder) record(ev *Event) (bool, error) {
	c := cursor{b: d.w.Bytes()}
	id := c.int()
	switch {
	case c.cut:
		return false, nil
	case id >= 0:
		return d.playerDiff(&c, ev, id)
	}
	switch id {
	case idFinish:
		return d.finish(&c, ev)
	case idTickSkip:
		return d.tickSkip(&c, ev)
	case idPlayerNew:
		return d.playerNew(&c, ev)
	case idPlayerOld:
		return d.playerOld(&c, ev)
	case idInputDiff:
		return d.inputDiff(&c, ev)
	case idInputNew:
		return d.inputNew(&c, ev)
	case idMessage:
		return d.message(&c, ev)
	case idJoin:
		return d.join(&c, ev)
	case idDrop:
		return d.drop(&c, ev)
	case idConsoleCommand:
		return d.consoleCommand(&c, ev)
	case idEx:
		return d.extension(&c, ev)
	default:
		// Records do not contain their length, so decoding cannot continue.
		return false, d.fail("record", decoders.ErrCorrupt, "there is no record with id %d", id)
	}
}

// begin starts a record's own event and consumes the record, which the cursor has read completely.
func (d *Decoder) begin(c *cursor, ev *Event, kind Kind) {
	ev.AtTick, ev.Kind = d.state.tick, kind
	if c.odd {
		warn(ev, WarningIntegerPadding)
	}
	d.index = 0
	d.w.Advance(c.p)
}

func warn(ev *Event, w Warning) {
	if !slices.Contains(ev.Warnings, w) {
		ev.Warnings = append(ev.Warnings, w)
	}
}

// checkClient returns an error for a client id outside the range of slots.
func (d *Decoder) checkClient(id int32, record int32) error {
	switch {
	case id < 0:
		return d.fail(recordName(record), decoders.ErrCorrupt, "client id %d", id)
	case id >= MaxClients:
		return d.fail(recordName(record), decoders.ErrLimit, "client id %d; they may be up to %d", id, MaxClients-1)
	}
	return nil
}

// namedClient returns the client that a record names. For the first record that names it, it adds a warning, because a
// JOIN should have come first.
func (d *Decoder) namedClient(ev *Event, id int32) *Client {
	c := d.state.client(id)
	if !c.seen {
		c.seen, c.Present = true, true
		warn(ev, WarningClientNeverJoined)
	}
	return c
}

func (d *Decoder) finish(c *cursor, ev *Event) (bool, error) {
	if c.rest() == 0 && d.w.Fill() == nil { // finish should be the last byte; an error of Fill does not matter here
		c.b = d.w.Bytes()
	}
	d.begin(c, ev, KindFinish)
	if c.rest() > 0 {
		warn(ev, WarningDataAfterFinish)
	}
	d.err = io.EOF
	return true, nil
}

func (d *Decoder) join(c *cursor, ev *Event) (bool, error) {
	id := c.int()
	if c.cut {
		return false, nil
	}
	if err := d.checkClient(id, idJoin); err != nil {
		return false, err
	}
	d.begin(c, ev, KindJoin)
	ev.Join.ClientId = id
	d.state.client(id).connect(d.state.tick == 0)
	return true, nil
}

func (d *Decoder) drop(c *cursor, ev *Event) (bool, error) {
	id := c.int()
	if c.cut {
		return false, nil
	}
	if err := d.checkClient(id, idDrop); err != nil {
		return false, err
	}
	if whole, err := d.findTexts(c, 0, 1, idDrop); !whole || err != nil {
		return false, err
	}
	start := d.w.Offset()
	ev.Drop.Reason = c.string()
	d.begin(c, ev, KindDrop)
	ev.Drop.ClientId = id
	client := d.namedClient(ev, id)
	ev.Drop.ReclaimedClientId = d.state.reclaimed(id, ev.Drop.Reason, start)
	client.disconnect()
	return true, nil
}
