package index

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What a file says of other files (that it is the successor of a game, that players of an earlier game are in it, that it is the
// replay of a cursor) holds only where its writer is trusted: among the files of its own origin. The origin of a file is its
// root. In a root that is made of sources, such as a live root of NATS, it is the source: the root and the first directory below
// it, because other people write the other sources.
//
// By default a lineage crosses no border between origins. An operator names those that belong together, and this is the only
// exception: Lineages.

// ErrLineage means that the requested groups of origins are invalid.
var ErrLineage = errors.New("invalid lineage")

// Lineages holds the groups of origins that belong together. The zero value has none: every origin is on its own.
type Lineages struct {
	of    map[string]string // by origin, or alias of a root: the name of its group
	roots [][]string        // the aliases of each group
}

// ParseLineages parses groups of origins. Each group is a comma-separated list of aliases, and of ALIAS/SOURCE for roots that are
// made of sources. An alias of such a root stands for all its sources. An origin may be in one group. sources reports whether the
// root of an alias is made of sources. The error wraps ErrLineage.
func ParseLineages(groups []string, sources map[string]bool) (Lineages, error) {
	l := Lineages{of: map[string]string{}}
	for _, group := range groups {
		var aliases []string
		for origin := range strings.SplitSeq(group, ",") {
			alias, of, source := strings.Cut(origin, "/")
			made, known := sources[alias]
			switch {
			case !known:
				return Lineages{}, fmt.Errorf("%w %q: there is no root %q", ErrLineage, group, alias)
			case source && (!made || of == "" || strings.Contains(of, "/")):
				return Lineages{}, fmt.Errorf("%w %q: %q is no source of a root", ErrLineage, group, origin)
			case l.of[origin] != "":
				return Lineages{}, fmt.Errorf("%w %q: %q is named twice", ErrLineage, group, origin)
			}
			l.of[origin] = group
			if !slices.Contains(aliases, alias) {
				aliases = append(aliases, alias)
			}
		}
		if made, root := sources[group]; root && !made || !root && !strings.Contains(group, ",") {
			return Lineages{}, fmt.Errorf("%w %q: want two or more", ErrLineage, group)
		}
		l.roots = append(l.roots, aliases)
	}
	for origin := range l.of {
		if alias, _, source := strings.Cut(origin, "/"); source && l.of[alias] != "" {
			return Lineages{}, fmt.Errorf("%w: %q stands for %q, too", ErrLineage, alias, origin)
		}
	}
	return l, nil
}

// Roots returns the aliases of the roots in each group.
func (l Lineages) Roots() [][]string { return l.roots }

// key identifies the lineages: equal lineages have equal keys.
func (l Lineages) key() string {
	var list []string
	for origin, group := range l.of {
		list = append(list, fmt.Sprintf("%q=%q", origin, group))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// lineage returns a key that files and directories share if their replays may belong to one lineage. A root that is made of
// sources shares its own key with no file.
func (x *Index) lineage(name string) string {
	alias, rest, _ := strings.Cut(name, "/")
	origin := alias
	if state := x.roots[alias]; state != nil && state.sources && rest != "" {
		source, _, _ := strings.Cut(rest, "/")
		origin += "/" + source
	}
	for _, of := range []string{origin, alias} {
		if group := x.Lineages.of[of]; group != "" {
			return group + "," // no origin has a comma
		}
	}
	return origin
}

// Scope is the set of roots that a caller may see. The zero value has none.
type Scope struct {
	all   bool
	roots map[string]bool // by alias
}

// Everything returns the scope of all roots.
func Everything() Scope { return Scope{all: true} }

// Only returns the scope of some roots, by alias. The map must not be modified afterwards.
func Only(roots map[string]bool) Scope { return Scope{roots: roots} }

func (s Scope) has(name string) bool { return s.all || s.roots[root(name)] }

// Family is the set of replays in which one caller looks up identities: the replays that may belong to one lineage and that the
// caller may see. It is valid as long as its Index. The zero value is empty.
type Family struct {
	x       *Index
	lineage string
	within  string // the root whose sources it all has, if it was made for no single source
	alias   string // the root of the name that the family was made for
	scope   Scope
}

// Family returns the family of a replay or a directory, by name, for a caller. It is empty for a name in no root, such as an
// upload's.
func (x *Index) Family(of string, scope Scope) Family {
	f := Family{x: x, lineage: x.lineage(of), alias: root(of), scope: scope}
	if state := x.roots[f.alias]; state == nil {
		return Family{x: x}
	} else if state.sources && of == f.alias {
		f.within = f.alias
	}
	return f
}

// Has reports whether a replay belongs to the family.
func (f Family) Has(name string) bool {
	return f.scope.has(name) && (f.x.lineage(name) == f.lineage || f.within != "" && root(name) == f.within)
}

// After returns the replays that name the given one as the replay that the same server process wrote before.
func (f Family) After(identity string) []*Entry {
	if f.x == nil {
		return nil
	}
	f.x.mu.RLock()
	defer f.x.mu.RUnlock()
	return f.named(&f.x.bySucceeds, identity)
}

// Copies returns the files that hold a replay. Files that may grow come first.
func (f Family) Copies(identity string) []*Entry {
	if f.x == nil {
		return nil
	}
	f.x.mu.RLock()
	list := f.named(&f.x.byReplay, identity)
	f.x.mu.RUnlock()
	slices.SortStableFunc(list, func(a, b *Entry) int {
		if a.Growable() != b.Growable() {
			if a.Growable() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// named returns the files of an identity. The index must be locked.
func (f Family) named(by *lookup, identity string) (list []*Entry) {
	for _, e := range by.find(identity) {
		if f.Has(e.Name) {
			list = append(list, e)
		}
	}
	return list
}
