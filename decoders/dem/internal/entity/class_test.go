package entity

import (
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
)

// FuzzSendTables compiles any bytes as a schema, and looks at some of its fields.
func FuzzSendTables(f *testing.F) {
	for m := pb.NewReader(demtest.SampleSchema()); m.Next(); {
		f.Add(m.Raw, 0)
		f.Add(m.Raw, 900)
	}
	f.Fuzz(func(_ *testing.T, data []byte, build int) {
		s, ok := schema.Parse(data, build)
		if !ok {
			return
		}
		tree := NewTree(nil)
		for _, ser := range s.Serializers[:min(len(s.Serializers), 8)] {
			c := &Class{Name: tree.Intern([]byte(ser.Name)), Root: tree.NewRoot(ser)}
			for i := range int32(min(len(ser.Fields), 8)) {
				if k := tree.kid(c, c.Root, i, 0); k != nil {
					if k = tree.kid(c, k, i, 0); k != nil {
						tree.kid(c, k, 1, 0)
					}
				}
			}
		}
	})
}
