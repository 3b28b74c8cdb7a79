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
			c := &Class{Name: tree.Intern([]byte(ser.Name))}
			tree.Plant(c, ser)
			for i := range int32(min(len(ser.Fields), 8)) {
				way := []*Node{c.Root}
				for _, index := range [...]int32{i, i, 1} {
					k := tree.kid(c, way, index, 0)
					if k == nil {
						break
					}
					way = append(way, k)
				}
			}
		}
	})
}
