package arrowipc

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/replayd/replayd/replay/table"
)

// ReplayColumn is the name of the first column of a table of many replays: the name of the replay that a row is of.
const ReplayColumn = "replay"

// Many encodes the rows of one kind of several replays as the messages of one table. It must not be used concurrently.
type Many struct {
	schema   *arrow.Schema
	compress bool
	indices  []byte // of the replays' names
	messages []byte
}

// NewMany returns an encoder for the tables of a kind that have a layout.
func NewMany(l *table.Layout, kind uint8, compress bool) *Many {
	own := Schema(l, kind)
	about := own.Metadata()
	fields := append([]arrow.Field{{Name: ReplayColumn, Type: names}}, own.Fields()...)
	return &Many{schema: arrow.NewSchema(fields, &about), compress: compress}
}

// Schema returns the message of the schema.
func (m *Many) Schema() ([]byte, error) { return SchemaMessage(m.schema) }

// Append returns the messages of the rows of a replay's table, which are valid until the next call.
func (m *Many) Append(replay string, t *table.Table) []byte {
	w := workspaces.Get().(*workspace)
	defer w.free()
	if more := 4*t.Rows - len(m.indices); more > 0 {
		m.indices = append(m.indices, make([]byte, more)...)
	}
	w.record.rows = t.Rows
	w.record.node(t.Rows, 0, nil, m.indices[:4*t.Rows])
	w.addNames(1, bytesOf([]int32{0, int32(len(replay))}), []byte(replay))
	w.addAll(t.Columns)
	if m.compress {
		w.pack()
	}
	m.messages = w.append(m.messages[:0], m.compress)
	return m.messages
}
