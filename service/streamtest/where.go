package streamtest

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// condition is an expression for StreamEventsRequest.where, and what it says of an event according to the documentation.
type condition struct {
	text string
	of   func(e *event) outcome
}

// outcome is what an expression says of an event. The order makes the lesser one that of a && b, and the greater one that of a || b.
type outcome int8

const (
	isFalse outcome = iota - 1
	isNeither
	isTrue
)

func outcomeOf(b bool) outcome {
	if b {
		return isTrue
	}
	return isFalse
}

// numberNames are the fields that expressions compare, where they are whole numbers in all kinds of a format.
var numberNames = [...]string{"client_id", "team", "player_id", "layer", "group"}

// being is what a field with one of numberNames is in a kind.
type being int8

const (
	isAbsent being = iota
	isNumber
	isOther
)

func numbersOf(kind protoreflect.MessageDescriptor) (are [len(numberNames)]being) {
	for i, name := range numberNames {
		switch f := kind.Fields().ByName(protoreflect.Name(name)); {
		case f == nil:
		case !f.IsList() && (f.Kind() == protoreflect.Int32Kind || f.Kind() == protoreflect.Uint32Kind):
			are[i] = isNumber
		default:
			are[i] = isOther
		}
	}
	return are
}

// where returns a random expression. The oracle then knows what it means.
func (m *Maker) where() string {
	c := m.condition(2)
	m.o.conditions[c.text] = c.of
	return c.text
}

func (m *Maker) condition(depth int) condition {
	if depth == 0 || m.one(3) {
		return m.comparison()
	}
	a, b := m.condition(depth-1), m.condition(depth-1)
	switch m.random.IntN(3) {
	case 0:
		return condition{"(" + a.text + " && " + b.text + ")", func(e *event) outcome { return min(a.of(e), b.of(e)) }}
	case 1:
		return condition{"(" + a.text + " || " + b.text + ")", func(e *event) outcome { return max(a.of(e), b.of(e)) }}
	default:
		return condition{"!(" + a.text + ")", func(e *event) outcome { return -a.of(e) }}
	}
}

// comparison returns a condition with a value of an event of the replay.
func (m *Maker) comparison() condition {
	var like event
	if len(m.o.events) > 0 {
		like = m.o.events[m.random.IntN(len(m.o.events))]
	}
	kinds := m.allKinds()
	if like.kind == "" {
		like.kind = kinds[m.random.IntN(len(kinds))]
	}
	switch m.random.IntN(8) {
	case 0:
		return condition{fmt.Sprintf("kind != '%s'", like.kind), func(e *event) outcome { return outcomeOf(e.kind != like.kind) }}
	case 1:
		some := []string{like.kind, kinds[m.random.IntN(len(kinds))]}
		return condition{fmt.Sprintf("kind in ['%s', '%s']", some[0], some[1]), func(e *event) outcome { return outcomeOf(slices.Contains(some, e.kind)) }}
	case 2:
		part := like.kind[:m.random.IntN(len(like.kind)+1)]
		return condition{fmt.Sprintf("kind.startsWith('%s')", part), func(e *event) outcome { return outcomeOf(strings.HasPrefix(e.kind, part)) }}
	case 3:
		every := 1 + m.random.Int32N(50)
		return condition{fmt.Sprintf("at_tick %% %d == %d", every, like.tick%every), func(e *event) outcome { return outcomeOf(e.tick%every == like.tick%every) }}
	case 4:
		return m.relation("offset", like.at.Offset, func(e *event) (int64, bool) { return e.at.Offset, true })
	case 5:
		return m.relation("at_tick", int64(like.tick), func(e *event) (int64, bool) { return int64(e.tick), true })
	}
	usable := slices.DeleteFunc([]int{0, 1, 2, 3, 4}, func(i int) bool { return !m.o.numbers[i] })
	if len(usable) == 0 {
		return m.relation("index", like.at.Index, func(e *event) (int64, bool) { return e.at.Index, true })
	}
	i := usable[m.random.IntN(len(usable))]
	name := "event." + numberNames[i]
	there := func(e *event) (int64, bool) {
		if e.numbers[i] == nil {
			return 0, false
		}
		return int64(*e.numbers[i]), true
	}
	value, _ := there(&like)
	switch m.random.IntN(4) {
	case 0:
		return m.relation(name, value, there)
	case 1: // which is no comparison of a field with a number
		return m.relation(name+" + 1", value+1, func(e *event) (int64, bool) {
			n, ok := there(e)
			return n + 1, ok
		})
	case 2:
		return m.relation(name, value, there)
	}
	return condition{fmt.Sprintf("%s in [%d, 1]", name, value), func(e *event) outcome {
		n, ok := there(e)
		if !ok {
			return isNeither
		}
		return outcomeOf(n == value || n == 1)
	}}
}

// relation returns a condition that compares a number with another one. of returns the number of an event, false if it is absent.
func (m *Maker) relation(name string, with int64, of func(e *event) (int64, bool)) condition {
	holds := []struct {
		sign string
		of   func(n int64) bool
	}{
		{"==", func(n int64) bool { return n == with }}, {"!=", func(n int64) bool { return n != with }},
		{"<", func(n int64) bool { return n < with }}, {"<=", func(n int64) bool { return n <= with }},
		{">", func(n int64) bool { return n > with }}, {">=", func(n int64) bool { return n >= with }},
	}[m.random.IntN(6)]
	return condition{fmt.Sprintf("%s %s %d", name, holds.sign, with), func(e *event) outcome {
		n, ok := of(e)
		if !ok {
			return isNeither
		}
		return outcomeOf(holds.of(n))
	}}
}
