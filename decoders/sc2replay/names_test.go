package sc2replay_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/names"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

var sc2readerOrders = flag.String("sc2reader", "", "file with the names that sc2reader gives to orders, written by tools/sc2names/orders.py")

// TestNames checks that orders and unit types are named by the expansion and build of the game, and stay unnamed if
// those are unknown.
func TestNames(t *testing.T) {
	named := func(r *sc2test.Replay) string {
		p := open(t, r.Bytes())
		d := p.Events(sc2replay.Options{})
		var ev sc2replay.Event
		var got []string
		for d.Next(&ev) == nil {
			switch ev.Kind {
			case sc2replay.KindCmd:
				c := &ev.Cmd
				got = append(got, string(c.Abil.Name), string(c.TargetUnit.SnapshotUnitName), string(c.OtherUnit.TypeName))
			case sc2replay.KindSelectionDelta:
				for _, g := range ev.SelectionDelta.AddSubgroups {
					got = append(got, string(g.UnitName))
				}
				for _, u := range ev.SelectionDelta.AddUnitTags {
					got = append(got, string(u.TypeName))
				}
			}
		}
		return fmt.Sprintf("%s: %d %s", strings.Join(got, ","), p.Start.DecodeInfo.Names.Build, p.Start.DecodeInfo.Names.Source)
	}
	for _, tt := range []struct {
		table, build int
		want         string
	}{
		// The tracker names the types of units. In replays without a tracker, selections do.
		{80949, 0, "SCV,SCV,Barracks,Patrol,,,,Larva,Barracks: 80949 sc2reader 1.9.0, LotV/80949"},
		{80949, 97563, "SCV,SCV,Barracks,Patrol,,,,Larva,Barracks: 97364 sc2reader 1.9.0, LotV/97364"},
		{80949, 97564, ",SCV,Barracks,,,,,,Barracks: 0 "},
		{24764, 0, "SCV,SCV,SCV,Patrol,,,,Larva,SCV: 24764 sc2reader 1.9.0, HotS/24764"},
		{16561, 0, "SCV,SCV,SCV,Patrol,,,,Larva,SCV: 16117 sc2reader 1.9.0, WoL/16117"},
		{15405, 0, ",,,,,,,,: 0 "},
	} {
		r := sc2test.Sample(tt.table)
		r.Build = tt.build
		if got := named(r); got != tt.want {
			t.Errorf("build %d of table %d: %s\nwant %s", tt.build, tt.table, got, tt.want)
		}
	}
	// A game that depends on no mod of Blizzard's has its own links.
	r := sc2test.Sample(80949)
	r.Details["cacheHandles"] = []any{"s2ma\x00\x00EU" + strings.Repeat("x", 32)}
	if got, want := named(r), ",SCV,Barracks,,,,,,Barracks: 0 "; got != want {
		t.Errorf("without an expansion: %s\nwant %s", got, want)
	}
}

// TestOrdersAsSC2Reader compares the names of orders in the corpus with sc2reader's. Every name that sc2reader has must
// be the same.
func TestOrdersAsSC2Reader(t *testing.T) {
	if *sc2readerOrders == "" {
		t.Skip("no -sc2reader: tools/sc2names/orders.py says how")
	}
	text, err := os.ReadFile(*sc2readerOrders)
	if err != nil {
		t.Fatal(err)
	}
	var theirs map[string]map[string]int
	if err := json.Unmarshal(text, &theirs); err != nil {
		t.Fatal(err)
	}
	compared, orders, named, more := 0, 0, 0, 0
	corpus(t, func(name string, data []byte) {
		want, ok := theirs[strings.TrimPrefix(name, "sc2replay/")]
		if !ok {
			return
		}
		compared++
		got := map[string]int{}
		d := open(t, data).Events(sc2replay.Options{})
		var ev sc2replay.Event
		for d.Next(&ev) == nil {
			if a := &ev.Cmd.Abil; ev.Kind == sc2replay.KindCmd && ev.Cmd.HasAbil {
				got[fmt.Sprintf("%d.%d %s", a.Link, a.CommandIndex, a.Name)]++
			}
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			n := want[key]
			orders += n
			ability, command, _ := strings.Cut(key, " ")
			if command != "" {
				named += n
			}
			if got[key] == n {
				continue
			}
			if command == "" { // sc2reader may lack names
				more += n
				continue
			}
			t.Errorf("%s: %d times %s; sc2reader %d times %s", name, got[key], ability, n, command)
		}
	})
	t.Logf("%d replays, %d orders, sc2reader names %d, replayd %d more", compared, orders, named, more)
}

// ownData reports whether a replay's map brings its own balance data, in which links have other meanings.
func ownData(name string) bool { return strings.Contains(name, "P A R A S I T E") }

// related reports whether two names are two states of one unit, which selections treat as the same type.
func related(a, b string) bool {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n >= len("Viking") || strings.HasSuffix(a, b) || strings.HasSuffix(b, a) || strings.HasPrefix(a, b) || strings.HasPrefix(b, a) ||
		strings.HasSuffix(a, "Geyser") && strings.HasSuffix(b, "Geyser") || a == "Hive" && b == "Lair"
}

// TestSelectedTypes compares the types of units in selections, which are links, with the tracker's names. A link may
// have no name, but not a wrong one.
func TestSelectedTypes(t *testing.T) {
	same, unnamed := 0, 0
	corpus(t, func(name string, data []byte) {
		p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil || p.Start.DecodeInfo.Names.Build == 0 || ownData(name) {
			return
		}
		types := map[uint32]map[string]int{} // by link, the tracker's names of the selected units
		called := map[uint32]string{}
		d := p.Events(sc2replay.Options{})
		var ev sc2replay.Event
		tracked := false
		for d.Next(&ev) == nil {
			tracked = tracked || ev.Kind == sc2replay.KindUnitBorn
			if ev.Kind != sc2replay.KindSelectionDelta || !tracked {
				continue
			}
			added := ev.SelectionDelta.AddUnitTags
			for _, g := range ev.SelectionDelta.AddSubgroups {
				called[g.UnitLink] = string(g.UnitName)
				n := min(int(g.Count), len(added))
				for _, u := range added[:n] {
					if types[g.UnitLink] == nil {
						types[g.UnitLink] = map[string]int{}
					}
					types[g.UnitLink][string(u.TypeName)]++
				}
				added = added[n:]
			}
		}
		for link, counts := range types {
			most := slices.MaxFunc(slices.Collect(maps.Keys(counts)), func(a, b string) int { return counts[a] - counts[b] })
			switch {
			case most == "":
			case called[link] == "":
				unnamed++
			case called[link] == most:
				same++
			case !related(called[link], most):
				t.Errorf("%s, build %d: %d is %s, but the tracker says %s", name, p.Start.Version.Build, link, called[link], most)
			}
		}
	})
	t.Logf("%d links have the tracker's name, %d none", same, unnamed)
}

// TestMakes checks that the unit or building that an order's name refers to exists at some time in the game.
func TestMakes(t *testing.T) {
	makes := []string{"Build", "Train", "WarpIn"}
	type count struct{ made, orders int }
	builds := map[uint32]*count{}
	corpus(t, func(name string, data []byte) {
		p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil || ownData(name) {
			return
		}
		there := map[string]bool{}
		var ordered []string
		note := func(player uint32, what []byte) { there[fmt.Sprint(player, strings.ToLower(string(what)))] = true }
		d := p.Events(sc2replay.Options{})
		var ev sc2replay.Event
		for d.Next(&ev) == nil {
			player := ev.Player.PlayerId
			switch ev.Kind {
			case sc2replay.KindUnitInit:
				note(player, ev.UnitInit.Unit.TypeName)
			case sc2replay.KindUnitBorn:
				note(player, ev.UnitBorn.Unit.TypeName)
			case sc2replay.KindUnitTypeChange:
				note(player, ev.UnitTypeChange.Unit.TypeName)
			case sc2replay.KindCmd:
				for _, prefix := range makes {
					if what, ok := bytes.CutPrefix(ev.Cmd.Abil.Name, []byte(prefix)); ok && ev.Cmd.HasAbil {
						ordered = append(ordered, fmt.Sprint(player, strings.ToLower(string(what))))
					}
				}
			}
		}
		if len(there) == 0 {
			return // no tracker
		}
		c := builds[p.Start.Version.Build]
		if c == nil {
			c = &count{}
			builds[p.Start.Version.Build] = c
		}
		for _, what := range ordered {
			c.orders++
			if there[what] {
				c.made++
			}
		}
	})
	all := count{}
	for build, c := range builds {
		all.made += c.made
		all.orders += c.orders
		if c.orders >= 30 && c.made < c.orders*85/100 {
			t.Errorf("build %d: of %d orders, only the products of %d exist", build, c.orders, c.made)
		}
	}
	t.Logf("of %d orders of %d builds, the products of %d exist", all.orders, len(builds), all.made)
}

// TestClasses checks that the classes of package names have the same numbers as those of the API.
func TestClasses(t *testing.T) {
	for class, want := range map[names.Class]sc2replay.UnitClass{
		names.NoClass: sc2replay.UnitClassUnspecified, names.Worker: sc2replay.UnitClassWorker,
		names.Army: sc2replay.UnitClassArmy, names.Structure: sc2replay.UnitClassStructure,
	} {
		if sc2replay.UnitClass(class) != want {
			t.Errorf("class %d is %d in the API", class, want)
		}
	}
}
