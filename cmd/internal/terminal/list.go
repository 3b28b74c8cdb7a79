package terminal

import (
	"io"
	"strings"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// PageSize is how many replays a List lays out together.
const PageSize = 100

// column is a column of a list.
type column struct {
	title string
	most  int  // the most terminal columns that it takes; 0 is no limit
	right bool // values are aligned right
	wide  bool // shown on wide terminals only
	of    func(*replaydv1.Replay) string
}

// wide is the number of terminal columns from which on all columns of a list are shown.
const wide = 110

var columns = []column{
	{title: "FORMAT", of: func(r *replaydv1.Replay) string { return name(r.GetFormat().String(), "FORMAT_") }},
	{title: "STATE", wide: true, of: state},
	{title: "LENGTH", right: true, of: func(r *replaydv1.Replay) string {
		switch {
		case r.GetState() == replaydv1.ReplayState_REPLAY_STATE_GROWING:
			return "live"
		case r.GetDuration() == nil:
			return ""
		}
		return length(r.GetDuration().AsDuration())
	}},
	{title: "MAP", most: 20, of: func(r *replaydv1.Replay) string { return clean(r.GetMapName()) }},
	{title: "PLAYERS", most: 24, of: func(r *replaydv1.Replay) string { return clean(r.GetLineup()) }},
	{title: "SIZE", right: true, wide: true, of: func(r *replaydv1.Replay) string { return Size(r.GetSizeBytes()) }},
	{title: "CHANGED", wide: true, of: func(r *replaydv1.Replay) string {
		if r.GetModifyTime() == nil {
			return ""
		}
		return r.GetModifyTime().AsTime().UTC().Format("2006-01-02 15:04")
	}},
	{title: "NAME", of: func(r *replaydv1.Replay) string { return clean(r.GetName()) }}, // last, and never cut: other commands take it
}

// List prints replays as a table, page by page. It leaves out columns that are empty for all replays of a page.
type List struct {
	Out io.Writer
	// Width is the number of the terminal's columns.
	Width int
	// Dim returns a text in the colour of titles. Nil changes nothing.
	Dim func(string) string

	page   []*replaydv1.Replay
	titled bool
}

// Add adds a replay, and prints the page that it fills.
func (l *List) Add(r *replaydv1.Replay) error {
	if l.page = append(l.page, r); len(l.page) < PageSize {
		return nil
	}
	return l.Flush()
}

// Flush prints the replays that were added since the last page.
func (l *List) Flush() error {
	var shown []*laid
	left := l.Width + gap
	for _, c := range columns {
		if c.wide && l.Width < wide {
			continue
		}
		if one := lay(c, l.page); one.full > 0 {
			shown, left = append(shown, one), left-one.width-gap
		}
	}
	for _, one := range shown { // the rest goes to the columns that were cut
		more := max(0, min(left, one.full-one.width))
		one.width, left = one.width+more, left-more
	}
	var b strings.Builder
	if !l.titled && len(shown) > 0 {
		l.titled = true
		title := line(shown, func(one *laid) string { return one.title })
		if l.Dim != nil {
			title = l.Dim(title)
		}
		b.WriteString(title + "\n")
	}
	for i := range l.page {
		b.WriteString(line(shown, func(one *laid) string { return one.texts[i] }) + "\n")
	}
	l.page = l.page[:0]
	_, err := io.WriteString(l.Out, b.String())
	return err
}

// gap is the number of spaces between columns.
const gap = 2

// laid is a column as laid out on one page.
type laid struct {
	column
	texts []string
	full  int // the width of its longest text
	width int // its printed width
}

func lay(c column, page []*replaydv1.Replay) *laid {
	one := &laid{column: c, texts: make([]string, len(page))}
	for i, r := range page {
		one.texts[i] = c.of(r)
		one.full = max(one.full, cells(one.texts[i]))
	}
	one.width = max(one.full, len(c.title))
	if c.most > 0 {
		one.width = min(one.width, c.most)
	}
	return one
}

// line returns a line of a table. The last column is as long as its text.
func line(shown []*laid, text func(*laid) string) string {
	var b strings.Builder
	for i, one := range shown {
		t := text(one)
		switch {
		case i == len(shown)-1:
			return b.String() + t
		case one.right:
			t = strings.Repeat(" ", max(0, one.width-cells(t))) + t
		}
		b.WriteString(fit(t, one.width) + strings.Repeat(" ", gap))
	}
	return b.String()
}

// name returns the name of an enum's value without its prefix, in lower case.
func name(value, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(value, prefix)), "_", " ")
}

// state returns a replay's state, "" while it is not known.
func state(r *replaydv1.Replay) string {
	if r.GetState() == replaydv1.ReplayState_REPLAY_STATE_UNSPECIFIED {
		return ""
	}
	return name(r.GetState().String(), "REPLAY_STATE_")
}
