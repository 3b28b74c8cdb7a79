package describe

import (
	"fmt"
	"strings"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/succession"
)

// Enums of the API and enums of the packages below have the same names of values, with independent numbers.
var (
	Formats      = tieOf[decoders.Format, replaydv1.Format](decoders.Formats(), "FORMAT_", replaydv1.Format_value)
	Compressions = tieOf[source.Compression, replaydv1.Compression](source.Compressions(), "COMPRESSION_", replaydv1.Compression_value)
	States       = tieOf[index.State, replaydv1.ReplayState](index.States(), "REPLAY_STATE_", replaydv1.ReplayState_value)
	Orders       = tieOf[index.Order, replaydv1.ReplayOrder](index.Orders(), "REPLAY_ORDER_", replaydv1.ReplayOrder_value)
	ChangeKinds  = tieOf[index.Kind, replaydv1.ChangeKind](index.Kinds(), "CHANGE_KIND_", replaydv1.ChangeKind_value)
	Writers      = tieOf[source.Writer, replaydv1.Writer](source.Writers(), "WRITER_", replaydv1.Writer_value)
	Rules        = tieOf[succession.Rule, replaydv1.SuccessorRule](succession.Rules(), "SUCCESSOR_RULE_", replaydv1.SuccessorRule_value)
)

// Tie maps the values of two enums to each other.
type Tie[A, B comparable] struct {
	To   map[A]B
	From map[B]A
}

// tieOf ties each value of an enum to the API's value with the same name after a prefix. TestEnums fails if one side lacks a
// value.
func tieOf[A interface {
	comparable
	fmt.Stringer
}, B ~int32](all []A, prefix string, values map[string]int32) Tie[A, B] {
	t := Tie[A, B]{map[A]B{}, map[B]A{}}
	for _, a := range all {
		if n, ok := values[prefix+strings.ToUpper(a.String())]; ok {
			b := B(n)
			t.To[a], t.From[b] = b, a
		}
	}
	return t
}
