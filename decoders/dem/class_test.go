package dem

import (
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
)

// FuzzSendTables compiles any bytes as a schema, and looks at some of its fields.
func FuzzSendTables(f *testing.F) {
	for m := newWire(demtest.SampleSchema()); m.next(); {
		f.Add(m.raw, 0)
		f.Add(m.raw, 900)
	}
	f.Fuzz(func(_ *testing.T, data []byte, build int) {
		s, ok := parseSendTables(data, build)
		if !ok {
			return
		}
		tree := newClassTree(nil)
		for _, ser := range s.serializers[:min(len(s.serializers), 8)] {
			c := &class{name: tree.intern([]byte(ser.name)), root: tree.newRoot(ser)}
			for i := range int32(min(len(ser.fields), 8)) {
				if k := tree.kid(c, c.root, i, 0); k != nil {
					if k = tree.kid(c, k, i, 0); k != nil {
						tree.kid(c, k, 1, 0)
					}
				}
			}
		}
	})
}
