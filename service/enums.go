package service

import (
	"fmt"
	"strings"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/source"
)

// The enums of the API and those of the packages below belong together by name. Their numbers are independent.
var (
	formats      = tieOf(decoders.Formats(), "FORMAT_", replaydv1.Format_value, toFormat)
	compressions = tieOf(source.Compressions(), "COMPRESSION_", replaydv1.Compression_value, toCompression)
)

func toFormat(n int32) replaydv1.Format           { return replaydv1.Format(n) }
func toCompression(n int32) replaydv1.Compression { return replaydv1.Compression(n) }

// tie holds the values of two enums that belong together.
type tie[A, B comparable] struct {
	to   map[A]B
	from map[B]A
}

// tieOf ties all values of an enum to those of the API that have the same names behind a prefix. TestEnums finds one that
// the other side lacks.
func tieOf[A interface {
	comparable
	fmt.Stringer
}, B comparable](all []A, prefix string, values map[string]int32, convert func(int32) B) tie[A, B] {
	t := tie[A, B]{map[A]B{}, map[B]A{}}
	for _, a := range all {
		if n, ok := values[prefix+strings.ToUpper(a.String())]; ok {
			b := convert(n)
			t.to[a], t.from[b] = b, a
		}
	}
	return t
}
