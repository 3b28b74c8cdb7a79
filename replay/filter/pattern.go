package filter

import "strings"

// patterns is a set of names, some of them given as patterns.
type patterns struct {
	any   bool // every name matches, and so does an event without a name
	exact map[string]struct{}
	sizes uint64 // a bit for the length of each of exact, modulo 64
	globs []string
}

// patternsOf returns the set of names that the patterns match. An empty list matches all names.
func patternsOf(list []string) patterns {
	p := patterns{any: len(list) == 0}
	for _, pattern := range list {
		if isGlob(pattern) {
			p.globs = append(p.globs, pattern)
			continue
		}
		if p.exact == nil {
			p.exact = map[string]struct{}{}
		}
		p.exact[pattern] = struct{}{}
		p.sizes |= 1 << (len(pattern) % 64)
	}
	return p
}

func isGlob(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

// match reports whether one of the patterns matches the name.
func (p *patterns) match(name string) bool {
	if p.sizes>>(len(name)%64)&1 != 0 { // few names are as long as one of them
		if _, ok := p.exact[name]; ok {
			return true
		}
	}
	for _, g := range p.globs {
		if Glob(g, name) {
			return true
		}
	}
	return false
}

// Glob reports whether name matches the pattern, in which * stands for any number of characters and ? for one. All other
// characters stand for themselves; upper and lower case differ.
func Glob(pattern, name string) bool {
	for end := len(pattern) - 1; end >= 0 && pattern[end] != '*'; end-- { // behind the last star, most names differ in a character
		last := len(name) - 1
		if last < 0 || pattern[end] != '?' && pattern[end] != name[last] {
			return false
		}
		pattern, name = pattern[:end], name[:last]
	}
	star, mark := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0: // give the last star one character more
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
