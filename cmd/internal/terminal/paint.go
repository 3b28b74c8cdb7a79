package terminal

import "strconv"

// Painter colours text for a terminal. The zero Painter leaves text as it is.
type Painter struct{ On bool }

// Color is the parameter of an ANSI escape sequence.
type Color int

// The colours.
const (
	Dim    Color = 2 // of less important text
	Green  Color = 32
	Yellow Color = 33
	Cyan   Color = 36
)

// Append appends a text in a colour.
func (p Painter) Append(dst []byte, color Color, text string) []byte {
	if !p.On {
		return append(dst, text...)
	}
	dst = append(dst, "\x1b["...)
	dst = strconv.AppendInt(dst, int64(color), 10)
	dst = append(dst, 'm')
	dst = append(dst, text...)
	return append(dst, "\x1b[0m"...)
}

// Paint returns a text in a colour.
func (p Painter) Paint(color Color, text string) string { return string(p.Append(nil, color, text)) }

// Dim returns a text in the colour of titles.
func (p Painter) Dim(text string) string { return p.Paint(Dim, text) }
