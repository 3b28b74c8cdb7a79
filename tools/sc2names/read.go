package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pack holds the contents of the package.
type pack struct {
	commands map[string][]string // by ability and index; "" for none
	classes  map[string]string   // by unit type: "worker", "army", "structure"
	lists    []list
	tables   []table
}

// table describes the names in the balance data of a range of builds.
type table struct {
	expansion string // "WoL", "HotS" or "LotV"
	from, to  int    // builds: from the first one up to, but not including, the last one
	file      string // such as "LotV/97364": the list with the names
	// abilities and units select names of the list: "LotV/97364" means all of them, "LotV/97364&LotV/base" means the
	// names that the other list also has, and "LotV/97364<260" means the names of lower links.
	abilities, units string
}

// list holds the names in one file of the package.
type list struct {
	file             string
	abilities, units []entry
}

// entry is a name and its link.
type entry struct {
	link int
	name string
}

// last is one more than the last build that the newest table is known to fit, from a replay. Later builds get no names.
const last = 97563 + 1

// later limits the ranges of tables that the package leaves open. Since 38215, the balance data of all expansions is
// the same.
var later = map[string]int{"WoL/24944": 38215, "HotS/38215": 44401, "LotV/base": 44401, "LotV/97364": last}

// proven limits the builds for which a list's unit types are used in full, and selects a part for later builds. The
// package uses a list until the build of its next list. But unit types that were added in between moved those behind
// them. Replays in which the tracker gives the names show where that begins (TestSelectedTypes of decoders/sc2replay).
//
// If replays also show which types moved, only the links before these have names for later builds. Otherwise only the
// names on which the next list agrees are used. A list that is not in proven is used for its whole range: either
// replays show that it fits, or no replay has a tracker to check it.
var proven = map[string]struct {
	end  int    // the first build for which only a part of the list is used
	then string // the part that is used from that build on
}{
	"WoL/24944":  {26585, "<260"},
	"HotS/24764": {26585, "<260"},
	"LotV/base":  {38215, "&LotV/44401"},
	"LotV/44401": {44402, "&LotV/47185"},
	"LotV/47185": {47186, "&LotV/48258"},
	"LotV/48258": {48259, "&LotV/53644"},
	"LotV/53644": {53645, "&LotV/54724"},
	"LotV/54724": {54725, "&LotV/59587"},
	"LotV/59587": {59730, "&LotV/70154"},
	"LotV/70154": {70155, "&LotV/76114"},
	"LotV/76114": {76115, "&LotV/77379"},
	"LotV/77379": {78286, "&LotV/80949"},
}

// sparse are lists that lack the abilities by which things are built, trained and researched. The list of 48258 has the
// names of buttons in their place, several per link. If such a gap lies between abilities that the whole list has at
// the same distance, the whole list's names between them belong in the gap. Replays of 44401 and 47185 confirm this:
// the products of orders with these names exist later in the game (TestMakes of decoders/sc2replay).
var sparse = []string{"LotV/44401", "LotV/47185", "LotV/48258"}

const whole = "LotV/53644"

var registered = regexp.MustCompile(
	`datapacks\["(\w+)"\]\["(\w+)"\],\s*lambda r: r\.expansion == "\w+" ` +
		`and (?:(\d+) <= )?r\.build(?: < (\d+))?`)

// aliases are tables of the package that use another table's file.
var aliases = map[string]string{"HotS/38215": "LotV/base"}

func read(dir fs.FS) (*pack, error) {
	p := &pack{commands: map[string][]string{}}
	if err := p.readCommands(dir); err != nil {
		return nil, err
	}
	if err := p.readClasses(dir); err != nil {
		return nil, err
	}
	code, err := fs.ReadFile(dir, "resources.py")
	if err != nil {
		return nil, err
	}
	for _, m := range registered.FindAllStringSubmatch(string(code), -1) {
		t := table{expansion: m[1], file: m[1] + "/" + m[2], to: math.MaxInt}
		t.from, _ = strconv.Atoi(m[3]) // 0 if it has none
		if m[4] != "" {
			t.to, _ = strconv.Atoi(m[4])
		}
		if to, ok := later[t.file]; ok {
			t.to = to
		}
		if t.to == math.MaxInt {
			return nil, fmt.Errorf("%s serves all later builds: add its end to later", t.file)
		}
		if alias, ok := aliases[t.file]; ok {
			t.file = alias
		}
		t.abilities, t.units = t.file, t.file
		if err := p.readList(dir, t.file); err != nil {
			return nil, err
		}
		p.tables = append(p.tables, t)
	}
	if len(p.tables) == 0 {
		return nil, fmt.Errorf("resources.py registers no tables")
	}
	for i := range p.lists {
		if slices.Contains(sparse, p.lists[i].file) {
			p.lists[i].abilities = filled(p.lists[i].abilities, p.list(whole).abilities)
		}
	}
	p.correct()
	return p, nil
}

func (p *pack) list(file string) *list {
	return &p.lists[slices.IndexFunc(p.lists, func(l list) bool { return l.file == file })]
}

// filled returns a list with its gaps filled from a complete list.
func filled(gaps, whole []entry) []entry {
	places := map[string][]int{}
	for _, e := range whole {
		places[e.name] = append(places[e.name], e.link)
	}
	// distance returns how much higher an ability's link is in the complete list, if it is there exactly once.
	distance := func(e entry) (int, bool) {
		if at := places[e.name]; len(at) == 1 {
			return at[0] - e.link, true
		}
		return 0, false
	}
	var known []entry // entries with a known distance
	for _, e := range gaps {
		if _, ok := distance(e); ok {
			known = append(known, e)
		}
	}
	out := slices.Clone(gaps)
	for i := 1; i < len(known); i++ {
		before, _ := distance(known[i-1])
		after, _ := distance(known[i])
		if before != after {
			continue
		}
		for _, e := range between(whole, known[i-1].link+before, known[i].link+before) {
			e.link -= before
			if !slices.ContainsFunc(out, func(have entry) bool { return have.link == e.link }) {
				out = append(out, e)
			}
		}
	}
	slices.SortFunc(out, func(a, b entry) int { return a.link - b.link })
	return out
}

// correct splits the tables that are only partly correct, see proven.
func (p *pack) correct() {
	var out []table
	for _, t := range p.tables {
		limit, ok := proven[t.file]
		if !ok || limit.end >= t.to {
			out = append(out, t)
			continue
		}
		if limit.end > t.from {
			sound := t
			sound.to = limit.end
			out = append(out, sound)
		}
		t.from = max(t.from, limit.end)
		t.units += limit.then
		out = append(out, t)
	}
	p.tables = out
}

// readList reads a file of the package, unless it has been read.
func (p *pack) readList(dir fs.FS, file string) (err error) {
	if slices.ContainsFunc(p.lists, func(l list) bool { return l.file == file }) {
		return nil
	}
	l := list{file: file}
	if l.abilities, err = readLinks(dir, "data/"+file+"_abilities.csv"); err != nil {
		return err
	}
	l.units, err = readLinks(dir, "data/"+file+"_units.csv")
	p.lists = append(p.lists, l)
	return err
}

func lines(dir fs.FS, name string) ([]string, error) {
	b, err := fs.ReadFile(dir, name)
	if err != nil {
		return nil, err
	}
	return strings.Fields(strings.ReplaceAll(string(b), " ", "")), nil
}

// readLinks reads lines of a link and a name.
func readLinks(dir fs.FS, name string) ([]entry, error) {
	all, err := lines(dir, name)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, l := range all {
		number, text, _ := strings.Cut(l, ",")
		link, err := strconv.Atoi(number)
		if err != nil || text == "" {
			return nil, fmt.Errorf("%s: %q", path.Base(name), l)
		}
		out = append(out, entry{link, text})
	}
	// A link with several names gets none. The package would use the last one.
	counts := map[int]int{}
	for _, e := range out {
		counts[e.link]++
	}
	out = slices.DeleteFunc(out, func(e entry) bool { return counts[e.link] > 1 })
	slices.SortFunc(out, func(a, b entry) int { return a.link - b.link })
	return out, nil
}

func (p *pack) readCommands(dir fs.FS) error {
	all, err := lines(dir, "data/ability_lookup.csv")
	for _, l := range all {
		name, rest, _ := strings.Cut(l, ",")
		commands := strings.Split(rest, ",")
		for len(commands) > 0 && commands[len(commands)-1] == "" {
			commands = commands[:len(commands)-1]
		}
		p.commands[name] = commands
	}
	return err
}

// readClasses reads the classes of unit types. The package identifies them by a title in lower case.
func (p *pack) readClasses(dir fs.FS) error {
	b, err := fs.ReadFile(dir, "data/unit_info.json")
	if err != nil {
		return err
	}
	var races map[string]map[string]struct {
		Worker    bool `json:"is_worker"`
		Army      bool `json:"is_army"`
		Structure bool `json:"is_building"`
	}
	if err := json.Unmarshal(b, &races); err != nil {
		return fmt.Errorf("unit_info.json: %w", err)
	}
	titles, err := lines(dir, "data/unit_lookup.csv")
	p.classes = map[string]string{}
	for _, l := range titles {
		name, title, _ := strings.Cut(l, ",")
		for _, race := range []string{"Zerg", "Terran", "Protoss"} { // the package's order, reversed
			u, ok := races[race][strings.ToLower(title)]
			switch {
			case !ok:
			case u.Worker:
				p.classes[name] = "worker"
			case u.Structure:
				p.classes[name] = "structure"
			case u.Army:
				p.classes[name] = "army"
			}
		}
	}
	for class, names := range more {
		for name := range strings.FieldsSeq(names) {
			p.classes[name] = class
		}
	}
	return err
}

// more are unit types of standard games without a class in the package. Most are states of other types that have one.
var more = map[string]string{
	"army": "BroodlingEscort DisruptorPhased GhostAlternate GhostNova InfestorTerransEgg Liberator LiberatorAG LocustMPFlying " +
		"LurkerMPBurrowed LurkerMPEgg ObserverSiegeMode OverlordTransport OverseerSiegeMode RavagerBurrowed ThorAP " +
		"TransportOverlordCocoon",
	"structure": "AssimilatorRich CreepTumorQueen ExtractorRich PylonOvercharged RefineryRich ShieldBattery",
}
