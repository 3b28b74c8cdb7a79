package where

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/proto/protoscan"
	"github.com/replayd/replayd/replay/codec"
)

// node is a part of an expression that needs no CEL: a comparison of a field with what is written out, a test of a field, or and, or, not and ?:
// of these. It reads an event's bytes, so that nothing is allocated.
type node struct {
	op      op
	a, b, c *node

	place place
	path  []protowire.Number // from the message of the place to the field
	field protoreflect.Kind
	enum  protoreflect.EnumDescriptor
	ref   bool // the field is a number that names a text
	there bool // the field cannot be absent

	relation string
	ordered  [3]outcomes
	number   int64
	unsigned uint64
	double   float64
	text     string
	needle   []byte // text
	never    bool   // no number of the enum has the text
}

type op uint8

const (
	opConst op = iota // number is the outcome
	opAnd
	opOr
	opNot
	opIf
	opHas
	opBool
	opCompare
)

// place is where a field is.
type place uint8

const (
	inKind place = iota // the message of the kind
	inEvent
	isOffset
	isIndex
	isTime
)

// facts are an event, for nodes.
type facts struct {
	*codec.Candidate

	kind []byte // the message of the kind
}

// quick returns an expression as nodes, nil if it needs CEL.
func (r *rewriter) quick(e ast.Expr) *node {
	switch e.Kind() {
	case ast.LiteralKind:
		switch e.AsLiteral() {
		case types.True:
			return &node{number: int64(isTrue)}
		case types.False:
			return &node{number: int64(isFalse)}
		}
		return nil
	case ast.IdentKind:
		if e.AsIdent() == absent {
			return &node{number: int64(isAbsent)}
		}
		return nil
	case ast.SelectKind:
		n := r.quickField(e)
		switch {
		case n == nil:
			return nil
		case e.AsSelect().IsTestOnly():
			n.op = opHas
			return n
		case n.field == protoreflect.BoolKind:
			n.op = opBool
			return n
		}
		return nil
	case ast.CallKind:
		return r.quickCall(e.AsCall())
	default:
		return nil
	}
}

func (r *rewriter) quickCall(c ast.CallExpr) *node {
	args := c.Args()
	logic := map[string]op{operators.LogicalAnd: opAnd, operators.LogicalOr: opOr, operators.LogicalNot: opNot, operators.Conditional: opIf}
	if op, ok := logic[c.FunctionName()]; ok {
		n := &node{op: op}
		for i, to := range []**node{&n.a, &n.b, &n.c}[:len(args)] {
			if *to = r.quick(args[i]); *to == nil {
				return nil
			}
		}
		return n
	}
	switch f := c.FunctionName(); {
	case f == operators.In && args[1].Kind() == ast.ListKind:
		some := &node{number: int64(isFalse)}
		for _, one := range args[1].AsList().Elements() {
			equal := r.compare(operators.Equals, args[0], one)
			if equal == nil {
				return nil
			}
			some = &node{op: opOr, a: some, b: equal}
		}
		if some.op == opConst { // an empty list, which the field may still be absent from
			return nil
		}
		return some
	case comparisons[f]:
		if n := r.compare(f, args[0], args[1]); n != nil {
			return n
		}
		return r.compare(turned[f], args[1], args[0])
	case c.IsMemberFunction() && len(args) == 1 && (f == "startsWith" || f == "endsWith" || f == "contains"):
		n := r.compare(f, c.Target(), args[0])
		if n != nil && n.field == protoreflect.EnumKind {
			return nil
		}
		return n
	}
	return nil
}

// turned is the relation of the second to the first.
var turned = map[string]string{
	operators.Equals: operators.Equals, operators.NotEquals: operators.NotEquals, operators.Less: operators.Greater,
	operators.Greater: operators.Less, operators.LessEquals: operators.GreaterEquals, operators.GreaterEquals: operators.LessEquals,
}

// compare returns the relation of a field to a literal, nil if CEL must compare them.
func (r *rewriter) compare(relation string, of, to ast.Expr) *node {
	if to.Kind() != ast.LiteralKind {
		return nil
	}
	n := r.quickField(of)
	if n == nil {
		return nil
	}
	n.op, n.relation, n.ordered = opCompare, relation, orders[relation]
	equality := relation == operators.Equals || relation == operators.NotEquals
	switch v := to.AsLiteral().(type) {
	case types.Int:
		n.number = int64(v)
		if n.field == protoreflect.EnumKind || n.ref || n.kindOfNumber() != signed {
			return nil
		}
	case types.Uint:
		n.unsigned = uint64(v)
		if n.kindOfNumber() != unsigned {
			return nil
		}
	case types.Double:
		n.double = float64(v)
		if n.kindOfNumber() != double {
			return nil
		}
	case types.String:
		n.text, n.needle = string(v), []byte(v)
		switch {
		case n.enum != nil && equality:
			n.numberIn(n.enum)
		case n.ref, n.field == protoreflect.StringKind:
			if relation != operators.Equals && relation != operators.NotEquals && comparisons[relation] {
				return nil
			}
		default:
			return nil
		}
	case types.Bool:
		if n.field != protoreflect.BoolKind || !equality {
			return nil
		}
		n.op = opBool
		if bool(v) == (relation == operators.NotEquals) {
			n = &node{op: opNot, a: n}
		}
	default:
		return nil
	}
	return n
}

func (n *node) kindOfNumber() number {
	switch n.field {
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return double
	case protoreflect.Uint64Kind:
		return unsigned
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Uint32Kind, protoreflect.Int64Kind, protoreflect.Sint64Kind:
		if n.ref {
			return noNumber
		}
		return signed
	default:
		return noNumber
	}
}

// quickField returns a node for a field, or a test of it, nil if CEL must read it.
func (r *rewriter) quickField(e ast.Expr) *node {
	if e.Kind() == ast.IdentKind {
		switch e.AsIdent() {
		case "offset":
			return &node{place: isOffset, field: protoreflect.Int64Kind}
		case "index":
			return &node{place: isIndex, field: protoreflect.Int64Kind}
		case "time":
			return &node{place: isTime, field: protoreflect.DoubleKind}
		}
		return nil
	}
	var names []string
	for ; e.Kind() == ast.SelectKind; e = e.AsSelect().Operand() {
		names = append(names, e.AsSelect().FieldName())
	}
	if e.Kind() != ast.IdentKind || len(names) == 0 {
		return nil
	}
	n, message := &node{}, r.kind.Message()
	switch e.AsIdent() {
	case identOf(r.kind):
	case everything:
		n.place, message = inEvent, r.format.event.Descriptor()
	default:
		return nil
	}
	for _, name := range slices.Backward(names) {
		if message == nil {
			return nil
		}
		f := message.Fields().ByName(protoreflect.Name(name))
		if f == nil || f.IsList() || f.Kind() == protoreflect.GroupKind {
			return nil
		}
		n.path, n.field, n.ref, n.there, message = append(n.path, f.Number()), f.Kind(), isRef(f), !f.HasPresence(), f.Message()
		n.enum = f.Enum()
	}
	return n
}

// seek returns the field, and whether it is there.
func (n *node) seek(f *facts) (v value, ok bool) {
	b := f.kind
	if n.place == inEvent {
		b = f.Event
	}
	for i, number := range n.path {
		if v, ok = find(b, number); !ok || i == len(n.path)-1 {
			return v, ok
		}
		b = v.bytes
	}
	return v, false
}

// value is the value of a field as it is encoded.
type value struct {
	number uint64
	bytes  []byte
}

// find returns the first field of a message with a number: writers write each once. It is protoscan.Next for what is not looked for, which it
// passes without a look at it.
func find(b []byte, number protowire.Number) (v value, ok bool) {
	for i := 0; i < len(b); {
		tag := b[i]
		if protowire.Number(tag>>3) == number || tag >= 0x80 || tag&7 != byte(protowire.VarintType) {
			f, rest, ok := protoscan.Next(b[i:])
			if !ok {
				break
			}
			if f.Number == number {
				return value{f.Value, f.Bytes}, true
			}
			b, i = rest, 0
			continue
		}
		for i++; i < len(b) && b[i] >= 0x80; i++ {
		}
		i++
	}
	return v, false
}

// outcome returns what the node says of an event.
func (n *node) outcome(f *facts) outcomes {
	switch n.op {
	case opConst:
		return outcomes(n.number)
	case opAnd:
		a := n.a.outcome(f)
		if a == isFalse {
			return isFalse
		}
		if b := n.b.outcome(f); b == isFalse || a == isTrue {
			return b
		}
		return isAbsent
	case opOr:
		a := n.a.outcome(f)
		if a == isTrue {
			return isTrue
		}
		if b := n.b.outcome(f); b == isTrue || a == isFalse {
			return b
		}
		return isAbsent
	case opNot:
		switch a := n.a.outcome(f); a {
		case isTrue:
			return isFalse
		case isFalse:
			return isTrue
		default:
			return a
		}
	case opIf:
		switch n.a.outcome(f) {
		case isTrue:
			return n.b.outcome(f)
		case isFalse:
			return n.c.outcome(f)
		default:
			return isAbsent
		}
	case opHas:
		v, ok := n.seek(f)
		if n.ref && n.there { // the number is the batch's affair
			return is(f.Names(uint32(v.number)) != "")
		}
		return is(ok && (!n.there || v.number != 0 || len(v.bytes) > 0))
	case opBool:
		v, ok := n.seek(f)
		if !ok && !n.absentHere(f) {
			return isFalse
		} else if !ok {
			return isAbsent
		}
		return is(v.number != 0)
	default:
		return n.relates(f)
	}
}

// absentHere reports whether a field that was not found is absent: it is if it can be, or if the message around it is.
func (n *node) absentHere(f *facts) bool {
	if !n.there || len(n.path) == 1 {
		return !n.there
	}
	around := node{place: n.place, path: n.path[:len(n.path)-1]}
	_, ok := around.seek(f)
	return !ok
}

func is(v bool) outcomes {
	if v {
		return isTrue
	}
	return isFalse
}

// relates compares the field with the literal.
func (n *node) relates(f *facts) outcomes {
	var v value
	switch n.place {
	case isOffset:
		return n.order(compareTo(f.At.Offset, n.number))
	case isIndex:
		return n.order(compareTo(f.At.Index, n.number))
	case isTime:
		if math.IsNaN(f.Seconds) {
			return isAbsent
		}
		return n.order(compareTo(f.Seconds, n.double))
	default:
		var ok bool
		if v, ok = n.seek(f); !ok && n.absentHere(f) {
			return isAbsent
		}
	}
	if n.ref {
		return n.compareText(f.Names(uint32(v.number)))
	}
	switch n.field {
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return n.order(compareTo(int64(v.number), n.number))
	case protoreflect.Uint32Kind:
		return n.order(compareTo(int64(uint32(v.number)), n.number))
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return n.order(compareTo(protowire.DecodeZigZag(v.number), n.number))
	case protoreflect.Uint64Kind:
		return n.order(compareTo(v.number, n.unsigned))
	case protoreflect.FloatKind:
		return n.compareDouble(float64(math.Float32frombits(uint32(v.number))))
	case protoreflect.DoubleKind:
		return n.compareDouble(math.Float64frombits(v.number))
	case protoreflect.EnumKind:
		return is((!n.never && int64(int32(v.number)) == n.number) == (n.relation == operators.Equals))
	default:
		return n.compareBytes(v.bytes)
	}
}

func compareTo[T int64 | uint64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (n *node) compareDouble(v float64) outcomes {
	if math.IsNaN(v) {
		return is(n.relation == operators.NotEquals)
	}
	return n.order(compareTo(v, n.double))
}

// order returns whether the relation holds between values of which the first is less (-1), equal (0) or greater (1).
func (n *node) order(sign int) outcomes { return n.ordered[sign+1] }

// orders are the outcomes of relations where the first value is less, equal and greater.
var orders = map[string][3]outcomes{
	operators.Equals: {isFalse, isTrue, isFalse}, operators.NotEquals: {isTrue, isFalse, isTrue},
	operators.Less: {isTrue, isFalse, isFalse}, operators.LessEquals: {isTrue, isTrue, isFalse},
	operators.Greater: {isFalse, isFalse, isTrue}, operators.GreaterEquals: {isFalse, isTrue, isTrue},
}

func (n *node) compareText(v string) outcomes {
	switch n.relation {
	case operators.Equals:
		return is(v == n.text)
	case operators.NotEquals:
		return is(v != n.text)
	case "startsWith":
		return is(strings.HasPrefix(v, n.text))
	case "endsWith":
		return is(strings.HasSuffix(v, n.text))
	default:
		return is(strings.Contains(v, n.text))
	}
}

func (n *node) compareBytes(v []byte) outcomes {
	switch n.relation {
	case operators.Equals:
		return is(string(v) == n.text)
	case operators.NotEquals:
		return is(string(v) != n.text)
	case "startsWith":
		return is(len(v) >= len(n.text) && string(v[:len(n.text)]) == n.text)
	case "endsWith":
		return is(len(v) >= len(n.text) && string(v[len(v)-len(n.text):]) == n.text)
	default:
		return is(bytes.Contains(v, n.needle))
	}
}

// numberIn sets the number of an enum that a text stands for.
func (n *node) numberIn(e protoreflect.EnumDescriptor) {
	if v := e.Values().ByName(protoreflect.Name(n.text)); v != nil && e.Values().ByNumber(v.Number()).Name() == v.Name() {
		n.number = int64(v.Number())
		return
	}
	v, err := strconv.ParseInt(n.text, 10, 32)
	if n.number = v; err != nil || strconv.FormatInt(v, 10) != n.text || e.Values().ByNumber(protoreflect.EnumNumber(v)) != nil {
		n.never = true
	}
}
