package where

import (
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The names that rewritten expressions have for the whole event, the message of its kind, and what is absent. None can be written.
const (
	everything = "@event"
	absent     = "@absent"
)

func identOf(kind protoreflect.FieldDescriptor) string { return "@" + string(kind.Name()) }

// outcomes are the values that an expression may have, as far as is known without an event.
type outcomes uint8

const (
	isTrue outcomes = 1 << iota
	isFalse
	isAbsent
	isAny = isTrue | isFalse | isAbsent
)

// number is what a term is as a number.
type number uint8

const (
	noNumber number = iota
	signed
	unsigned
	double
)

// term is a rewritten expression.
type term struct {
	expr    ast.Expr
	can     outcomes
	message protoreflect.MessageDescriptor // if it is a message, or a list of these
	number  number
}

// rewriter makes of an expression what is left of it for a kind.
type rewriter struct {
	ast.ExprFactory

	format *format
	kind   protoreflect.FieldDescriptor
	next   int64          // the last number of an expression
	known  map[int64]bool // whether a kind has a field, by the number of the expression that is it
}

// locals are the variables of comprehensions.
type locals struct {
	name    string
	message protoreflect.MessageDescriptor
	number  number
	outer   *locals
}

func (l *locals) find(name string) *locals {
	for ; l != nil; l = l.outer {
		if l.name == name {
			return l
		}
	}
	return nil
}

func (r *rewriter) absent(id int64) term { return term{expr: r.NewIdent(id, absent), can: isAbsent} }

func (r *rewriter) bool(id int64, v bool) term {
	if v {
		return term{expr: r.NewLiteral(id, types.True), can: isTrue}
	}
	return term{expr: r.NewLiteral(id, types.False), can: isFalse}
}

func (r *rewriter) rewrite(e ast.Expr, in *locals) term {
	switch e.Kind() {
	case ast.LiteralKind:
		switch e.AsLiteral() {
		case types.True, types.False:
			return r.bool(e.ID(), e.AsLiteral() == types.True)
		}
		return term{expr: r.NewLiteral(e.ID(), e.AsLiteral()), can: isTrue | isFalse, number: numberOf(e.AsLiteral())}
	case ast.IdentKind:
		return r.ident(e, in)
	case ast.SelectKind:
		return r.field(e, in)
	case ast.CallKind:
		return r.call(e, in)
	case ast.ListKind:
		return r.list(e, in)
	case ast.ComprehensionKind:
		return r.comprehension(e, in)
	default: // refused before
		return term{expr: r.CopyExpr(e), can: isAny}
	}
}

func numberOf(v ref.Val) number {
	switch v.(type) {
	case types.Int:
		return signed
	case types.Uint:
		return unsigned
	case types.Double:
		return double
	}
	return noNumber
}

func (r *rewriter) ident(e ast.Expr, in *locals) term {
	name := e.AsIdent()
	if l := in.find(name); l != nil {
		return term{expr: r.NewIdent(e.ID(), name), can: isAny, message: l.message, number: l.number}
	}
	switch name {
	case "kind":
		return term{expr: r.NewLiteral(e.ID(), types.String(r.kind.Name())), can: isTrue | isFalse}
	case "event":
		return term{expr: r.NewIdent(e.ID(), identOf(r.kind)), can: isTrue | isFalse, message: r.kind.Message()}
	case "offset", "index":
		return term{expr: r.NewIdent(e.ID(), name), can: isTrue | isFalse, number: signed}
	case "time":
		return term{expr: r.NewIdent(e.ID(), name), can: isAny, number: double}
	}
	if f := r.format.event.Descriptor().Fields().ByName(protoreflect.Name(name)); f != nil && (f.ContainingOneof() == nil || f.HasOptionalKeyword()) {
		r.next++
		return r.get(e.ID(), r.NewIdent(r.next, everything), f)
	}
	return term{expr: r.NewIdent(e.ID(), name), can: isAny}
}

// get returns the field of a message.
func (r *rewriter) get(id int64, of ast.Expr, f protoreflect.FieldDescriptor) term {
	t := term{expr: r.NewSelect(id, of, string(f.Name())), can: isTrue | isFalse, message: f.Message(), number: numberOfField(f)}
	if f.HasPresence() {
		t.can = isAny
	}
	return t
}

func (r *rewriter) field(e ast.Expr, in *locals) term {
	s := e.AsSelect()
	of := r.rewrite(s.Operand(), in)
	if of.can == isAbsent {
		if s.IsTestOnly() {
			return r.bool(e.ID(), false)
		}
		return r.absent(e.ID())
	}
	if of.message != nil {
		f := of.message.Fields().ByName(protoreflect.Name(s.FieldName()))
		r.known[e.ID()] = r.known[e.ID()] || f != nil
		switch {
		case f == nil && s.IsTestOnly():
			return r.bool(e.ID(), false)
		case f == nil:
			return r.absent(e.ID())
		case !s.IsTestOnly():
			return r.get(e.ID(), of.expr, f)
		}
	}
	if !s.IsTestOnly() {
		return term{expr: r.NewSelect(e.ID(), of.expr, s.FieldName()), can: isAny}
	}
	return term{expr: r.test(e.ID(), of.expr, s.FieldName()), can: isTrue | isFalse}
}

// test returns a test of a field. A field of an absent message is not there.
func (r *rewriter) test(id int64, of ast.Expr, field string) ast.Expr {
	test := r.NewPresenceTest(id, of, field)
	if of.Kind() != ast.SelectKind {
		return test
	}
	r.next += 2
	around := of.AsSelect()
	return r.NewCall(r.next, operators.LogicalAnd, r.test(r.next-1, around.Operand(), around.FieldName()), test)
}

func (r *rewriter) list(e ast.Expr, in *locals) term {
	elements := make([]ast.Expr, 0, e.AsList().Size())
	for _, one := range e.AsList().Elements() {
		t := r.rewrite(one, in)
		if t.can == isAbsent {
			return r.absent(e.ID())
		}
		elements = append(elements, t.expr)
	}
	return term{expr: r.NewList(e.ID(), elements, nil), can: isAny}
}

func (r *rewriter) comprehension(e ast.Expr, in *locals) term {
	c := e.AsComprehension()
	of := r.rewrite(c.IterRange(), in)
	if of.can == isAbsent {
		return r.absent(e.ID())
	}
	inner := &locals{name: c.AccuVar(), outer: &locals{name: c.IterVar(), message: of.message, number: of.number, outer: in}}
	part := func(e ast.Expr) ast.Expr { return r.rewrite(e, inner).expr }
	return term{expr: r.NewComprehension(e.ID(), of.expr, c.IterVar(), c.AccuVar(), r.rewrite(c.AccuInit(), in).expr,
		part(c.LoopCondition()), part(c.LoopStep()), part(c.Result())), can: isAny}
}

func (r *rewriter) call(e ast.Expr, in *locals) term {
	c := e.AsCall()
	var args []term
	if c.IsMemberFunction() {
		args = append(args, r.rewrite(c.Target(), in))
	}
	for _, a := range c.Args() {
		args = append(args, r.rewrite(a, in))
	}
	switch c.FunctionName() {
	case operators.LogicalAnd:
		return r.and(e.ID(), args[0], args[1])
	case operators.LogicalOr:
		return r.or(e.ID(), args[0], args[1])
	case operators.LogicalNot:
		return r.not(e.ID(), args[0])
	case operators.Conditional:
		return r.conditional(e.ID(), args)
	case operators.NotStrictlyFalse:
		return term{expr: r.NewCall(e.ID(), c.FunctionName(), args[0].expr), can: isAny}
	}
	r.align(c.FunctionName(), args)
	exprs := make([]ast.Expr, len(args))
	for i, a := range args {
		if a.can == isAbsent {
			return r.absent(e.ID())
		}
		exprs[i] = a.expr
	}
	if v, known := literally(c.FunctionName(), exprs); known {
		return r.bool(e.ID(), v)
	}
	t := term{can: isAny}
	switch f := c.FunctionName(); {
	case arithmetics[f]:
		t.number = args[0].number
	case f == operators.Index:
		t.number, t.message = args[0].number, args[0].message
	}
	if c.IsMemberFunction() {
		t.expr = r.NewMemberCall(e.ID(), c.FunctionName(), exprs[0], exprs[1:]...)
	} else {
		t.expr = r.NewCall(e.ID(), c.FunctionName(), exprs...)
	}
	return t
}

var (
	comparisons = map[string]bool{
		operators.Equals: true, operators.NotEquals: true, operators.Less: true, operators.LessEquals: true,
		operators.Greater: true, operators.GreaterEquals: true,
	}
	arithmetics = map[string]bool{
		operators.Add: true, operators.Subtract: true, operators.Multiply: true, operators.Divide: true, operators.Modulo: true, operators.Negate: true,
	}
)

// align gives whole literals the type of what they are compared, or calculated, with.
func (r *rewriter) align(function string, args []term) {
	switch {
	case len(args) != 2:
	case comparisons[function] || arithmetics[function]:
		args[0], args[1] = r.as(args[0], args[1].number), r.as(args[1], args[0].number)
	case function == operators.In && args[1].expr.Kind() == ast.ListKind:
		list := args[1].expr.AsList().Elements()
		for i, one := range list {
			list[i] = r.as(term{expr: one}, args[0].number).expr
		}
	case function == operators.In:
		args[0] = r.as(args[0], args[1].number)
	}
}

// as returns a whole literal as a number of another type. Other terms it returns as they are.
func (r *rewriter) as(t term, to number) term {
	if t.expr.Kind() != ast.LiteralKind {
		return t
	}
	v, ok := t.expr.AsLiteral().(types.Int)
	switch {
	case ok && to == double && int64(float64(v)) == int64(v):
		return term{expr: r.NewLiteral(t.expr.ID(), types.Double(v)), can: t.can, number: double}
	case ok && to == unsigned && v >= 0:
		return term{expr: r.NewLiteral(t.expr.ID(), types.Uint(v)), can: t.can, number: unsigned}
	}
	return t
}

// literally returns what a function of texts that are written out returns.
func literally(function string, args []ast.Expr) (v, known bool) {
	if len(args) != 2 || args[0].Kind() != ast.LiteralKind {
		return false, false
	}
	a, ok := args[0].AsLiteral().(types.String)
	if !ok {
		return false, false
	}
	if function == operators.In && args[1].Kind() == ast.ListKind {
		for _, e := range args[1].AsList().Elements() {
			if e.Kind() != ast.LiteralKind || e.AsLiteral().Type() != types.StringType {
				return false, false
			}
			v = v || e.AsLiteral().Equal(a) == types.True
		}
		return v, true
	}
	if args[1].Kind() != ast.LiteralKind {
		return false, false
	}
	b, ok := args[1].AsLiteral().(types.String)
	if !ok {
		return false, false
	}
	switch function {
	case operators.Equals:
		return a == b, true
	case operators.NotEquals:
		return a != b, true
	case "startsWith":
		return strings.HasPrefix(string(a), string(b)), true
	case "endsWith":
		return strings.HasSuffix(string(a), string(b)), true
	case "contains":
		return strings.Contains(string(a), string(b)), true
	}
	return false, false
}

// settle returns a term for an expression: the outcome itself, if the expression can have only one.
func (r *rewriter) settle(id int64, can outcomes, expr func() ast.Expr) term {
	switch can {
	case isTrue, isFalse:
		return r.bool(id, can == isTrue)
	case isAbsent:
		return r.absent(id)
	}
	return term{expr: expr(), can: can}
}

func (r *rewriter) and(id int64, a, b term) term {
	can := (a.can | b.can) & isFalse
	if a.can&b.can&isTrue != 0 {
		can |= isTrue
	}
	if (a.can|b.can)&isAbsent != 0 && a.can != isFalse && b.can != isFalse {
		can |= isAbsent
	}
	if a.can == isFalse || b.can == isFalse {
		can = isFalse
	}
	return r.settle(id, can, func() ast.Expr {
		switch {
		case a.can == isTrue:
			return b.expr
		case b.can == isTrue:
			return a.expr
		}
		return r.NewCall(id, operators.LogicalAnd, a.expr, b.expr)
	})
}

func (r *rewriter) or(id int64, a, b term) term {
	can := (a.can | b.can) & isTrue
	if a.can&b.can&isFalse != 0 {
		can |= isFalse
	}
	if (a.can|b.can)&isAbsent != 0 && a.can != isTrue && b.can != isTrue {
		can |= isAbsent
	}
	if a.can == isTrue || b.can == isTrue {
		can = isTrue
	}
	return r.settle(id, can, func() ast.Expr {
		switch {
		case a.can == isFalse:
			return b.expr
		case b.can == isFalse:
			return a.expr
		}
		return r.NewCall(id, operators.LogicalOr, a.expr, b.expr)
	})
}

func (r *rewriter) not(id int64, a term) term {
	can := a.can & isAbsent
	if a.can&isTrue != 0 {
		can |= isFalse
	}
	if a.can&isFalse != 0 {
		can |= isTrue
	}
	return r.settle(id, can, func() ast.Expr { return r.NewCall(id, operators.LogicalNot, a.expr) })
}

func (r *rewriter) conditional(id int64, args []term) term {
	switch args[0].can {
	case isAbsent:
		return r.absent(id)
	case isTrue:
		return args[1]
	case isFalse:
		return args[2]
	}
	t := term{expr: r.NewCall(id, operators.Conditional, args[0].expr, args[1].expr, args[2].expr), number: args[1].number}
	t.can = args[1].can | args[2].can | args[0].can&isAbsent
	return t
}
