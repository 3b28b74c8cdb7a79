package where

import (
	"fmt"
	"regexp/syntax"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// checkPattern returns what is wrong with a call of matches, or nothing. A pattern must be written out: one that is made of what an
// event has would be compiled for each event.
func checkPattern(c ast.CallExpr) string {
	args := c.Args()
	if len(args) == 0 || args[len(args)-1].Kind() != ast.LiteralKind {
		return "the pattern of matches must be a text"
	}
	pattern, ok := args[len(args)-1].AsLiteral().(types.String)
	if !ok {
		return "the pattern of matches must be a text"
	}
	if len(pattern) > maxPattern {
		return fmt.Sprintf("the pattern has %d bytes; at most %d are allowed", len(pattern), maxPattern)
	}
	re, err := syntax.Parse(string(pattern), syntax.Perl)
	if err != nil {
		return err.Error()
	}
	if programSize(re) > maxProgram {
		return "the pattern repeats too much"
	}
	return ""
}

// programSize returns about how many steps a regular expression has with its repetitions written out. It stops counting at some number
// above maxProgram.
func programSize(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, 1<<20)
}
