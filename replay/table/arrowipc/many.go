package arrowipc

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/replayd/replayd/replay/table"
)

// ReplayColumn is the name of the first column of a table of many replays: the name of the replay that a row is of.
const ReplayColumn = "replay"

// Many encodes the rows of one kind of several replays as the messages of one table. It must not be used concurrently.
type Many struct {
	schema  *arrow.Schema
	own     *arrow.Schema // of each replay's table
	options []ipc.Option
	message bytes.Buffer
}

// NewMany returns an encoder for the tables of a kind that have a layout.
func NewMany(l *table.Layout, kind uint8, compress bool) *Many {
	own := Schema(l, kind)
	about := own.Metadata()
	fields := append([]arrow.Field{{Name: ReplayColumn, Type: names}}, own.Fields()...)
	return &Many{schema: arrow.NewSchema(fields, &about), own: own, options: optionsOf(compress)}
}

// Schema returns the message of the schema.
func (m *Many) Schema() ([]byte, error) { return SchemaMessage(m.schema) }

// Append returns the messages of the rows of a replay's table, which are valid until the next call.
func (m *Many) Append(replay string, t *table.Table) ([]byte, error) {
	rows := Record(t, m.own)
	name := array.NewData(arrow.BinaryTypes.String, 1, []*memory.Buffer{nil, offsetsOf([]int32{0, int32(len(replay))}), memory.NewBufferBytes([]byte(replay))}, nil, 0, 0)
	all := array.NewDataWithDictionary(names, t.Rows, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, 4*t.Rows))}, 0, 0, name)
	columns := append([]arrow.Array{array.MakeFromData(all)}, rows.Columns()...)
	err := write(&m.message, array.NewRecordBatch(m.schema, columns, int64(t.Rows)), m.options)
	rows.Release()
	return m.message.Bytes(), err
}
