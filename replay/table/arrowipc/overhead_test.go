package arrowipc_test

import (
	"testing"

	"github.com/replayd/replayd/replay/codec/registry"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
)

// TestOverhead: a table without rows takes no more bytes than Layout.Overhead says, and leaves room for the padding of each column.
func TestOverhead(t *testing.T) {
	for _, codec := range registry.Codecs() {
		for _, o := range []arrowipc.Encoder{{}, {Narrow: true}, {Compress: true}} {
			layout := codec.Tables.Layout(true)
			set, e := table.NewSet(layout), &o
			for kind := 1; kind < len(layout.Format.Kinds); kind++ {
				b := e.AppendEmpty(nil, 9, set, uint8(kind))
				padding := 2 * 64 * len(set.Table(uint8(kind)).Columns)
				if most := layout.Overhead(uint8(kind)); len(b)+padding > most {
					t.Errorf("%s: %d bytes and %d of padding, want %d at most", layout.Format.Kinds[kind].Name, len(b), padding, most)
				}
			}
		}
	}
}
