package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"

	"github.com/icza/s2prot/build"
)

func main() {
	log.SetFlags(0)
	out := flag.String("o", "protocol.txt", "file to write")
	flag.Parse()
	text, err := generate()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*out, text, 0o644); err != nil {
		log.Fatal(err)
	}
}

const head = `# The protocol tables of StarCraft II replays, written by tools/sc2tables: do not edit.
# Notation and meaning: docs/formats/sc2replay.md, "Protocol tables". Builds without a published table: overlays.txt.
# A layout is valid from its base build until the next line below the same heading; "-" means that it is removed.

`

// generate merges all published tables. It writes each layout once, with the first table that has it.
func generate() ([]byte, error) {
	builds := slices.Sorted(maps.Keys(build.Builds))
	aliases := map[int][]int{}
	for _, alias := range slices.Sorted(maps.Keys(build.Duplicates)) {
		aliases[build.Duplicates[alias]] = append(aliases[build.Duplicates[alias]], alias)
	}
	var order []string
	lines := map[string][]string{}
	last := map[string]string{}
	for _, b := range builds {
		p, err := parse(build.Builds[b])
		if err != nil {
			return nil, fmt.Errorf("table %d: %w", b, err)
		}
		sections, err := p.sections()
		if err != nil {
			return nil, fmt.Errorf("table %d: %w", b, err)
		}
		seen := map[string]bool{}
		for _, s := range sections {
			seen[s.head] = true
			if _, known := lines[s.head]; !known {
				order = append(order, s.head)
			}
			if last[s.head] != s.line {
				lines[s.head] = append(lines[s.head], fmt.Sprintf("%d %s", b, s.line))
				last[s.head] = s.line
			}
		}
		for _, h := range order {
			if !seen[h] && last[h] != "-" {
				lines[h] = append(lines[h], fmt.Sprintf("%d -", b))
				last[h] = "-"
			}
		}
	}
	var out bytes.Buffer
	out.WriteString(head)
	out.WriteString("tables\n")
	for _, b := range builds {
		fmt.Fprint(&out, b)
		for _, a := range aliases[b] {
			fmt.Fprint(&out, " ", a)
		}
		out.WriteByte('\n')
	}
	slices.SortStableFunc(order, bySection)
	for _, h := range order {
		fmt.Fprintf(&out, "\n%s\n", h)
		for _, l := range lines[h] {
			out.WriteString(l)
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}

// bySection keeps the events of a stream together even if a later table added some.
func bySection(a, b string) int { return rank(a) - rank(b) }

func rank(h string) int {
	for i, prefix := range []string{"root ", "struct ", "game ", "message ", "tracker "} {
		if len(h) > len(prefix) && h[:len(prefix)] == prefix {
			return i
		}
	}
	return -1
}
