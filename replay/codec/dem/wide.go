package dem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/internal/nearest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
)

// maxFields is the largest number of fields that a wide table has columns for, and maxOverhead the largest size of its schema, in bytes. A
// schema and two of the largest rows fit a response.
const (
	maxFields   = 256
	maxOverhead = 240 << 10
	maxElements = 1024 // of a list in a column: further ones are left out
)

// widen implements Widen of codec.Codec.
func widen(in source.Input, selected *filter.Filter, of *replaydv1.DemFilter) (source.Input, *table.Format, error) {
	d, in, err := classesOf(in)
	if err != nil {
		return in, nil, err
	}
	if selected.Kind(uint8(dem.KindGameEvent)) {
		all, err := eventFormat(d, of.GetTypes()[0])
		return in, all, err
	}
	w := widening{schema: d.Schema(), selected: selected, byName: map[string]*dem.FieldType{}}
	if err := w.choose(of); err != nil {
		return in, nil, err
	}
	all := w.format(of.GetClasses())
	if all.Layout(false).Overhead(uint8(dem.KindSampleEntity)) > maxOverhead {
		return in, nil, &filter.FieldError{Field: "include[0].dem.fields", Problem: "the table would have too many columns: name the fields that are needed"}
	}
	return in, all, nil
}

// classesOf reads a demo up to its first entities, where its classes and its game events are known, and returns an input that begins at its
// beginning.
func classesOf(in source.Input) (*dem.Decoder, source.Input, error) {
	var from io.Reader
	if in.At != nil {
		from = io.NewSectionReader(in.At, 0, math.MaxInt64)
	} else { // what was read is read again
		var read bytes.Buffer
		from = io.TeeReader(in.Front, &read)
		in.Front = io.MultiReader(&read, in.Front)
	}
	d := dem.New(from, dem.Options{
		Schemas: schemas, Yield: 1, Kinds: func(k dem.Kind) bool { return k == dem.KindEntityCreated || k == dem.KindGameEvent }, Classes: func(string) bool { return false },
	})
	var ev dem.Event
	for !d.EntitiesBegun() {
		switch err := d.Next(&ev); {
		case err == nil, errors.Is(err, dem.ErrYield):
		case errors.Is(err, decoders.ErrMore), errors.Is(err, io.EOF):
			return nil, in, errNoClasses
		default:
			return nil, in, err
		}
		if d.Offset() > maxSignOn {
			return nil, in, errNoClasses
		}
	}
	return d, in, nil
}

var errNoClasses = &filter.FieldError{Field: "field_columns", Problem: "the demo has no entities so far, of which only it knows the fields"}

// widening chooses the columns of a wide table.
type widening struct {
	schema   *dem.Schema
	selected *filter.Filter

	classes []string
	columns []*dem.FieldType // those of lists are of their elements
	byName  map[string]*dem.FieldType
	left    []string // fields that patterns match, and that have no column
}

// choose chooses the columns for the classes and fields of a request.
func (w *widening) choose(of *replaydv1.DemFilter) error {
	all := w.schema.Classes()
	for _, name := range all {
		if c := w.selected.Class(name); c.Kind(uint8(dem.KindSampleEntity)) {
			w.classes = append(w.classes, name)
		}
	}
	if len(w.classes) == 0 {
		hint := nearest.Hint(of.GetClasses()[0], all...)
		return &filter.FieldError{Field: "include[0].dem.classes[0]", Problem: fmt.Sprintf("the demo has no class of entities %q%s", of.GetClasses()[0], hint)}
	}
	fields := of.GetFields()
	if len(fields) == 0 {
		fields = []string{"*"}
	}
	for i, name := range fields {
		var problem string
		switch {
		case !strings.ContainsAny(name, "*?"):
			problem = w.named(name)
		default:
			var list bool
			if list, problem = w.list(name); !list {
				problem = w.match(name)
			}
		}
		switch {
		case problem != "":
		case w.schema.Exhausted():
			problem = "the classes have too many fields to look at: name fewer classes, or fewer fields"
		case len(w.columns) > maxFields:
			problem = fmt.Sprintf("the table would have more than %d columns of fields: name the fields that are needed", maxFields)
		}
		if problem != "" {
			return &filter.FieldError{Field: fmt.Sprintf("include[0].dem.fields[%d]", i), Problem: problem}
		}
	}
	return nil
}

// named adds the column of a field, and returns what is wrong.
func (w *widening) named(name string) (problem string) {
	found := false
	for _, class := range w.classes {
		w.schema.Field(class, name, func(f dem.FieldType) {
			if found = true; problem == "" {
				problem = unfit(&f)
				if problem == "" {
					problem = w.add(class, &f)
				}
			}
		})
	}
	if found {
		return problem
	}
	return fmt.Sprintf("%s has no field %q%s", strings.Join(w.classes[:min(len(w.classes), 3)], ", "), name, nearest.Hint(name, w.names()...))
}

// list adds the column of all elements of a list, or of a field of all of them, which has a * in the place of the element. It reports whether
// there is such a list, and returns what is wrong.
func (w *widening) list(name string) (is bool, problem string) {
	before, after, _ := strings.Cut(name, ".*")
	if strings.ContainsAny(before+after, "*?") {
		return false, ""
	}
	for _, class := range w.classes {
		w.schema.Field(class, before+".0000"+after, func(f dem.FieldType) {
			if is = true; problem != "" {
				return
			}
			if problem = unfit(&f); problem == "" && f.Case == dem.FieldValueValueTuple {
				problem = f.Name + " has several values: name the elements"
			}
			if problem == "" {
				f.Name, f.List = name, true
				problem = w.add(class, &f)
			}
		})
	}
	return is, problem
}

// names returns the names of the fields of the first class.
func (w *widening) names() (names []string) {
	w.schema.Fields(w.classes[0], func(f dem.FieldType) { names = append(names, f.Name) })
	return names
}

// match adds the columns of the fields that a pattern matches, and returns what is wrong. Elements of lists have no columns by other patterns
// than those of list, as there may be any number of them.
func (w *widening) match(pattern string) (problem string) {
	one, err := filter.Compile(&filter.Format{Name: "Source 2 demo", Kinds: properties.Describe(Kinds)}, []*replaydv1.EventFilter{
		{Kinds: []string{dem.KindSampleEntity.String()}, Dem: &replaydv1.DemFilter{Fields: []string{pattern}}},
	}, nil)
	if err != nil {
		return err.Error()
	}
	some := false
	for _, class := range w.classes {
		matching := one.Class(class)
		w.schema.Fields(class, func(f dem.FieldType) {
			switch {
			case problem != "" || len(w.columns) > maxFields || !matching.Wants(one.Field(f.Name), uint8(dem.KindSampleEntity)):
			case unfit(&f) != "":
				w.left = append(w.left, f.Name)
			default:
				some, problem = true, w.add(class, &f)
			}
		})
	}
	if !some && problem == "" {
		return fmt.Sprintf("no field matches %q whose type is known and that is neither a list nor below one", pattern)
	}
	return problem
}

// unfit returns why a field cannot be a column, or nothing.
func unfit(f *dem.FieldType) string {
	switch {
	case f.Unknown:
		return fmt.Sprintf("%s has the type %s, which is not known for certain: sample_entity has what is read", f.Name, f.Type)
	case f.List:
		return fmt.Sprintf("%s is a list: name its elements, such as %s.0000, or %s.* for all of them in one column", f.Name, f.Name, f.Name)
	case f.Case == dem.FieldValueValueNone:
		return f.Name + " has no value"
	case slices.ContainsFunc(Tables.Layout(false).Fields(uint8(dem.KindSampleEntity)), func(c table.Field) bool { return c.Name == f.Name }):
		return "another column has the name " + f.Name
	}
	return ""
}

// add adds the column of a field of a class, and returns what is wrong.
func (w *widening) add(class string, f *dem.FieldType) (problem string) {
	had := w.byName[f.Name]
	switch {
	case had == nil:
		w.byName[f.Name], w.columns = f, append(w.columns, f)
	case had.Case != f.Case:
		return fmt.Sprintf("%s has the type %s in %s, and %s in another class or in another object of it: ask for each class by itself", f.Name, f.Type, class, had.Type)
	}
	return ""
}

// format returns the format whose table of samples has a column for each field. It is named after the class if there is only one.
func (w *widening) format(classes []string) *table.Format {
	f := &table.Format{Name: Tables.Name, Event: Tables.Event, Kinds: slices.Clone(Tables.Kinds)}
	k := &f.Kinds[dem.KindSampleEntity]
	if len(classes) == 1 && !strings.ContainsAny(classes[0], "*?") {
		k.Name = classes[0]
	}
	if len(w.left) > 0 {
		slices.Sort(w.left)
		left := slices.Compact(w.left)
		k.Comment += fmt.Sprintf(" Without a column, because they are lists or their types are not known: %d fields, such as %s.", len(left), strings.Join(left[:min(len(left), 20)], ", "))
	}
	var fields []table.Field
	for _, field := range k.Fields {
		if field.Type != table.List {
			fields = append(fields, field)
			continue
		}
		for _, c := range w.columns {
			fields = append(fields, columnOf(c))
		}
	}
	k.Fields = fields
	return f
}

// columnTypes are the types of columns by the cases of values. No two are equal.
var columnTypes = [...]table.Field{
	dem.FieldValueValueInt:    {Type: table.Int64, Nullable: true},
	dem.FieldValueValueUint:   {Type: table.Uint64, Nullable: true},
	dem.FieldValueValueFloat:  {Type: table.Float32, Nullable: true},
	dem.FieldValueValueBool:   {Type: table.Bool, Nullable: true},
	dem.FieldValueValueHandle: {Type: table.Uint32, Nullable: true},
	dem.FieldValueValueVector: {Type: table.Struct, Nullable: true, Fields: columnsOfVector},
	dem.FieldValueValueText:   {Type: table.Text, Nullable: true},
	dem.FieldValueValueTuple:  {Type: table.List, Fields: []table.Field{{Name: "item", Type: table.Float32}}},
	dem.FieldValueValueBlob:   {Type: table.Binary, Nullable: true},
}

func columnOf(f *dem.FieldType) table.Field {
	column := columnTypes[f.Case]
	column.Name, column.Comment = f.Name, "Of the type "+f.Type+"."
	if f.List {
		column.Name = "item"
		comment := fmt.Sprintf("The elements up to the last with a value, at most %d. One without a value is missing.", maxElements)
		return table.Field{Name: f.Name, Type: table.List, Comment: comment, Fields: []table.Field{column}}
	}
	return column
}

// wide appends samples of entities to a table that has a column for each field.
type wide struct {
	kind   *table.Kind
	before int // columns before those of fields
	places map[string]int

	cases  []dem.FieldValueValueCase // by column, of lists those of their elements
	lists  []bool                    // by column
	byName []widePlace               // by the decoder's numbers of names
	values [][]int                   // of a sample, by column: the index of one of its fields, or of those of all elements; -1 for a missing one
}

// widePlace is where the values of a field are: in a column of its own, and in one of a list, as an element. Columns are -1 where there is none.
type widePlace struct {
	met                   bool
	column, list, element int32
}

// newWide returns what appends samples to the tables of a layout, nil if these are as generated.
func newWide(l *table.Layout) *wide {
	if l.Format == &Tables || eventOf(l) != "" {
		return nil
	}
	own := Tables.Kinds[dem.KindSampleEntity].Fields
	w := &wide{kind: &l.Format.Kinds[dem.KindSampleEntity], places: map[string]int{}}
	for own[w.before].Type != table.List {
		w.before++
	}
	fields := w.kind.Fields[w.before : len(w.kind.Fields)-(len(own)-w.before-1)]
	for i := range fields {
		w.places[fields[i].Name] = i
		of, list := &fields[i], false
		if of.Type == table.List && of.Fields[0].Nullable { // which the values of a tuple are not
			of, list = &of.Fields[0], true
		}
		w.lists = append(w.lists, list)
		w.cases = append(w.cases, dem.FieldValueValueCase(slices.IndexFunc(columnTypes[:], func(f table.Field) bool { return f.Type == of.Type && (f.Nullable || f.Type == table.List) })))
	}
	w.values = make([][]int, len(fields))
	return w
}

// place returns where the values of the field with a number of its name are.
func (w *wide) place(number uint32, name func(uint32) string) widePlace {
	for int(number) >= len(w.byName) {
		w.byName = append(w.byName, widePlace{})
	}
	p := &w.byName[number]
	if !p.met {
		*p = w.find(name(number))
	}
	return *p
}

// find returns where the values of the field with a name are.
func (w *wide) find(name string) widePlace {
	p := widePlace{met: true, column: -1, list: -1}
	if i, ok := w.places[name]; ok {
		p.column = int32(i)
	}
	parts := strings.Split(name, ".")
	for at, part := range parts {
		element, err := strconv.ParseUint(part, 10, 32)
		if err != nil || element >= maxElements {
			continue
		}
		parts[at] = "*"
		if i, ok := w.places[strings.Join(parts, ".")]; ok {
			p.list, p.element = int32(i), int32(element)
		}
		parts[at] = part
	}
	return p
}

// add appends a sample. A value that may be wrong, or is not of the column's type, is missing.
func (w *wide) add(to *table.Set, at decoders.Position, tick int32, s *dem.SampleEntity, name func(uint32) string) {
	for i := range w.values {
		w.values[i] = w.values[i][:0]
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Unproven {
			continue
		}
		p := w.place(f.Field, name)
		w.set(p.column, 0, i, f)
		w.set(p.list, p.element, i, f)
	}
	c := to.Begin(uint8(dem.KindSampleEntity), at, tick)
	c[0].Uint32(s.Index)
	c[1].Ref(s.Class)
	c[2].Uint32(s.Serial)
	c = c[w.before:]
	for i, values := range w.values {
		switch {
		case w.lists[i]:
			c[0].Items(len(values))
			for _, at := range values {
				appendValue(c[1:], w.cases[i], fieldAt(s, at))
			}
		case len(values) == 0:
			appendValue(c, w.cases[i], nil)
		default:
			appendValue(c, w.cases[i], fieldAt(s, values[0]))
		}
		c = c[c[0].Width():]
	}
	c[0].Bool(s.OutOfView)
}

// set sets a value of a sample, which is at an index, in a column, if there is one and it is of the column's type.
func (w *wide) set(column, element int32, at int, f *dem.FieldValue) {
	if column < 0 || f.ValueCase != w.cases[column] {
		return
	}
	for len(w.values[column]) <= int(element) {
		w.values[column] = append(w.values[column], -1)
	}
	w.values[column][element] = at
}

// fieldAt returns the field of a sample at an index, nil for -1.
func fieldAt(s *dem.SampleEntity, at int) *dem.FieldValue {
	if at < 0 {
		return nil
	}
	return &s.Fields[at]
}

// appendValue appends a value, which may be missing, to a column for values of a case.
func appendValue(c []table.Column, of dem.FieldValueValueCase, f *dem.FieldValue) {
	if of == dem.FieldValueValueTuple {
		if f == nil {
			c[0].Items(0)
			return
		}
		c[0].Items(len(f.Tuple.Values))
		for _, v := range f.Tuple.Values {
			c[1].Float32(v)
		}
		return
	}
	if f == nil {
		c[0].Null()
		return
	}
	switch of {
	case dem.FieldValueValueInt:
		c[0].Int64(f.Int)
	case dem.FieldValueValueUint:
		c[0].Uint64(f.Uint)
	case dem.FieldValueValueFloat:
		c[0].Float32(f.Float)
	case dem.FieldValueValueBool:
		c[0].Bool(f.Bool)
	case dem.FieldValueValueHandle:
		c[0].Uint32(f.Handle)
	case dem.FieldValueValueVector:
		table.Fields(c)
		rowVector(c[1:], &f.Vector)
	case dem.FieldValueValueText:
		c[0].Text(f.Text)
	case dem.FieldValueValueBlob:
		c[0].Binary(f.Blob)
	}
}
