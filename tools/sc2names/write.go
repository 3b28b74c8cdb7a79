package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const head = `# Names of abilities, commands and unit types of StarCraft II, written by tools/sc2names: do not edit.
# Notation and meaning: docs/formats/sc2replay.md, "Names". The facts are those of the tables in the Python package
# sc2reader (Copyright (c) 2011-2013 Graylin Kim, MIT licence).

`

func (p *pack) write(version string) []byte {
	var out bytes.Buffer
	out.WriteString(head)
	fmt.Fprintf(&out, "source sc2reader %s\n\ncommands\n", version)
	used := map[string]bool{}
	for _, l := range p.lists {
		for _, e := range l.abilities {
			used[e.name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.commands)) {
		if !used[name] {
			continue
		}
		var line strings.Builder
		for i, command := range p.commands[name] {
			if command != "" {
				fmt.Fprintf(&line, " %d %s", i, command)
			}
		}
		// An ability without names for its commands has one command, with the ability's name.
		if line.Len() > 0 && line.String() != " 0 "+name {
			fmt.Fprintf(&out, "%s%s\n", name, &line)
		}
	}
	classes := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(p.classes)) {
		classes[p.classes[name]] = append(classes[p.classes[name]], name)
	}
	out.WriteString("\nclasses\n")
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		fmt.Fprintf(&out, "%s %s\n", class, strings.Join(classes[class], " "))
	}
	var before list
	for _, l := range p.lists {
		fmt.Fprintf(&out, "\nabilities %s\n", l.file)
		writeLinks(&out, before.abilities, l.abilities)
		fmt.Fprintf(&out, "\nunits %s\n", l.file)
		writeLinks(&out, before.units, l.units)
		before = l
	}
	out.WriteString("\ntables\n")
	for _, t := range p.tables {
		fmt.Fprintf(&out, "%s %d %d %s %s\n", t.expansion, t.from, t.to, t.abilities, t.units)
	}
	return out.Bytes()
}

// writeLinks writes a list as the parts that it repeats of the previous one, "= first last shift", and other entries,
// "link name".
func writeLinks(out *bytes.Buffer, before, now []entry) {
	at := map[int]string{}
	links := map[string][]int{}
	for _, e := range before {
		at[e.link] = e.name
		links[e.name] = append(links[e.name], e.link)
	}
	// run returns the number of entries from i that are repeated with the shift.
	run := func(i, shift int) (n int) {
		for ; i+n < len(now); n++ {
			e := now[i+n]
			if at[e.link-shift] != e.name {
				break
			}
			// If two entries are adjacent in the new list, they must also be in the old one.
			if n > 0 && len(between(before, now[i+n-1].link-shift, e.link-shift)) > 0 {
				break
			}
		}
		return n
	}
	for i := 0; i < len(now); {
		best, shift := 0, 0
		for _, link := range links[now[i].name] {
			if n := run(i, now[i].link-link); n > best {
				best, shift = n, now[i].link-link
			}
		}
		if best == 0 {
			fmt.Fprintf(out, "%d %s\n", now[i].link, now[i].name)
			i++
			continue
		}
		fmt.Fprintf(out, "= %d %d %d\n", now[i].link-shift, now[i+best-1].link-shift, shift)
		i += best
	}
}

// between returns the entries whose links are between two others.
func between(list []entry, after, before int) []entry {
	search := func(link int) int {
		i, _ := slices.BinarySearchFunc(list, link, func(e entry, link int) int { return e.link - link })
		return i
	}
	from, to := search(after+1), search(before)
	if from > to {
		return nil
	}
	return list[from:to]
}
