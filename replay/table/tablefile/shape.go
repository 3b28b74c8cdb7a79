package tablefile

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/replayd/replayd/replay/table"
)

// shape is a table's schema in Parquet's terms.
type shape struct {
	elements []format.SchemaElement // the tree of columns in preorder
	leaves   []leaf                 // the columns that have values
}

// leaf is a column of a Parquet file: the way from a column of the table to a column without others below it.
type leaf struct {
	column   int // the index in the table
	way      []step
	path     []string
	physical format.Type
	rep, def uint8 // the highest levels of repetition and definition
	rising   bool  // see table.Rising
}

// kind returns the type of the leaf's values, NULL for a presentColumn.
func (l *leaf) kind() arrow.Type { return l.way[len(l.way)-1].kind }

// step is one node on the way to a leaf.
type step struct {
	kind     arrow.Type
	nullable bool
	field    int   // in a struct: the field on the way
	rep      uint8 // in a list: the level of repetition
}

// FieldID is the metadata of a field of a schema that has the number of its column in a Parquet file, as decimal text. Columns of
// Iceberg are found by it. Such a column is never encoded as differences, which Iceberg's reader for Spark does not know. Other formats ignore it.
const FieldID = "PARQUET:field_id"

// presentColumn is the only field of a struct without fields, since Parquet has no empty groups. It is always true.
const presentColumn = "present"

func shapeOf(s *arrow.Schema) (shape, error) {
	var sh shape
	sh.elements = append(sh.elements, format.SchemaElement{Name: "schema", NumChildren: thrift.New(int32(s.NumFields()))})
	for i, f := range s.Fields() {
		if err := sh.add(f, leaf{column: i}); err != nil {
			return shape{}, err
		}
	}
	return sh, nil
}

// add adds the elements and the leaves of a field. above is the node that contains the field.
func (s *shape) add(f arrow.Field, above leaf) error {
	to := above
	to.path = append(slices.Clone(above.path), f.Name)
	at := step{kind: f.Type.ID(), nullable: f.Nullable}
	e := format.SchemaElement{Name: f.Name, RepetitionType: thrift.New(format.Required)}
	if f.Nullable {
		e.RepetitionType = thrift.New(format.Optional)
		to.def++
	}
	if text, ok := f.Metadata.GetValue(FieldID); ok {
		id, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return fmt.Errorf("the number of %s: %w", f.Name, err)
		}
		e.FieldID = int32(id)
	}
	way := func() []step { return append(slices.Clone(above.way), at) }
	switch t := f.Type.(type) {
	case *arrow.ListType:
		e.NumChildren, e.ConvertedType = thrift.New(int32(1)), thrift.New(deprecated.List)
		e.LogicalType.Value = &format.ListType{}
		items := format.SchemaElement{Name: "list", RepetitionType: thrift.New(format.Repeated), NumChildren: thrift.New(int32(1))}
		s.elements = append(s.elements, e, items)
		to.rep++
		to.def++
		at.rep = to.rep
		to.path, to.way = append(to.path, items.Name), way()
		element := t.ElemField()
		element.Name = "element"
		return s.add(element, to)
	case *arrow.StructType:
		e.NumChildren = thrift.New(int32(max(t.NumFields(), 1)))
		s.elements = append(s.elements, e)
		for i, below := range t.Fields() {
			at.field = i
			to.way = way()
			if err := s.add(below, to); err != nil {
				return err
			}
		}
		if t.NumFields() == 0 {
			at.field = -1
			to.way = way()
			return s.add(arrow.Field{Name: presentColumn, Type: arrow.Null}, to)
		}
		return nil
	}
	to.way = way()
	if !typed(&e, at.kind) {
		return fmt.Errorf("no type of Parquet for %s", f.Type)
	}
	to.physical = e.Type.V
	numbers := to.physical == format.Int32 || to.physical == format.Int64 || to.physical == format.Double
	to.rising = numbers && len(above.way) == 0 && table.Rising(f.Name) && e.FieldID == 0
	s.elements, s.leaves = append(s.elements, e), append(s.leaves, to)
	return nil
}

// typed sets the type of an element's values. It returns false if Parquet has no such type.
func typed(e *format.SchemaElement, kind arrow.Type) bool {
	integer := func(physical format.Type, bits int8, signed bool, old deprecated.ConvertedType) {
		e.Type, e.ConvertedType = thrift.New(physical), thrift.New(old)
		e.LogicalType.Value = &format.IntType{BitWidth: bits, IsSigned: signed}
	}
	switch kind {
	case arrow.NULL, arrow.BOOL:
		e.Type = thrift.New(format.Boolean)
	case arrow.INT32:
		integer(format.Int32, 32, true, deprecated.Int32)
	case arrow.UINT32:
		integer(format.Int32, 32, false, deprecated.Uint32)
	case arrow.INT64:
		integer(format.Int64, 64, true, deprecated.Int64)
	case arrow.UINT64:
		integer(format.Int64, 64, false, deprecated.Uint64)
	case arrow.DATE32:
		e.Type, e.ConvertedType = thrift.New(format.Int32), thrift.New(deprecated.Date)
		e.LogicalType.Value = &format.DateType{}
	case arrow.TIMESTAMP: // all timestamps are in microseconds
		e.Type, e.ConvertedType = thrift.New(format.Int64), thrift.New(deprecated.TimestampMicros)
		e.LogicalType.Value = &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MicroSeconds{}}}
	case arrow.FLOAT32:
		e.Type = thrift.New(format.Float)
	case arrow.FLOAT64:
		e.Type = thrift.New(format.Double)
	case arrow.BINARY:
		e.Type = thrift.New(format.ByteArray)
	case arrow.STRING, arrow.DICTIONARY:
		e.Type, e.ConvertedType = thrift.New(format.ByteArray), thrift.New(deprecated.UTF8)
		e.LogicalType.Value = &format.StringType{}
	default:
		return false
	}
	return true
}
