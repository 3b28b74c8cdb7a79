// Command demmessages writes the list of messages of Source 2 demos: their numbers and names by game, and the numbers, types and
// names of their fields.
//
//	go run ./tools/demmessages -source "dota=DIR/dota2" -source "cs2=DIR/csgo" ... >decoders/dem/internal/lexicon/messages.txt
//
// Each DIR has definitions that the games contain, in .proto files, as published by SteamDatabase and others. The same game may be
// given several times, the newest definitions first: older ones add numbers and fields that the game no longer has.
// decoders/dem/internal/lexicon says from which versions the present list is.
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	var sources []string
	flag.Func("source", "GAME=DIR", func(s string) error { sources = append(sources, s); return nil })
	flag.Parse()
	if err := run(os.Stdout, os.Stderr, sources); err != nil {
		fmt.Fprintln(os.Stderr, "demmessages:", err)
		os.Exit(1)
	}
}

// numbered is a message with a number.
type numbered struct {
	number int
	name   string
}

// list collects the definitions of all sources.
type list struct {
	ids   map[string]map[int]string // names by game and number
	types map[string]map[int]field  // fields by message and number
	warn  io.Writer
}

func run(out, warn io.Writer, sources []string) error {
	l := list{ids: map[string]map[int]string{}, types: map[string]map[int]field{}, warn: warn}
	for _, source := range sources {
		game, dir, _ := strings.Cut(source, "=")
		defs, err := readDefinitions(dir)
		if err != nil {
			return err
		}
		l.addNumbers(game, defs.numbers(warn))
		l.addTypes(source, defs)
	}
	for _, m := range unpublished {
		l.addNumbers(m.game, []numbered{m.numbered})
	}
	l.share()
	var b bytes.Buffer
	b.WriteString("# Written by tools/demmessages.\n")
	l.write(&b)
	_, err := out.Write(b.Bytes())
	return err
}

func (l *list) addNumbers(game string, all []numbered) {
	if l.ids[game] == nil {
		l.ids[game] = map[int]string{}
	}
	for _, m := range all {
		if _, newer := l.ids[game][m.number]; !newer {
			l.ids[game][m.number] = m.name
		}
	}
}

// share gives all games the messages of the engine that one of them has: the games take over a new engine one after another.
func (l *list) share() {
	games := slices.Sorted(maps.Keys(l.ids))
	for _, from := range games {
		for number, name := range l.ids[from] {
			if number >= firstOfGames {
				continue
			}
			for _, to := range games {
				if _, ok := l.ids[to][number]; !ok {
					l.ids[to][number] = name
				}
			}
		}
	}
}

// addTypes adds the fields of messages. If an older definition has another type for a number, the newer type stays.
func (l *list) addTypes(source string, defs *definitions) {
	for name, fields := range defs.messages {
		if l.types[name] == nil {
			l.types[name] = map[int]field{}
		}
		for _, f := range fields {
			newer, ok := l.types[name][f.number]
			if !ok {
				l.types[name][f.number] = f
			} else if newer.wire() != f.wire() {
				_, _ = fmt.Fprintf(l.warn, "%s: %s.%d is %s %s, and not %s %s\n", source, name, f.number, newer.typ, newer.name, f.typ, f.name)
			}
		}
	}
}

// write writes the numbers, and the types that are reachable from them.
func (l *list) write(b *bytes.Buffer) {
	games := map[numbered][]string{}
	roots := slices.Clone(inside)
	for game, ids := range l.ids {
		for number, name := range ids {
			m := numbered{number, name}
			games[m] = append(games[m], game)
			roots = append(roots, name)
		}
	}
	order := func(x, y numbered) int {
		return cmp.Or(cmp.Compare(x.number, y.number), strings.Compare(x.name, y.name))
	}
	for _, m := range slices.SortedFunc(maps.Keys(games), order) {
		of := games[m]
		slices.Sort(of)
		label := strings.Join(of, ",")
		if len(of) == len(l.ids) {
			label = "all"
		}
		fmt.Fprintf(b, "id %s %d %s\n", label, m.number, m.name)
	}
	for _, name := range l.reachable(roots) {
		fmt.Fprintf(b, "type %s\n", name)
		fields := l.types[name]
		for _, n := range slices.Sorted(maps.Keys(fields)) {
			fmt.Fprintf(b, "%d %s %s\n", n, fields[n].text(name), fields[n].name)
		}
	}
}

// reachable returns the messages of roots and all messages that these contain.
func (l *list) reachable(roots []string) []string {
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if l.types[name] == nil || seen[name] {
			return
		}
		seen[name] = true
		for _, f := range l.types[name] {
			visit(f.message)
		}
		visit(contents[name])
	}
	for _, name := range roots {
		visit(name)
	}
	return slices.Sorted(maps.Keys(seen))
}
