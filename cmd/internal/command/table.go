package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

// painter colours text for a terminal. The zero painter leaves text as it is.
type painter struct{ on bool }

// newPainter returns a painter for a command's output. It colours text if the output is a terminal and NO_COLOR is not set.
func newPainter(con Console) painter {
	return painter{isTerminal(con.Out) && os.Getenv("NO_COLOR") == ""}
}

// Parameters of ANSI escape sequences.
const (
	dim    = 2
	green  = 32
	yellow = 33
	cyan   = 36
)

// dim returns a text in the colour of less important text.
func (p painter) dim(text string) string { return string(p.append(nil, dim, text)) }

func (p painter) append(dst []byte, color int, text string) []byte {
	if !p.on {
		return append(dst, text...)
	}
	dst = append(dst, "\x1b["...)
	dst = strconv.AppendInt(dst, int64(color), 10)
	dst = append(dst, 'm')
	dst = append(dst, text...)
	return append(dst, "\x1b[0m"...)
}

// appendRow appends an event, given as JSON, as a row of a table: tick, kind, and the fields as name=value.
func (p painter) appendRow(dst, event []byte) ([]byte, error) {
	var tick, kind string
	var fields []byte
	err := eachField(event, func(name string, value json.RawMessage) error {
		switch name {
		case "sequence":
		case "at_tick":
			tick = string(value)
		case "kind":
			kind = string(bytes.Trim(value, `"`))
		case kind:
			return eachField(value, func(name string, value json.RawMessage) error {
				fields = p.appendField(fields, name, value)
				return nil
			})
		default:
			fields = p.appendField(fields, name, value)
		}
		return nil
	})
	dst = p.append(dst, dim, fmt.Sprintf("%8s", tick))
	dst = append(dst, ' ')
	dst = p.append(dst, green, fmt.Sprintf("%-18s", kind))
	return append(dst, fields...), err
}

func (p painter) appendField(dst []byte, name string, value []byte) []byte {
	dst = append(dst, ' ')
	dst = p.append(dst, cyan, name+"=")
	return append(dst, value...)
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
