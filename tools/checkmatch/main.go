// Command checkmatch compares a whole match with what others say of it, so that whoever has one can tell what is wrong with its facts:
//
//	make check-match FILE=match.dem OPENDOTA=match.json
//	make check-match FILE=match.dem CSDM=match.json
//
// OPENDOTA is the answer of https://api.opendota.com/api/matches/ID for a parsed match of Dota 2, and CSDM what cs-demo-analyzer writes with
// -format json of a game of Counter-Strike 2. Without either it compares the facts with the game's own counts, and facts from the middle of
// the file with those from its beginning.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

func main() {
	opendota := flag.String("opendota", "", "what OpenDota says of the match, as JSON")
	csdm := flag.String("csdm", "", "what cs-demo-analyzer says of the match, as JSON")
	flag.Parse()
	differs, err := check(flag.Arg(0), *opendota, *csdm)
	if err != nil {
		fmt.Fprintln(os.Stderr, "checkmatch:", err)
		os.Exit(2)
	}
	if differs {
		os.Exit(1)
	}
}

// check compares the demo in a file, prints the results, and reports whether anything differs.
func check(path, opendota, csdm string) (differs bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	m, err := read(file)
	if err != nil {
		return false, err
	}
	results := m.own()
	again, err := m.again(file)
	if err != nil {
		return false, err
	}
	results = append(results, again...)
	if opendota != "" {
		var said openDota
		if err := load(opendota, &said); err != nil {
			return false, err
		}
		results = append(results, m.compareOpenDota(&said)...)
	}
	if csdm != "" {
		var said csdmMatch
		if err := load(csdm, &said); err != nil {
			return false, err
		}
		results = append(results, m.compareCSDM(&said)...)
	}
	for i := range results {
		fmt.Println(&results[i])
		differs = differs || !results[i].ok()
	}
	return differs, nil
}

func load(path string, to any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
