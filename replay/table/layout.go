package table

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Layout says which columns the tables of a format have. Its columns never change.
type Layout struct {
	Format *Format

	fields [][]Field // by kind: the columns that the table has
	there  [][]bool  // by kind, for all columns of the format in preorder: whether the table has the column
	memos  sync.Map  // of kinds, see Memo
	left   sync.Pool // sets, see Set.Leave
}

// Layout returns the layout with all columns. It has the columns of resolved players only if resolved is true. Both layouts of a
// format are made once and never freed.
func (f *Format) Layout(resolved bool) *Layout {
	f.all()
	if resolved {
		return f.layouts[1]
	}
	return f.layouts[0]
}

func (f *Format) newLayout(resolved bool) *Layout {
	l := &Layout{Format: f}
	for k := range f.Kinds {
		all := f.columns[k]
		there := make([]bool, width(all))
		at := 0
		for i := range all {
			for j := range all[i].width() {
				there[at+j] = resolved || !all[i].Resolved
			}
			at += all[i].width()
		}
		l.add(all, there)
	}
	return l
}

func (l *Layout) add(all []Field, there []bool) {
	l.fields = append(l.fields, remaining(all, there))
	l.there = append(l.there, there)
}

// Select returns a layout in which the tables of some kinds have only the named columns. A dot in a name leads into a struct, or
// into the structs of a list. Each of these kinds must have each of the columns. Other kinds keep their columns.
func (l *Layout) Select(columns []string, of func(kind uint8) bool) (*Layout, error) {
	s := &Layout{Format: l.Format}
	for k := range l.Format.Kinds {
		all, there := l.Format.columns[k], l.there[k]
		if k > 0 && of(uint8(k)) {
			chosen := make([]bool, len(there))
			for _, name := range columns {
				if !choose(chosen, there, all, name) {
					return nil, fmt.Errorf("%s has no column %q; its columns are %s", l.Format.Kinds[k].Name, name,
						strings.Join(alternatives(l.fields[k], name), ", "))
				}
			}
			there = chosen
		}
		s.add(all, there)
	}
	return s, nil
}

// choose marks in chosen the columns that a name selects: the named column, and all columns below it. It returns false if the
// table has no column of that name.
func choose(chosen, there []bool, fields []Field, name string) bool {
	at := 0
	for i := range fields {
		f := &fields[i]
		end := at + f.width()
		rest, below := strings.CutPrefix(name, f.Name)
		switch {
		case !below || rest != "" && (rest[0] != '.' || len(f.Fields) == 0):
			at = end
			continue
		case !there[at]:
			return false
		case rest == "":
			copy(chosen[at:end], there[at:end])
			return true
		}
		chosen[at] = true
		at, fields = at+1, f.Fields
		if f.Type == List {
			chosen[at] = true
			at, fields = at+1, fields[0].Fields
		}
		return choose(chosen[at:end], there[at:end], fields, rest[1:])
	}
	return false
}

// alternatives returns the names of columns that a wrong name may have meant: the columns of the innermost struct that it leads
// to.
func alternatives(fields []Field, name string) []string {
	prefix := ""
	for {
		first, rest, deeper := strings.Cut(name, ".")
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == first })
		if !deeper || i < 0 || len(fields[i].Fields) == 0 {
			break
		}
		inner := fields[i].Fields
		if fields[i].Type == List {
			if inner = inner[0].Fields; len(inner) == 0 {
				break
			}
		}
		prefix, fields, name = prefix+first+".", inner, rest
	}
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = prefix + fields[i].Name
	}
	return names
}

// remaining returns the fields that the table has. If it has all, they are not copied.
func remaining(fields []Field, there []bool) []Field {
	if !slices.Contains(there[:width(fields)], false) {
		return slices.Clip(fields)
	}
	var some []Field
	for i := range fields {
		if there[0] {
			f := fields[i]
			f.Fields = remaining(f.Fields, there[1:])
			some = append(some, f)
		}
		there = there[fields[i].width():]
	}
	return some
}

// Fields returns the columns of the table of a kind, in order.
func (l *Layout) Fields(kind uint8) []Field { return l.fields[kind] }

// Memo returns what the first call for the kind made. It lives as long as the layout. It is safe for concurrent use.
func (l *Layout) Memo(kind uint8, first func() any) any {
	if v, ok := l.memos.Load(kind); ok {
		return v
	}
	v, _ := l.memos.LoadOrStore(kind, first())
	return v
}

// MaxRow returns the largest size of a row of the table of a kind, if it is known: if there are no texts, and no lists but the
// warnings of events.
func (l *Layout) MaxRow(kind uint8) (n int, known bool) {
	all, there := l.Format.columns[kind], l.there[kind]
	for i := range all {
		f := &all[i]
		if event := i >= Positions && i < Positions+len(l.Format.Event); event && f.Type == List && there[0] {
			most, known := f.Fields[0].most(there[1:])
			if f.Fields[0].Enum == nil || !known {
				return 0, false
			}
			n += f.Type.bytes() + len(f.Fields[0].Enum)*most
		} else {
			most, known := f.most(there)
			if !known {
				return 0, false
			}
			n += most
		}
		there = there[f.width():]
	}
	return n, true
}

// most returns the largest size of a value with the columns below it, if it is known.
func (f *Field) most(there []bool) (n int, known bool) {
	if !there[0] {
		return 0, true
	}
	n = f.Type.bytes()
	switch f.Type {
	case Text, Binary, List:
		return 0, false
	case Name:
		text := len("-2147483648") // a number without a name
		for _, name := range f.Enum {
			text = max(text, len(name))
		}
		return n + text + nameBytes, f.Enum != nil
	case Struct:
		there = there[1:]
		for i := range f.Fields {
			most, known := f.Fields[i].most(there)
			if !known {
				return 0, false
			}
			n += most
			there = there[f.Fields[i].width():]
		}
	}
	return n, true
}

// Overhead returns the maximum number of bytes that the table of a kind takes in a message besides its values: for its schema,
// and for the head of a record batch.
func (l *Layout) Overhead(kind uint8) int {
	k := &l.Format.Kinds[kind]
	return tableOverhead + len(k.Name) + len(k.Comment) + overhead(l.fields[kind])
}

func overhead(fields []Field) int {
	n := 0
	for i := range fields {
		f := &fields[i]
		n += columnOverhead + len(f.Name) + len(f.Comment) + overhead(f.Fields)
	}
	return n
}

// The bytes that a table and a column take besides their texts; TestOverhead in arrowipc checks them.
const (
	tableOverhead  = 1 << 10
	columnOverhead = 512
)

// rowBytes returns the size of a row with the fields that the table has, without the contents of texts and lists.
func rowBytes(fields []Field, there []bool) int {
	n := 0
	for i := range fields {
		f := &fields[i]
		if there[0] {
			n += f.Type.bytes()
			if f.Type == Struct {
				n += rowBytes(f.Fields, there[1:])
			}
		}
		there = there[f.width():]
	}
	return n
}
