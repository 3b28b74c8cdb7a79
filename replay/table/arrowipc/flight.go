package arrowipc

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/replay/table"
)

// ReplayColumn is the name of the first column of a table of many replays: the name of the replay that a row is of.
const ReplayColumn = "replay"

// Flight encodes the rows of one kind as messages FlightData of Arrow Flight. It must not be used concurrently.
type Flight struct {
	// Schema is the IPC message of the schema.
	Schema []byte

	compress, many bool
}

// NewFlight returns an encoder for the tables of a kind that have a layout. With many, they have the column of replays.
func NewFlight(l *table.Layout, kind uint8, compress, many bool) *Flight {
	schema := Schema(l, kind)
	if many {
		schema, _ = schema.AddField(0, arrow.Field{Name: ReplayColumn, Type: names}) // it fails beyond the last field
	}
	return &Flight{SchemaMessage(schema), compress, many}
}

// The fields of FlightData.
const (
	dataHeader  protowire.Number = 2
	appMetadata protowire.Number = 3
	dataBody    protowire.Number = 1000
)

// AppendSchema appends the message of the schema, which comes first.
func (f *Flight) AppendSchema(b []byte) []byte { return appendHeader(b, f.Schema) }

// appendHeader appends what an IPC message has before its body.
func appendHeader(b, head []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, dataHeader, protowire.BytesType), head[prefixBytes:])
}

// Each calls send with what appends each message of the rows of a replay's table. The last one has the metadata.
func (f *Flight) Each(replay string, t *table.Table, metadata []byte, send func(message func(b []byte) []byte) error) error {
	w := begin(f.compress)
	defer w.free()
	if f.many {
		indices := take[int32](w, t.Rows)
		clear(indices)
		w.add(&w.record, t.Rows, 0, nil, arrow.GetBytes(indices))
		w.addNames(&table.Names{Offsets: []int32{0, int32(len(replay))}, Data: []byte(replay)})
	}
	w.addColumns(t.Columns)
	w.seal()
	for _, m := range w.all {
		if err := send(func(b []byte) []byte {
			b = appendHeader(slices.Grow(b, len(m.head)+len(metadata)+m.body+32), m.head)
			if m == &w.record && len(metadata) > 0 {
				b = protowire.AppendBytes(protowire.AppendTag(b, appMetadata, protowire.BytesType), metadata)
			}
			b = protowire.AppendVarint(protowire.AppendTag(b, dataBody, protowire.BytesType), uint64(m.body))
			return m.appendBody(b)
		}); err != nil {
			return err
		}
	}
	return nil
}
