package tablefile

import (
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// textOf returns the i-th text of a dictionary's array. It must not be missing.
func textOf(d *array.Dictionary, i int) string {
	return d.Dictionary().(*array.String).Value(d.GetValueIndex(i))
}

// plainSchema returns a schema with texts in place of dictionaries, and more metadata.
func plainSchema(s *arrow.Schema, about map[string]string) *arrow.Schema {
	fields := make([]arrow.Field, s.NumFields())
	for i := range fields {
		fields[i] = plainField(s.Field(i))
	}
	all := s.Metadata().ToMap()
	maps.Copy(all, about)
	keys := slices.Sorted(maps.Keys(all))
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = all[k]
	}
	meta := arrow.NewMetadata(keys, values)
	return arrow.NewSchema(fields, &meta)
}

func plainField(f arrow.Field) arrow.Field {
	f.Type = plainType(f.Type)
	return f
}

func plainType(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return t.ValueType
	case *arrow.ListType:
		return arrow.ListOfField(plainField(t.ElemField()))
	case *arrow.StructType:
		fields := t.Fields()
		for i := range fields {
			fields[i] = plainField(fields[i])
		}
		return arrow.StructOf(fields...)
	}
	return t
}

// plainData returns an array with texts in place of dictionaries. It shares all other memory.
func plainData(d arrow.ArrayData) arrow.ArrayData {
	if d.DataType().ID() == arrow.DICTIONARY {
		from := array.MakeFromData(d).(*array.Dictionary)
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.Reserve(from.Len())
		for i := range from.Len() {
			if from.IsNull(i) {
				b.AppendNull()
			} else {
				b.Append(textOf(from, i))
			}
		}
		return b.NewArray().Data()
	}
	below := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		below[i] = plainData(c)
	}
	return array.NewData(plainType(d.DataType()), d.Len(), d.Buffers(), below, d.NullN(), d.Offset())
}
