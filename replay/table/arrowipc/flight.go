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
	schema   *arrow.Schema
	compress bool
	many     bool
	indices  []byte // of the replays' names
}

// NewFlight returns an encoder for the tables of a kind that have a layout. With many, they have the column of replays.
func NewFlight(l *table.Layout, kind uint8, compress, many bool) *Flight {
	f := &Flight{schema: Schema(l, kind), compress: compress, many: many}
	if many {
		about := f.schema.Metadata()
		f.schema = arrow.NewSchema(append([]arrow.Field{{Name: ReplayColumn, Type: names}}, f.schema.Fields()...), &about)
	}
	return f
}

// Schema returns the IPC message of the schema.
func (f *Flight) Schema() ([]byte, error) { return SchemaMessage(f.schema) }

// The fields of FlightData.
const (
	dataHeader  protowire.Number = 2
	appMetadata protowire.Number = 3
	dataBody    protowire.Number = 1000
)

// AppendSchema appends the message of a schema, which Schema has returned.
func AppendSchema(b, schema []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, dataHeader, protowire.BytesType), schema[prefixBytes:])
}

// Each calls send with what appends each message of the rows of a replay's table. The last one has the metadata.
func (f *Flight) Each(replay string, t *table.Table, metadata []byte, send func(message func(b []byte) []byte) error) error {
	w := begin(t.Rows)
	defer w.free()
	if f.many {
		if more := 4*t.Rows - len(f.indices); more > 0 {
			f.indices = append(f.indices, make([]byte, more)...)
		}
		w.record.node(t.Rows, 0, nil, f.indices[:4*t.Rows])
		w.addNames(1, bytesOf([]int32{0, int32(len(replay))}), []byte(replay))
	}
	w.addAll(t.Columns)
	if f.compress {
		w.pack()
	}
	for id, m := range w.all {
		if err := send(func(b []byte) []byte {
			w.head = m.appendHead(w.head[:0], id, w.packed)
			b = slices.Grow(b, len(w.head)+len(metadata)+m.size()+32)
			b = AppendSchema(b, w.head)
			if id == noDictionary && len(metadata) > 0 {
				b = protowire.AppendBytes(protowire.AppendTag(b, appMetadata, protowire.BytesType), metadata)
			}
			b = protowire.AppendVarint(protowire.AppendTag(b, dataBody, protowire.BytesType), uint64(m.size()))
			return m.append(b)
		}); err != nil {
			return err
		}
	}
	return nil
}
