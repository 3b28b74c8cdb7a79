package terminal

import (
	"cmp"
	"io"
	"slices"
	"strings"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// PageSize is how many rows a List or a Table lays out together.
const PageSize = 100

// column is a column of a list.
type column[R any] struct {
	title  string
	most   int   // the most terminal columns that it takes; 0 is no limit
	narrow int   // the same on narrow terminals
	right  bool  // values are aligned right
	wide   bool  // shown on wide terminals only
	color  Color // of the values; 0 is none
	of     func(R) string
}

// wide is the number of terminal columns from which on all columns of a list are shown.
const wide = 110

var columns = []column[*replaydv1.Replay]{
	{title: "FORMAT", wide: true, of: func(r *replaydv1.Replay) string { return name(r.GetFormat().String(), "FORMAT_") }},
	{title: "STATE", color: Green, of: func(r *replaydv1.Replay) string {
		if r.GetState() == replaydv1.ReplayState_REPLAY_STATE_GROWING {
			return "live"
		}
		return State(r)
	}},
	{title: "LENGTH", right: true, of: func(r *replaydv1.Replay) string {
		if r.GetDuration() == nil {
			return ""
		}
		return length(r.GetDuration().AsDuration())
	}},
	{title: "MAP", most: 20, narrow: 16, of: func(r *replaydv1.Replay) string { return clean(r.GetMapName()) }},
	{title: "PLAYERS", most: 24, narrow: 20, of: func(r *replaydv1.Replay) string { return clean(Players(r)) }},
	{title: "RESULT", most: 16, narrow: 12, of: func(r *replaydv1.Replay) string { return clean(Result(r)) }},
	{title: "SIZE", right: true, wide: true, of: func(r *replaydv1.Replay) string { return Size(r.GetSizeBytes()) }},
	{title: "CHANGED", wide: true, of: func(r *replaydv1.Replay) string {
		if r.GetModifyTime() == nil {
			return ""
		}
		return r.GetModifyTime().AsTime().UTC().Format("2006-01-02 15:04")
	}},
	{title: "NAME", of: func(r *replaydv1.Replay) string { return clean(r.GetName()) }}, // last, and never cut: other commands take it
}

// Players says who played, for people. It is "" if that is not known.
func Players(r *replaydv1.Replay) string {
	if lineup := r.GetLineup(); lineup != "" || len(r.GetParticipants()) == 0 {
		return strings.TrimSuffix(lineup, ", "+winners(r))
	}
	var names []string
	for _, p := range r.GetParticipants() {
		if n := lastName(p); n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return strings.Join(names, ", ")
}

// Result says how a game ended, for people: who won, or the fastest finish of a race. It is "" if that is not known.
func Result(r *replaydv1.Replay) string {
	if won := winners(r); won != "" {
		for _, p := range r.GetPlayers() {
			if r.GetFormat() == replaydv1.Format_FORMAT_DEM && p.GetResult() == replaydv1.PlayerResult_PLAYER_RESULT_WIN {
				return cmp.Or(wonBy(p.GetTeam()), won)
			}
		}
		return won
	}
	if slices.ContainsFunc(r.GetPlayers(), func(p *replaydv1.Player) bool { return p.GetResult() == replaydv1.PlayerResult_PLAYER_RESULT_TIE }) {
		return "tie"
	}
	var first string
	best := int32(-1)
	for _, p := range r.GetParticipants() {
		for _, f := range p.GetFinishes() {
			if best < 0 || f.GetTime() < best {
				best, first = f.GetTime(), run(f.GetTime())+" "+lastName(p)
			}
		}
	}
	return first
}

// winners says which players won, if others did not, as a lineup does.
func winners(r *replaydv1.Replay) string {
	var won []string
	for _, p := range r.GetPlayers() {
		if p.GetResult() == replaydv1.PlayerResult_PLAYER_RESULT_WIN {
			won = append(won, p.GetName())
		}
	}
	if len(won) == 0 || len(won) == len(r.GetPlayers()) {
		return ""
	}
	return strings.Join(won, " and ") + " won"
}

// wonBy says which side of Dota 2 won, the only game whose demos say it.
func wonBy(team int32) string {
	switch team {
	case 2:
		return "Radiant won"
	case 3:
		return "Dire won"
	}
	return ""
}

func lastName(p *replaydv1.Participant) string {
	if n := len(p.GetNames()); n > 0 {
		return p.GetNames()[n-1]
	}
	return ""
}

// State returns a replay's state, "" while it is not known.
func State(r *replaydv1.Replay) string {
	if r.GetState() == replaydv1.ReplayState_REPLAY_STATE_UNSPECIFIED {
		return ""
	}
	return name(r.GetState().String(), "REPLAY_STATE_")
}

// List prints replays as a table, page by page. It leaves out columns that are empty for all replays of a page.
type List struct {
	Out io.Writer
	// Width is the number of the terminal's columns.
	Width int
	// Paint returns a text in a colour. Without it, texts have none.
	Paint func(color Color, text string) string

	pages pages[*replaydv1.Replay]
}

// Add adds a replay, and prints the page that it fills.
func (l *List) Add(r *replaydv1.Replay) error {
	return l.pages.add(r, l.Flush)
}

// Flush prints the replays that were added since the last page.
func (l *List) Flush() error { return l.pages.flush(l.Out, columns, l.Width, l.Paint) }

// Table prints rows of texts as a table, page by page. It leaves out columns that are empty for all rows of a page.
type Table struct {
	Out io.Writer
	// Width is the number of the terminal's columns.
	Width int
	// Paint returns a text in a colour. Without it, texts have none.
	Paint func(color Color, text string) string
	// Columns are the columns. The values of the last one are never cut.
	Columns []Column

	pages pages[[]string]
}

// Column is a column of a Table.
type Column struct {
	Title string
	// Most is the most terminal columns that it takes while others need them, 0 for no limit.
	Most int
	// Wide columns are shown on wide terminals only.
	Wide bool
}

// Add adds a row, with a text for each column, and prints the page that it fills.
func (t *Table) Add(texts ...string) error { return t.pages.add(texts, t.Flush) }

// Flush prints the rows that were added since the last page.
func (t *Table) Flush() error {
	all := make([]column[[]string], len(t.Columns))
	for i, c := range t.Columns {
		all[i] = column[[]string]{title: c.Title, most: c.Most, wide: c.Wide, of: func(row []string) string { return clean(row[i]) }}
	}
	return t.pages.flush(t.Out, all, t.Width, t.Paint)
}

// pages are rows that wait to be laid out together.
type pages[R any] struct {
	page   []R
	titled bool
}

func (p *pages[R]) add(r R, flush func() error) error {
	if p.page = append(p.page, r); len(p.page) < PageSize {
		return nil
	}
	return flush()
}

func (p *pages[R]) flush(out io.Writer, columns []column[R], width int, paint func(Color, string) string) error {
	if paint == nil {
		paint = func(_ Color, text string) string { return text }
	}
	var shown []*laid[R]
	left := width + gap
	for _, c := range columns {
		if c.wide && width < wide {
			continue
		}
		if width < wide {
			c.most = cmp.Or(c.narrow, c.most)
		}
		if one := lay(c, p.page); one.full > 0 {
			shown, left = append(shown, one), left-one.width-gap
		}
	}
	for _, one := range shown { // the rest goes to the columns that were cut
		more := max(0, min(left, one.full-one.width))
		one.width, left = one.width+more, left-more
	}
	var b strings.Builder
	if !p.titled && len(shown) > 0 {
		p.titled = true
		b.WriteString(paint(Dim, line(shown, func(one *laid[R], fitted func(string) string) string { return fitted(one.title) })) + "\n")
	}
	for i := range p.page {
		b.WriteString(line(shown, func(one *laid[R], fitted func(string) string) string {
			text := fitted(one.texts[i])
			if one.color != 0 && one.texts[i] == "live" {
				text = paint(one.color, text)
			}
			return text
		}) + "\n")
	}
	p.page = p.page[:0]
	_, err := io.WriteString(out, b.String())
	return err
}

// gap is the number of spaces between columns.
const gap = 2

// laid is a column as laid out on one page.
type laid[R any] struct {
	column[R]

	texts []string
	full  int // the width of its longest text
	width int // its printed width
}

func lay[R any](c column[R], page []R) *laid[R] {
	one := &laid[R]{column: c, texts: make([]string, len(page))}
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

// line returns a line of a table. text returns the text of a column, made as wide as the column by fitted. The last column is as long
// as its text.
func line[R any](shown []*laid[R], text func(one *laid[R], fitted func(string) string) string) string {
	var b strings.Builder
	for i, one := range shown {
		if i == len(shown)-1 {
			b.WriteString(text(one, func(t string) string { return t }))
			break
		}
		b.WriteString(text(one, func(t string) string {
			if one.right {
				t = strings.Repeat(" ", max(0, one.width-cells(t))) + t
			}
			return fit(t, one.width)
		}) + strings.Repeat(" ", gap))
	}
	return b.String()
}

// name returns the name of an enum's value without its prefix, in lower case.
func name(value, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(value, prefix)), "_", " ")
}
