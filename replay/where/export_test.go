package where

import "slices"

// General returns the expression without the comparisons that need no CEL.
func (x *Expression) General() *Expression {
	g := &Expression{format: x.format, kinds: slices.Clone(x.kinds)}
	for k, p := range g.kinds {
		if p != nil {
			g.kinds[k] = &program{cel: p.cel, number: p.number, within: p.within}
		}
	}
	return g
}

// Quick reports whether the expression needs no CEL for a kind.
func (x *Expression) Quick(kind uint8) bool {
	return x.kinds[kind] != nil && x.kinds[kind].quick != nil
}
