package terminal

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"
)

// clean returns a text without characters that a terminal obeys or does not show.
func clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == unicode.ReplacementChar, unicode.IsGraphic(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return unicode.ReplacementChar
	}, text))
}

// cleaned returns texts without what could command a terminal.
func cleaned(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = clean(text)
	}
	return out
}

// cells returns the number of terminal columns that a text takes.
func cells(text string) int {
	n := 0
	for _, r := range text {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit returns a text that takes exactly so many columns: it is cut, with an ellipsis, or filled up with spaces.
func fit(text string, columns int) string {
	if n := cells(text); n <= columns {
		return text + strings.Repeat(" ", columns-n)
	}
	var b strings.Builder
	n := 1 // of the ellipsis
	for _, r := range text {
		if n += cellsOf(r); n > columns {
			n -= cellsOf(r)
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…" + strings.Repeat(" ", columns-n)
}

// folded returns a text as lines of so many columns at most. Longer words have a line of their own, and are cut.
func folded(text string, columns int) (lines []string) {
	for cells(text) > columns {
		n, end, space := 0, 0, -1
		for i, r := range text {
			if n += cellsOf(r); n > columns+1 {
				break
			}
			if end = i; r == ' ' {
				space = i
			}
		}
		if space < 0 { // at the first space, or nowhere
			if space = strings.IndexByte(text[end:], ' '); space < 0 {
				break
			}
			space += end
		}
		lines = append(lines, strings.TrimRight(fit(text[:space], columns), " "))
		text = strings.TrimLeft(text[space:], " ")
	}
	return append(lines, strings.TrimRight(fit(text, columns), " "))
}

// Size returns a number of bytes, such as "12.4 kB".
func Size(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, unit := float64(n)/1000, 0
	for ; value >= 999.5 && unit < 3; unit++ {
		value /= 1000
	}
	digits := 0
	if value < 9.95 {
		digits = 1
	}
	return strconv.FormatFloat(value, 'f', digits, 64) + []string{" kB", " MB", " GB", " TB"}[unit]
}

// length returns a duration, such as "1:05:09" or "0:42".
func length(d time.Duration) string {
	seconds := int64(d / time.Second)
	rest := two(seconds % 60)
	if seconds < 3600 {
		return strconv.FormatInt(seconds/60, 10) + ":" + rest
	}
	return strconv.FormatInt(seconds/3600, 10) + ":" + two(seconds/60%60) + ":" + rest
}

func two(n int64) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }
