package where

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/containers"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/parser"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/internal/nearest"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
)

// These limits bound the work of refusing an expression, and of evaluating it.
const (
	maxBytes = 4096
	maxNodes = 160
	maxDepth = 24 // nested parentheses and operators
	// maxCost is how much of CEL's cost one event may take. A unit is a step of some ten nanoseconds.
	maxCost = 100_000
	// workCost is the cost after which others get their turn.
	workCost = 50_000
	// maxPattern is the largest length of a regular expression, and of what its repetitions stand for.
	maxPattern, maxProgram = 256, 2048
)

// Field is the field of a request that has an expression.
const Field = "where"

// Expression is a compiled expression. It is immutable and safe for concurrent use. It implements [codec.Where].
type Expression struct {
	format *format
	kinds  []*program // by number; nil for a kind none of whose events can meet the expression
}

// program is what is left of an expression for a kind.
type program struct {
	quick  *node            // nil if it needs CEL
	number protowire.Number // of the kind's field
	cel    cel.Program
	within bool // the cost of no event exceeds the limit
}

// format is what expressions have to know of a format.
type format struct {
	event   protoreflect.MessageType
	kinds   []protoreflect.FieldDescriptor // by number; the first is no kind
	names   []string                       // of the kinds
	env     *cel.Env
	checker *checker.Env
	mu      sync.Mutex // held while checker is used
}

// formats are those that were asked for, by the names of their events.
var formats sync.Map

func formatOf(c *codec.Codec) (*format, error) {
	list := c.NewEventList().ProtoReflect()
	events := list.NewField(list.Descriptor().Fields().ByName("events")).List()
	event := events.NewElement().Message().Type()
	name := event.Descriptor().FullName()
	if f, ok := formats.Load(name); ok {
		return f.(*format), nil
	}
	f := &format{event: event, kinds: make([]protoreflect.FieldDescriptor, 1), names: make([]string, 1)}
	provider := newProvider(event.Descriptor())
	idents := []*decls.VariableDecl{
		decls.NewVariable(everything, objectOf(event.Descriptor())), decls.NewVariable(absent, types.DynType),
		decls.NewVariable("offset", types.IntType), decls.NewVariable("index", types.IntType), decls.NewVariable("time", types.DoubleType),
	}
	for kinds, i := event.Descriptor().Oneofs().ByName("kind").Fields(), 0; i < kinds.Len(); i++ {
		k := kinds.Get(i)
		f.kinds, f.names = append(f.kinds, k), append(f.names, string(k.Name()))
		idents = append(idents, decls.NewVariable(identOf(k), objectOf(k.Message())))
	}
	var err error
	if f.env, err = cel.NewEnv(cel.CustomTypeProvider(provider), cel.CustomTypeAdapter(provider)); err != nil {
		return nil, err
	}
	if f.checker, err = checker.NewEnv(containers.DefaultContainer, provider, checker.CrossTypeNumericComparisons(true)); err != nil {
		return nil, err
	}
	if err := f.checker.AddIdents(append(idents, stdlib.Types()...)...); err != nil {
		return nil, err
	}
	if err := f.checker.AddFunctions(stdlib.Functions()...); err != nil {
		return nil, err
	}
	shared, _ := formats.LoadOrStore(name, f)
	return shared.(*format), nil
}

// Compile compiles an expression for the events of a format that a filter may deliver. It returns a [*filter.FieldError] for an
// expression that cannot be read, that does not type for one of these kinds, or that is true for no event of any of them.
func Compile(c *codec.Codec, f *filter.Filter, expression string) (*Expression, error) {
	of, err := formatOf(c)
	if err != nil {
		return nil, err
	}
	source, parsed, err := parse(expression)
	if err != nil {
		return nil, err
	}
	if f, err = f.Listed(&c.Filters); err != nil {
		return nil, err
	}
	x := &Expression{format: of, kinds: make([]*program, len(of.kinds))}
	known := map[int64]bool{}
	var asked, some bool
	for k := 1; k < len(of.kinds); k++ {
		if !f.Kind(uint8(k)) || c.Filters.Kinds[k].State {
			continue
		}
		asked = true
		if x.kinds[k], err = of.compile(source, parsed, k, known); err != nil {
			return nil, err
		}
		some = some || x.kinds[k] != nil
	}
	if err := of.unknown(parsed, known, f); err != nil {
		return nil, err
	}
	if asked && !some {
		return nil, problem("no event of the kinds that the filters let through can meet it: %s%s", of.selected(f), of.left(f, of.named(parsed)))
	}
	return x, nil
}

// May reports whether an event of the kind can meet the expression.
func (x *Expression) May(kind uint8) bool { return int(kind) < len(x.kinds) && x.kinds[kind] != nil }

// Kinds returns the names of the kinds whose events can meet the expression.
func (x *Expression) Kinds() (names []string) {
	for k := range x.kinds {
		if x.kinds[k] != nil {
			names = append(names, x.format.names[k])
		}
	}
	return names
}

// problem returns the error of an expression.
func problem(text string, args ...any) error {
	return &filter.FieldError{Field: Field, Problem: fmt.Sprintf(text, args...)}
}

// at says where in an expression something is. Lines and columns begin with 1.
func at(l common.Location) string {
	if l.Line() > 1 {
		return fmt.Sprintf("line %d, column %d", l.Line(), l.Column()+1)
	}
	return fmt.Sprintf("column %d", l.Column()+1)
}

// parse parses an expression and checks what does not depend on types.
func parse(expression string) (common.Source, *ast.AST, error) {
	if len(expression) > maxBytes {
		return nil, nil, problem("has %d bytes; at most %d are allowed", len(expression), maxBytes)
	}
	p, err := parser.NewParser(
		parser.Macros(parser.HasMacro, parser.AllMacro, parser.ExistsMacro, parser.ExistsOneMacro), parser.EnablePrattParser(true),
		parser.MaxRecursionDepth(maxDepth*2), parser.ErrorReportingLimit(1), parser.ErrorRecoveryLimit(1), parser.MaxExpressionNodeCount(8*maxNodes),
	)
	if err != nil {
		return nil, nil, err
	}
	source := common.NewStringSource(expression, Field)
	parsed, errs := p.Parse(source)
	if list := errs.GetErrors(); len(list) > 0 {
		return nil, nil, problem("%s: %s", at(list[0].Location), list[0].Message)
	}
	if ast.ExceedsDepth(parsed, maxDepth) {
		return nil, nil, problem("is nested more than %d deep", maxDepth)
	}
	if n := ast.NodeCount(parsed); n > maxNodes {
		return nil, nil, problem("has %d parts; at most %d are allowed", n, maxNodes)
	}
	return source, parsed, checkParts(parsed)
}

// compile returns what is left of an expression for a kind, nil if no event of the kind can meet it.
func (f *format) compile(source common.Source, parsed *ast.AST, kind int, known map[int64]bool) (*program, error) {
	r := rewriter{ExprFactory: ast.NewExprFactory(), format: f, kind: f.kinds[kind], next: ast.MaxID(parsed), known: known}
	left := r.rewrite(parsed.Expr(), nil)
	if left.can&isTrue == 0 {
		return nil, nil
	}
	in := "in events of kind " + f.names[kind]
	f.mu.Lock()
	checked, errs := checker.Check(ast.NewAST(left.expr, ast.CopySourceInfo(parsed.SourceInfo())), source, f.checker)
	f.mu.Unlock()
	if list := errs.GetErrors(); len(list) > 0 {
		return nil, problem("%s: %s (%s)", at(list[0].Location), f.explain(list[0].Message), in)
	}
	if typ := checked.GetType(checked.Expr().ID()); typ != types.BoolType {
		return nil, problem("is of type %s, and must be true or false (%s)", typ, in)
	}
	estimate, err := cost.Cost(checked, sizes{})
	if err != nil {
		return nil, err
	}
	if estimate.Min > maxCost {
		return nil, problem("takes too long (%s): %d steps, of which %d are allowed", in, estimate.Min, maxCost)
	}
	p := &program{quick: r.quick(left.expr), number: r.kind.Number(), within: estimate.Max <= maxCost}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if !p.within {
		options = append(options, cel.CostLimit(maxCost))
	}
	if p.cel, err = f.env.PlanProgram(checked, options...); err != nil {
		return nil, problem("%v (%s)", err, in)
	}
	return p, nil
}

// explain replaces the names that expressions have in here by those that they were written with.
func (f *format) explain(message string) string {
	message, _, _ = strings.Cut(message, " (in container")
	if _, name, ok := strings.Cut(message, "undeclared reference to '"); ok {
		name = strings.TrimSuffix(name, "'")
		if slices.Contains(f.names, name) {
			return fmt.Sprintf("%s: a kind is the text kind == %q, and its fields are those of event", message, name)
		}
		for _, k := range f.kinds[1:] {
			if k.Message().Fields().ByName(protoreflect.Name(name)) != nil {
				return fmt.Sprintf("%s: event.%s is the field of an event", message, name)
			}
		}
		return message + nearest.Hint(name, f.idents()...)
	}
	return message
}

// idents returns the names that an expression may have.
func (f *format) idents() []string {
	names := []string{"event", "kind", "offset", "index", "time"}
	for fields, i := f.event.Descriptor().Fields(), 0; i < fields.Len(); i++ {
		if of := fields.Get(i); of.ContainingOneof() == nil || of.HasOptionalKeyword() {
			names = append(names, string(of.Name()))
		}
	}
	return names
}

// unknown refuses a field that no kind has.
func (f *format) unknown(parsed *ast.AST, known map[int64]bool, of *filter.Filter) error {
	var first *ast.Expr
	var where common.Location
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.SelectKind {
			return
		}
		if has, there := known[e.ID()]; there && !has && first == nil {
			first, where = &e, parsed.SourceInfo().GetStartLocation(e.ID())
		}
	}))
	if first == nil {
		return nil
	}
	s := (*first).AsSelect()
	var fields, others []string
	if s.Operand().Kind() == ast.IdentKind {
		for k := 1; k < len(f.kinds); k++ {
			through, has := of.Kind(uint8(k)), f.kinds[k].Message().Fields()
			for i := 0; through && i < has.Len(); i++ {
				fields = append(fields, string(has.Get(i).Name()))
			}
			if !through && has.ByName(protoreflect.Name(s.FieldName())) != nil {
				others = append(others, f.names[k])
			}
		}
	}
	slices.Sort(fields)
	fields = slices.Compact(fields)
	text := nearest.Hint(s.FieldName(), fields...) + ": " + f.selected(of) + f.left(of, append(others, f.named(parsed)...))
	if n := len(fields); n > 0 && n <= most {
		text += "; their fields are " + strings.Join(fields, ", ")
	}
	return problem("%s: none of the events that the filters let through has the field %s%s", at(where), s.FieldName(), text)
}

// most is how many names a message lists.
const most = 12

// named lists the kinds whose names are texts of an expression.
func (f *format) named(parsed *ast.AST) (kinds []string) {
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.LiteralKind {
			if text, ok := e.AsLiteral().(types.String); ok && text != "" && slices.Contains(f.names, string(text)) {
				kinds = append(kinds, string(text))
			}
		}
	}))
	return kinds
}

// left says which of some kinds a filter does not deliver. Facts and samples come only by name.
func (f *format) left(of *filter.Filter, kinds []string) string {
	var left []string
	for k := 1; k < len(f.kinds); k++ {
		if !of.Kind(uint8(k)) && slices.Contains(kinds, f.names[k]) {
			left = append(left, f.names[k])
		}
	}
	if len(left) == 0 || len(left) > most {
		return ""
	}
	return "; a filter has to name the kind " + strings.Join(left, " or ")
}

// selected lists the kinds that a filter may deliver.
func (f *format) selected(of *filter.Filter) string {
	var names []string
	for k := 1; k < len(f.kinds); k++ {
		if of.Kind(uint8(k)) {
			names = append(names, f.names[k])
		}
	}
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d others", len(names)-most))
	}
	return "they are of kind " + strings.Join(names, ", ")
}

// checkParts refuses what no expression may have.
func checkParts(parsed *ast.AST) (err error) {
	refuse := func(e ast.Expr, text string, args ...any) {
		if err == nil {
			err = problem("%s: %s", at(parsed.SourceInfo().GetStartLocation(e.ID())), fmt.Sprintf(text, args...))
		}
	}
	loops := 0
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.MapKind, ast.StructKind:
			refuse(e, "maps and messages cannot be made")
		case ast.ComprehensionKind:
			if c := e.AsComprehension(); slices.Contains([]string{"event", "kind", "offset", "index", "time"}, c.IterVar()) {
				refuse(e, "%s cannot be the name of an element", c.IterVar())
			}
			if loops++; loops > maxLoops {
				refuse(e, "has more than %d of all, exists and exists_one", maxLoops)
			}
		case ast.CallKind:
			switch c := e.AsCall(); c.FunctionName() {
			case "matches":
				if text := checkPattern(c); text != "" {
					refuse(e, "%s", text)
				}
			case "map", "filter":
				refuse(e, "%s cannot be used", c.FunctionName())
			}
		}
	}))
	return err
}

// maxLoops is how many comprehensions an expression may have.
const maxLoops = 4

// sizes tells the estimator of costs how large values may be.
type sizes struct{}

func (sizes) EstimateSize(n cost.AstNode) *cost.SizeEstimate {
	switch n.Type().Kind() {
	case types.StringKind, types.BytesKind, types.ListKind, types.DynKind:
		if n.ComputedSize() == nil {
			s := cost.RangedSizeEstimate(0, codec.MaxEventBytes)
			return &s
		}
	default:
	}
	return nil
}

//nolint:gocritic // the pointer is CEL's
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}
