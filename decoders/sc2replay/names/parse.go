package names

import (
	"fmt"
	"strconv"
	"strings"
)

// The two kinds of links.
const (
	abilities = iota
	units
	kinds
)

// links has the names of links, or "" for those that have none.
type links []string

// of returns the name of a link, or "".
func (l links) of(link int) string {
	if link >= len(l) {
		return ""
	}
	return l[link]
}

// reader parses names.txt.
type reader struct {
	Set
	section string
	now     *links // the current list
	before  links  // the list before it, of the same kind
	last    [kinds]*links
	kind    int
}

// Parse returns the embedded names with those of further texts of the same format. Where two tables serve a build, the later
// one is used.
func Parse(more ...string) (*Set, error) {
	r := newReader()
	for _, text := range append([]string{embedded}, more...) {
		if err := r.read(text); err != nil {
			return nil, err
		}
	}
	return &r.Set, nil
}

func newReader() *reader {
	return &reader{last: [kinds]*links{{}, {}}, Set: Set{
		commands: map[string][][]byte{}, classes: map[string]Class{}, lists: [kinds]map[string]*links{{}, {}},
	}}
}

func (r *reader) read(text string) error {
	r.section = ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		if err := r.line(fields); err != nil {
			return fmt.Errorf("names: line %d: %w", n, err)
		}
	}
	return nil
}

func (r *reader) line(fields []string) error {
	switch fields[0] {
	case "source":
		r.source = strings.Join(fields[1:], " ")
		return nil
	case "commands", "classes", "tables":
		r.section = fields[0]
		return nil
	case "abilities", "units":
		if len(fields) != 2 {
			return fmt.Errorf("a list needs a name")
		}
		r.section = "links"
		if r.kind = abilities; fields[0] == "units" {
			r.kind = units
		}
		r.before, r.now = *r.last[r.kind], &links{}
		r.last[r.kind], r.lists[r.kind][fields[1]] = r.now, r.now
		return nil
	}
	switch r.section {
	case "commands":
		return r.addCommands(fields[0], fields[1:])
	case "classes":
		return r.addClass(fields[0], fields[1:])
	case "links":
		return r.addLinks(fields)
	case "tables":
		return r.addTable(fields)
	}
	return fmt.Errorf("%q belongs to no section", fields[0])
}

func (r *reader) addClass(class string, types []string) error {
	c, ok := classNames[class]
	if !ok {
		return fmt.Errorf("unknown class %q", class)
	}
	for _, name := range types {
		r.classes[name] = c
	}
	return nil
}

// maxCommands bounds the commands of an ability.
const maxCommands = 256

func (r *reader) addCommands(ability string, fields []string) error {
	var commands [][]byte
	for ; len(fields) >= 2; fields = fields[2:] {
		index, err := strconv.Atoi(fields[0])
		if err != nil || index < len(commands) || index >= maxCommands {
			return fmt.Errorf("%q is not the index of the next command", fields[0])
		}
		for len(commands) < index {
			commands = append(commands, nil)
		}
		commands = append(commands, []byte(fields[1]))
	}
	r.commands[ability] = commands
	return nil
}

// maxLink bounds the links of the balance data, which are 16-bit numbers.
const maxLink = 1 << 16

func number(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n > maxLink || n < -maxLink {
		return 0, fmt.Errorf("%q is no link", s)
	}
	return n, nil
}

// addLinks parses "link name", or "= first last shift". The latter copies the names at links first to last of the
// previous list, to links that are higher by shift.
func (r *reader) addLinks(fields []string) error {
	if len(fields) == 2 {
		link, err := number(fields[0])
		if err != nil || link < 0 {
			return fmt.Errorf("%q is no link", fields[0])
		}
		set(r.now, link, fields[1])
		return nil
	}
	if fields[0] != "=" || len(fields) != 4 {
		return fmt.Errorf("neither a link with a name nor a part of the previous list")
	}
	var n [3]int
	for i := range n {
		var err error
		if n[i], err = number(fields[1+i]); err != nil {
			return err
		}
	}
	for link := max(n[0], -n[2], 0); link <= n[1] && link < len(r.before); link++ {
		if name := r.before[link]; name != "" {
			set(r.now, link+n[2], name)
		}
	}
	return nil
}

// addTable parses an expansion, the first build, the build behind the last one, and the two lists of names.
func (r *reader) addTable(fields []string) error {
	if len(fields) != 5 {
		return fmt.Errorf("a table needs an expansion, two builds and two lists")
	}
	from, err := strconv.Atoi(fields[1])
	if err != nil {
		return err
	}
	to, err := strconv.Atoi(fields[2])
	if err != nil {
		return err
	}
	t := &Table{
		Build: from, end: to, expansion: Expansion(fields[0]), specs: [kinds]string(fields[3:]),
		Source: r.source + ", " + fields[3],
	}
	for kind, spec := range t.specs {
		if _, err := r.choose(kind, spec); err != nil {
			return err
		}
	}
	if t.specs[units] != t.specs[abilities] {
		t.Source += " and " + t.specs[units]
	}
	r.tables = append(r.tables, t)
	return nil
}

// choice is a list, of which the names of links below a limit are sure, if another list has them at the same links, too.
type choice struct {
	list, agreed *links // agreed is nil if there is no other list
	below        int
}

// choose returns the list "A". Of "A&B" are those names sure that list B also has at the same link, and of "A<100" those of links
// below 100.
func (s *Set) choose(kind int, spec string) (c choice, err error) {
	name, other, agreed := strings.Cut(spec, "&")
	name, below, limited := strings.Cut(name, "<")
	if c.below = maxLink; limited {
		if c.below, err = number(below); err != nil {
			return c, err
		}
	}
	if c.list = s.lists[kind][name]; c.list == nil {
		return c, fmt.Errorf("no list %q", name)
	}
	if c.agreed = s.lists[kind][other]; agreed && c.agreed == nil {
		return c, fmt.Errorf("no list %q", other)
	}
	return c, nil
}

// fill sets a table's names.
func (s *Set) fill(t *Table) {
	s.each(t, abilities, func(link int, ability string) {
		commands, ok := s.commands[ability]
		if !ok {
			commands = [][]byte{[]byte(ability)}
		}
		set(&t.commands, link, commands)
	})
	s.each(t, units, func(link int, name string) { set(&t.units, link, []byte(name)) })
}

// each calls add for every name of one kind, and notes which names are sure. Where two lists have a name, the first one's is last.
func (s *Set) each(t *Table, kind int, add func(link int, name string)) {
	c, _ := s.choose(kind, t.specs[kind]) // addTable has checked it
	for _, list := range []*links{c.agreed, c.list} {
		if list == nil {
			continue
		}
		for link, name := range *list {
			if name != "" {
				add(link, name)
				set(&t.sure[kind], link, list == c.list && link < c.below && (c.agreed == nil || c.agreed.of(link) == name))
			}
		}
	}
}

// set sets an element of a slice, which it extends if necessary.
func set[S ~[]T, T any](list *S, at int, v T) {
	if missing := at + 1 - len(*list); missing > 0 {
		*list = append(*list, make([]T, missing)...)
	}
	(*list)[at] = v
}
