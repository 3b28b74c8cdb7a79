package terminal

import "strings"

// heading is the head of a column of a grid.
type heading struct {
	title string
	right bool // values are aligned right
	spare int  // the order in which columns go on a narrow terminal: larger numbers first, and of those with 0 the last column
}

// grid is a table that leaves out columns without any text.
type grid struct {
	heads []heading
	rows  [][]string
}

// add adds a row, with a text for each column.
func (g *grid) add(texts ...string) { g.rows = append(g.rows, texts) }

// leastCells is the number of terminal columns that a grid's first column keeps.
const leastCells = 12

// print appends the lines of the grid, none of them longer than width. It leaves out columns that do not fit, and then cuts the
// first.
func (g *grid) print(b *strings.Builder, width int, dim func(string) string) {
	widths := make([]int, len(g.heads))
	for i, h := range g.heads {
		for _, row := range g.rows {
			widths[i] = max(widths[i], cells(row[i]))
		}
		if widths[i] > 0 {
			widths[i] = max(widths[i], len(h.title))
		}
	}
	for {
		total, first, out := -gap, -1, -1
		for i, w := range widths {
			if w == 0 {
				continue
			}
			if total += w + gap; first < 0 {
				first = i
			}
			if i > first && (out < 0 || g.heads[i].spare >= g.heads[out].spare) {
				out = i
			}
		}
		switch over := total - width; {
		case first < 0:
			return
		case over <= 0:
		case out >= 0 && widths[first]-over < leastCells:
			widths[out] = 0
			continue
		default:
			widths[first] = max(widths[first]-over, 1)
		}
		break
	}
	b.WriteString(dim(g.line(widths, func(i int) string { return g.heads[i].title })) + "\n")
	for _, row := range g.rows {
		b.WriteString(g.line(widths, func(i int) string { return row[i] }) + "\n")
	}
}

// line returns a line of the grid, without spaces at its end.
func (g *grid) line(widths []int, text func(i int) string) string {
	var parts []string
	for i, w := range widths {
		if w == 0 {
			continue
		}
		t := text(i)
		if g.heads[i].right {
			t = strings.Repeat(" ", max(0, w-cells(t))) + t
		}
		parts = append(parts, fit(t, w))
	}
	return strings.TrimRight(strings.Join(parts, strings.Repeat(" ", gap)), " ")
}

// wrapped appends parts to a line that begins with a head. Further lines begin with as many spaces. No line is longer than width,
// except one with a single part.
func wrapped(b *strings.Builder, head string, parts []string, width int) {
	indent := strings.Repeat(" ", cells(head))
	line := head
	for i, part := range parts {
		if i < len(parts)-1 {
			part += ","
		}
		if i > 0 && cells(line)+1+cells(part) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if i > 0 && line != indent {
			line += " "
		}
		line += part
	}
	b.WriteString(line + "\n")
}
