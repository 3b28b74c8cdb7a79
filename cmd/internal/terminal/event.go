package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Events lays out events, a line for each: tick, kind, and the fields as name=value.
type Events struct {
	Painter

	// Width is the number of the terminal's columns: ticks and kinds are then aligned, and lines cut. 0 does neither.
	Width int
}

// Append appends the line of an event, which is given as JSON, without its end.
func (e *Events) Append(dst, event []byte) ([]byte, error) {
	l := eventLine{Events: e, dst: dst, left: e.Width}
	var tick, kind string
	err := eachField(event, func(name string, value json.RawMessage) error {
		switch name {
		case "sequence", "offset", "index":
		case "at_tick":
			tick = string(value)
		case "kind":
			kind = clean(string(bytes.Trim(value, `"`)))
			if e.Width > 0 {
				tick, kind = fmt.Sprintf("%8s", tick), fmt.Sprintf("%-18s", kind)
			}
			l.add(Dim, tick)
			l.add(0, " ")
			l.add(Green, kind)
		case strings.TrimRight(kind, " "):
			return eachField(value, l.field)
		default:
			return l.field(name, value)
		}
		return nil
	})
	return l.dst, err
}

// eventLine is the line of an event.
type eventLine struct {
	*Events

	dst  []byte
	left int // the columns that are left of the terminal
}

// add appends a text, or of it what fits.
func (l *eventLine) add(color Color, text string) {
	if l.Width > 0 {
		if l.left <= 0 {
			return
		}
		n := cells(text)
		if n > l.left || n == l.left && color != 0 { // what follows a name is not all on this line
			text = strings.TrimRight(fit(text+"  ", l.left), " ")
			n = l.left
		}
		l.left -= n
	}
	if color == 0 {
		l.dst = append(l.dst, text...)
		return
	}
	l.dst = l.Painter.Append(l.dst, color, text)
}

func (l *eventLine) field(name string, value json.RawMessage) error {
	l.add(0, " ")
	l.add(Cyan, clean(name)+"=")
	l.add(0, clean(string(value)))
	return nil
}

// eachField calls visit for each field of a JSON object, in order.
func eachField(object []byte, visit func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil { // the opening brace
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		text, ok := name.(string)
		if !ok {
			return fmt.Errorf("%v is not a name", name)
		}
		if err := visit(text, value); err != nil {
			return err
		}
	}
	return nil
}
