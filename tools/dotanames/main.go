// Command dotanames writes the names that a demo of Dota 2 gives by number only: heroes, items, abilities, orders and
// announcements.
//
//	go run ./tools/dotanames -dotaconstants DIR -protobufs DIR -version "10.8.0, commit c5b587f9" >decoders/dem/internal/facts/names.txt
//
// DIR are checkouts of github.com/odota/dotaconstants (MIT), whose build/*.json has the numbers, and of
// github.com/SteamDatabase/Protobufs, whose dota2/dota_usermessages.proto has the enum of announcements.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	constants := flag.String("dotaconstants", "", "directory of dotaconstants")
	protobufs := flag.String("protobufs", "", "directory of Protobufs")
	version := flag.String("version", "", "which version of dotaconstants")
	flag.Parse()
	if err := run(os.Stdout, *constants, *protobufs, *version); err != nil {
		fmt.Fprintln(os.Stderr, "dotanames:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, constants, protobufs, version string) error {
	var heroes map[string]struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
	var items, abilities, orders map[string]string
	for name, into := range map[string]any{"heroes": &heroes, "item_ids": &items, "ability_ids": &abilities, "order_types": &orders} {
		data, err := os.ReadFile(filepath.Join(constants, "build", name+".json"))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, into); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	announced, err := os.ReadFile(filepath.Join(protobufs, "dota2", "dota_usermessages.proto"))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by tools/dotanames from dotaconstants %s, and the enum DOTA_CHAT_MESSAGE of the game.\n", version)
	named := map[string]map[int]string{"hero": {}, "ability": {}, "order": {}, "announcement": {}}
	for _, h := range heroes {
		named["hero"][h.ID] = h.Name
	}
	if err := number(named["order"], orders, ""); err != nil {
		return err
	}
	if err := numberAbilities(named["ability"], items, abilities); err != nil {
		return err
	}
	for _, m := range regexp.MustCompile(`(?m)^\s*(CHAT_MESSAGE_\w+) = (\d+);`).FindAllSubmatch(announced, -1) {
		n, _ := strconv.Atoi(string(m[2]))
		named["announcement"][n] = string(m[1])
	}
	for _, kind := range slices.Sorted(maps.Keys(named)) {
		for _, n := range slices.Sorted(maps.Keys(named[kind])) {
			fmt.Fprintln(&b, kind, n, named[kind][n])
		}
	}
	_, err = out.Write(b.Bytes())
	return err
}

// numberAbilities adds items and abilities, which share their numbers. A number that means an item and another ability is
// left out.
func numberAbilities(into map[int]string, items, abilities map[string]string) error {
	other := map[int]string{}
	if err := number(into, items, "item_"); err != nil {
		return err
	}
	if err := number(other, abilities, ""); err != nil {
		return err
	}
	for n, name := range other {
		if item, both := into[n]; both && item != name {
			delete(into, n)
			continue
		}
		into[n] = name
	}
	return nil
}

// number adds names by their numbers, of which one may have several.
func number(into map[int]string, names map[string]string, prefix string) error {
	for numbers, name := range names {
		for text := range strings.SplitSeq(numbers, ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			into[n] = prefix + name
		}
	}
	return nil
}
