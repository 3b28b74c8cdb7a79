package where

import (
	"errors"
	"fmt"
	"math"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
)

// Matcher returns what compares the events of one reader with the expression.
func (x *Expression) Matcher() codec.Matcher {
	return &matcher{Expression: x, event: x.format.event.New()}
}

// matcher is the activation of the programs, too.
type matcher struct {
	*Expression

	event protoreflect.Message // memory
	facts facts                // memory
	now   *codec.Candidate
	cost  uint64 // since Tired was true
}

// Match reports whether the expression is true for an event. The error of an event that takes too long is final.
func (m *matcher) Match(c *codec.Candidate) (bool, error) {
	p := m.kinds[c.Kind]
	if p == nil {
		return false, nil
	}
	if p.quick != nil {
		m.cost += quickCost
		m.facts.Candidate = c
		kind, _ := find(c.Event, p.number)
		m.facts.kind = kind.bytes
		return p.quick.outcome(&m.facts) == isTrue, nil
	}
	m.now = c
	proto.Reset(m.event.Interface())
	if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(c.Event, m.event.Interface()); err != nil {
		return false, fmt.Errorf("reading an event for the expression: %w", err)
	}
	v, details, err := p.cel.Eval(m)
	m.cost += evalCost
	if !p.within {
		if spent := details.ActualCost(); spent != nil {
			m.cost += *spent
		}
	}
	if err == nil {
		return v == types.True, nil
	}
	if canceled := (interpreter.EvalCancelledError{}); errors.As(err, &canceled) {
		return false, &filter.FieldError{Field: Field, Problem: fmt.Sprintf(
			"it takes too long for the event at offset %d, index %d, of kind %s: more than %d steps",
			c.At.Offset, c.At.Index, m.format.names[c.Kind], uint64(maxCost))}
	}
	return false, nil // something is absent, divided by zero and the like: neither true nor false
}

// evalCost is what an evaluation costs before its first step: the event is read. quickCost is what nodes cost.
const evalCost, quickCost = 50, 2

// Tired reports whether the events so far took so long that others should get their turn. It is true once.
func (m *matcher) Tired() bool {
	if m.cost < workCost {
		return false
	}
	m.cost = 0
	return true
}

// ResolveName implements cel.Activation.
func (m *matcher) ResolveName(name string) (any, bool) {
	switch name {
	case absent:
		return types.WrapErr(errAbsent), true
	case "offset":
		return types.Int(m.now.At.Offset), true
	case "index":
		return types.Int(m.now.At.Index), true
	case "time":
		if math.IsNaN(m.now.Seconds) {
			return types.WrapErr(errAbsent), true
		}
		return types.Double(m.now.Seconds), true
	case everything:
		return &message{m.event, m.now.Names}, true
	case identOf(m.format.kinds[m.now.Kind]):
		return &message{m.event.Get(m.format.kinds[m.now.Kind]).Message(), m.now.Names}, true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (m *matcher) Parent() cel.Activation { return nil }
