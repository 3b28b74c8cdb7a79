package tablefile

import (
	"encoding/base64"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/replayd/replayd/proto/eventjson"
)

// jsonFile writes each row as a line with a JSON object. Values have the form of package eventjson, in which HTTP and `replayd
// cat` print events: integers of 64 bits are texts, since JavaScript rounds larger numbers. A row leaves out its missing values.
type jsonFile struct {
	w    io.Writer
	line []byte
}

// Write implements Writer.
func (f *jsonFile) Write(records []arrow.RecordBatch) error {
	for _, r := range records {
		fields := r.Schema().Fields()
		for i := range int(r.NumRows()) {
			var err error
			if f.line, err = appendObject(f.line[:0], fields, r.Column, i); err != nil {
				return err
			}
			if _, err := f.w.Write(append(f.line, '\n')); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close implements Writer.
func (f *jsonFile) Close(map[string]string) error { return nil }

// appendObject appends the i-th values of columns as an object.
func appendObject(b []byte, fields []arrow.Field, column func(int) arrow.Array, i int) ([]byte, error) {
	b = append(b, '{')
	first := true
	for c := range fields {
		values := column(c)
		if values.IsNull(i) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(eventjson.AppendString(b, []byte(fields[c].Name)), ':')
		var err error
		if b, err = appendValue(b, values, i); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// appendValue appends the i-th value of a column, which must not be missing.
func appendValue(b []byte, values arrow.Array, i int) ([]byte, error) {
	switch a := values.(type) {
	case *array.Boolean:
		return strconv.AppendBool(b, a.Value(i)), nil
	case *array.Int32:
		return strconv.AppendInt(b, int64(a.Value(i)), 10), nil
	case *array.Uint32:
		return strconv.AppendUint(b, uint64(a.Value(i)), 10), nil
	case *array.Int64:
		return append(strconv.AppendInt(append(b, '"'), a.Value(i), 10), '"'), nil
	case *array.Uint64:
		return append(strconv.AppendUint(append(b, '"'), a.Value(i), 10), '"'), nil
	case *array.Float32:
		return eventjson.AppendFloat(b, float64(a.Value(i)), 32), nil
	case *array.Float64:
		return eventjson.AppendFloat(b, a.Value(i), 64), nil
	case *array.Timestamp:
		return append(eventjson.AppendTime(append(b, '"'), a.Value(i).ToTime(arrow.Microsecond)), '"'), nil
	case *array.String:
		return eventjson.AppendString(b, []byte(a.Value(i))), nil
	case *array.Dictionary:
		return eventjson.AppendString(b, []byte(textOf(a, i))), nil
	case *array.Binary:
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), a.Value(i)), '"'), nil
	case *array.Struct:
		return appendObject(b, a.DataType().(*arrow.StructType).Fields(), a.Field, i)
	case *array.List:
		return appendList(b, a, i)
	}
	return b, fmt.Errorf("no JSON for values of type %s", values.DataType())
}

// appendList appends the i-th list of a column.
func appendList(b []byte, a *array.List, i int) ([]byte, error) {
	b = append(b, '[')
	from, to := a.ValueOffsets(i)
	for at := from; at < to; at++ {
		if at > from {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, a.ListValues(), int(at)); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}
