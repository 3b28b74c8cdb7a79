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

	line eventLine // of the last event
}

// Append appends the line of an event, which is given as JSON, without its end.
func (e *Events) Append(dst, event []byte) ([]byte, error) {
	e.line.parts = e.line.parts[:0]
	l := &e.line
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
	return l.appendTo(dst, e.Painter, e.Width), err
}

// eventLine is the line of an event.
type eventLine struct{ parts []part }

// part is a text with a colour; 0 is none.
type part struct {
	color Color
	text  string
}

func (l *eventLine) add(color Color, text string) { l.parts = append(l.parts, part{color, text}) }

// appendTo appends the line, or of it what fits. A width of 0 is no limit.
func (l *eventLine) appendTo(dst []byte, paint Painter, width int) []byte {
	left := 0 // columns of the line that are not printed yet
	for _, p := range l.parts {
		left += cells(p.text)
	}
	room := width
	for _, p := range l.parts {
		n := cells(p.text)
		cut := width > 0 && left > room && n >= room // this part is the last one
		if cut {
			p.text = strings.TrimRight(fit(p.text+"  ", room), " ")
		}
		if p.color == 0 {
			dst = append(dst, p.text...)
		} else {
			dst = paint.Append(dst, p.color, p.text)
		}
		if cut {
			break
		}
		left, room = left-n, room-n
	}
	return dst
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
