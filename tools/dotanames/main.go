// Command dotanames writes the names that a demo of Dota 2 gives by number only: heroes, items, abilities, orders,
// announcements, and the values of some enums.
//
//	go run ./tools/dotanames -dotaconstants DIR -protobufs DIR -dotadata DIR -version "10.8.0, commit c5b587f9" >decoders/dem/internal/facts/names.txt
//
// The DIRs are checkouts of three repositories. github.com/odota/dotaconstants (MIT) has the numbers of heroes, items, abilities,
// orders and game modes in build/*.json. github.com/SteamDatabase/Protobufs has the enums of announcements and of the phases of a
// game in dota2/*.proto. github.com/ModDota/dota-data (Apache-2.0) has the enums of reasons, runes and teams in
// files/vscripts/enums.json.
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
	dotadata := flag.String("dotadata", "", "directory of dota-data")
	version := flag.String("version", "", "which version of dotaconstants")
	flag.Parse()
	if err := run(os.Stdout, *constants, *protobufs, *dotadata, *version); err != nil {
		fmt.Fprintln(os.Stderr, "dotanames:", err)
		os.Exit(1)
	}
}

// numbered is an entry of a file that has names by number.
type numbered struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

func run(out io.Writer, constants, protobufs, dotadata, version string) error {
	var heroes, modes map[string]numbered
	var items, abilities, orders map[string]string
	for name, into := range map[string]any{"heroes": &heroes, "game_mode": &modes, "item_ids": &items, "ability_ids": &abilities, "order_types": &orders} {
		data, err := os.ReadFile(filepath.Join(constants, "build", name+".json"))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, into); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by tools/dotanames from dotaconstants %s, and enums of the game.\n", version)
	named := map[string]map[int]string{"hero": {}, "ability": {}, "order": {}, "announcement": {}, "state": {}, "mode": {}}
	for _, h := range heroes {
		named["hero"][h.ID] = h.Name
	}
	for _, m := range modes {
		named["mode"][m.ID] = m.Name
	}
	if err := number(named["order"], orders, ""); err != nil {
		return err
	}
	if err := numberAbilities(named["ability"], items, abilities); err != nil {
		return err
	}
	if err := enum(named["announcement"], filepath.Join(protobufs, "dota2", "dota_usermessages.proto"), "CHAT_MESSAGE_"); err != nil {
		return err
	}
	if err := enum(named["state"], filepath.Join(protobufs, "dota2", "dota_shared_enums.proto"), "DOTA_GAMERULES_STATE_"); err != nil {
		return err
	}
	if err := scriptEnums(named, filepath.Join(dotadata, "files", "vscripts", "enums.json")); err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(named)) {
		for _, n := range slices.Sorted(maps.Keys(named[kind])) {
			fmt.Fprintln(&b, kind, n, named[kind][n])
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}

// enum adds the values of an enum in a .proto file whose names have a prefix.
func enum(into map[int]string, path, prefix string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, m := range regexp.MustCompile(`(?m)^\s*(`+prefix+`\w+) = (\d+);`).FindAllSubmatch(text, -1) {
		n, _ := strconv.Atoi(string(m[2]))
		if name := string(m[1]); !strings.HasSuffix(name, "_LAST") {
			into[n] = name
		}
	}
	return nil
}

// firstMoved is the first reason for a change of gold whose number has changed: DOTA_ModifyGold_NeutralKill was inserted before
// the kills of Roshan and of couriers.
const firstMoved = 14

// scriptEnums adds enums of the game's scripts.
func scriptEnums(named map[string]map[int]string, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var enums []struct {
		Name    string `json:"name"`
		Members []struct {
			Name  string `json:"name"`
			Value int    `json:"value"`
		} `json:"members"`
	}
	if err := json.Unmarshal(data, &enums); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	tables := map[string]string{"EDOTA_ModifyGold_Reason": "gold", "EDOTA_ModifyXP_Reason": "xp", "DOTA_RUNES": "rune", "DOTATeam_t": "team"}
	bounds := regexp.MustCompile(`_(MAX|COUNT|FIRST|CUSTOM_MIN)$`) // values that only bound the enum, and second names
	for _, e := range enums {
		table, wanted := tables[e.Name]
		if !wanted {
			continue
		}
		named[table] = map[int]string{}
		for _, m := range e.Members {
			if !bounds.MatchString(m.Name) && (table != "gold" || m.Value < firstMoved) {
				named[table][m.Value] = m.Name
			}
		}
	}
	return nil
}

// numberAbilities adds items and abilities, which share their numbers. It leaves out a number that an item and an ability have.
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

// number adds names by number. A number may have several names.
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
