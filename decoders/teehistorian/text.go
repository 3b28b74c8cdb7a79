package teehistorian

import (
	"bytes"

	"github.com/replayd/replayd/decoders"
)

// search finds the ends of consecutive texts. It remembers its progress, so that a long record that arrives byte by
// byte is searched only once. Offsets are offsets in the file.
type search struct {
	from int64 // where the texts start
	next int64 // where to continue the search
	left int32 // texts whose end is not found yet
}

// findTexts reports whether n texts are completely present at the cursor, which it does not move. slot selects one of
// the two searches of a record.
func (d *Decoder) findTexts(c *cursor, slot int, n int32, record int32) (bool, error) {
	start := d.w.Offset()
	s := &d.searches[slot]
	if from := start + int64(c.p); s.from != from {
		*s = search{from: from, next: from, left: n}
	}
	for s.left > 0 {
		rest := c.b[s.next-start:]
		i := bytes.IndexByte(rest, 0)
		if i < 0 {
			s.next += int64(len(rest))
			break
		}
		s.next += int64(i) + 1
		s.left--
	}
	if s.next-start > MaxRecord {
		return false, d.fail(recordName(record), decoders.ErrLimit, "it is longer than %d bytes", MaxRecord)
	}
	return s.left == 0, nil
}

func (d *Decoder) consoleCommand(c *cursor, ev *Event) (bool, error) {
	id, flags := c.int(), c.int()
	if c.cut {
		return false, nil
	}
	if id >= 0 { // negative ids are files, votes and similar
		if err := d.checkClient(id, idConsoleCommand); err != nil {
			return false, err
		}
	}
	if whole, err := d.findTexts(c, 0, 1, idConsoleCommand); !whole || err != nil {
		return false, err
	}
	command := c.string()
	count := c.int()
	switch {
	case c.cut:
		return false, nil
	case count > MaxArguments:
		return false, d.fail("console_command", decoders.ErrLimit, "it has %d arguments; there may be %d", count, MaxArguments)
	}
	if whole, err := d.findTexts(c, 1, max(count, 0), idConsoleCommand); !whole || err != nil {
		return false, err
	}
	arguments := ev.ConsoleCommand.Arguments[:0]
	for range count {
		arguments = append(arguments, c.string())
	}
	d.begin(c, ev, KindConsoleCommand)
	ev.ConsoleCommand = ConsoleCommand{ClientId: id, Flags: flags, Command: command, Arguments: arguments}
	if count < 0 {
		warn(ev, WarningNegativeCount)
	}
	if id >= 0 {
		d.namedClient(ev, id)
	}
	d.state.command(&ev.ConsoleCommand, d.w.Offset())
	return true, nil
}

// data reads the length of a record's data, and the data. It returns false when they are not completely present.
func (d *Decoder) data(c *cursor, record int32) ([]byte, bool, error) {
	size := c.int()
	switch {
	case c.cut:
		return nil, false, nil
	case size < 0:
		return nil, false, d.fail(recordName(record), decoders.ErrCorrupt, "it has a size of %d bytes", size)
	case size > MaxRecord:
		return nil, false, d.fail(recordName(record), decoders.ErrLimit, "it has a size of %d bytes; it may have %d", size, MaxRecord)
	}
	b := c.bytes(int(size))
	return b, !c.cut, nil
}
