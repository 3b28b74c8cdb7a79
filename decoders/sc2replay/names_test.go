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

// named decodes a replay and lists the names in its orders and selections, with "?" behind those that are guessed, and the
// source of the names.
func named(t *testing.T, r *sc2test.Replay) string {
	t.Helper()
	p := open(t, r.Bytes())
	d := p.Events(sc2replay.Options{})
	var ev sc2replay.Event
	var got []string
	add := func(name []byte, guessed bool) {
		text := string(name)
		if guessed {
			text += "?"
		}
		got = append(got, text)
	}
	for d.Next(&ev) == nil {
		switch ev.Kind {
		case sc2replay.KindCmd:
			c := &ev.Cmd
			add(c.Abil.Name, c.Abil.NameGuessed)
			add(c.TargetUnit.SnapshotUnitName, c.TargetUnit.SnapshotUnitNameGuessed)
			add(c.OtherUnit.TypeName, c.OtherUnit.TypeGuessed)
		case sc2replay.KindSelectionDelta:
			for _, g := range ev.SelectionDelta.AddSubgroups {
				add(g.UnitName, g.UnitNameGuessed)
			}
			for _, u := range ev.SelectionDelta.AddUnitTags {
				add(u.TypeName, u.TypeGuessed)
			}
		}
	}
	n := p.Start.DecodeInfo.Names
	return fmt.Sprintf("%s: %d %s %s guessed %v %v", strings.Join(got, ","), n.Build, n.Source, n.Expansion, n.ExpansionGuessed, n.BuildGuessed)
}

// TestNames checks that orders and unit types are named by the expansion and build of the game. Where one of the two is not
// known, the names of the nearest build and of the newest expansion are marked as guesses.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		table, build int
		change       func(*sc2test.Replay)
		want         string
	}{
		// The tracker names the types of units. In replays without a tracker, selections do.
		{80949, 0, nil, "SCV,SCV,Barracks,Patrol,,,,Larva,Barracks: 80949 sc2reader 1.9.0, LotV/80949 LotV guessed false false"},
		{80949, 97563, nil, "SCV,SCV,Barracks,Patrol,,,,Larva,Barracks: 97364 sc2reader 1.9.0, LotV/97364 LotV guessed false false"},
		{80949, 97564, nil, "SCV?,SCV,Barracks,Patrol?,,,,Larva?,Barracks: 97364 sc2reader 1.9.0, LotV/97364 LotV guessed false true"},
		{24764, 0, nil, "SCV,SCV,SCV,Patrol,,,,Larva,SCV: 24764 sc2reader 1.9.0, HotS/24764 HotS guessed false false"},
		{16561, 0, nil, "SCV,SCV,SCV,Patrol,,,,Larva,SCV: 16117 sc2reader 1.9.0, WoL/16117 WoL guessed false false"},
		{15405, 0, nil, "CommandCenter?,CommandCenter?,CommandCenter?,Patrol?,,,,Reaper?,CommandCenter?: 16117 sc2reader 1.9.0, WoL/16117 WoL guessed false true"},
		// A game that names no mod of Blizzard's is taken for one of the newest expansion.
		{
			80949, 0,
			func(r *sc2test.Replay) {
				r.Details["cacheHandles"] = []any{"s2ma\x00\x00EU" + strings.Repeat("x", 32)}
			},
			"SCV?,SCV,Barracks,Patrol?,,,,Larva?,Barracks: 80949 sc2reader 1.9.0, LotV/80949 LotV guessed true false",
		},
		// The link of SCVs is another unit's: the tracker's type of those selected by it decides, but only where the table
		// is not certain.
		{
			80949, 99999, func(r *sc2test.Replay) { selectAlso(r, 1, 4000) },
			"SCV?,SCV,SCV?,SCV,Barracks,Patrol?,,,,Larva?,Barracks: 97364 sc2reader 1.9.0, LotV/97364 LotV guessed false true",
		},
		{
			80949, 0, func(r *sc2test.Replay) { selectAlso(r, 1, 4000) },
			"SCV?,SCV,SCV,SCV,Barracks,Patrol,,,,Larva,Barracks: 80949 sc2reader 1.9.0, LotV/80949 LotV guessed false false",
		},
	} {
		r := sc2test.Sample(tt.table)
		r.Build = tt.build
		if tt.change != nil {
			tt.change(r)
		}
		if got := named(t, r); got != tt.want {
			t.Errorf("build %d of table %d: %s\nwant %s", tt.build, tt.table, got, tt.want)
		}
	}
}

// TestUnknownSelected: a unit that the tracker does not know is what it is selected as, each time.
func TestUnknownSelected(t *testing.T) {
	r := sc2test.Sample(80949)
	table, _ := names.Default().Find(names.Void, 80949)
	for link := range uint32(4096) {
		if name, _ := table.Unit(link); slices.Contains([]string{"Marine", "Zealot"}, string(name)) {
			selectAlso(r, 99, int(link))
		}
	}
	if got := named(t, r); !strings.HasPrefix(got, "Marine,Marine,Zealot,Zealot,") && !strings.HasPrefix(got, "Zealot,Zealot,Marine,Marine,") {
		t.Error(got)
	}
}

// TestBots decodes a game of bots, whose replay leaves out what a client of Battle.net writes.
func TestBots(t *testing.T) {
	r := sc2test.Bots()
	text, err := ends(t, r.Bytes())
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"12 cmd first/1 ability ", "Patrol", "player_info second/2", "\n100000 end -"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, " attributes ") {
		t.Error("attributes of an empty member")
	}
	want := "SCV?,SCV,Barracks,Patrol?,,,,Larva?,Barracks: 70155 sc2reader 1.9.0, LotV/70154 and LotV/70154&LotV/76114 LotV guessed true false"
	if got := named(t, r); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	info := open(t, r.Bytes()).Start.DecodeInfo
	i := slices.IndexFunc(info.Parts, func(s sc2replay.PartStatus) bool { return string(s.Name) == "replay.attributes.events" })
	if i < 0 || info.Parts[i].State != sc2replay.PartStateComplete || info.Parts[i].Size > 0 || len(info.Parts[i].Error) > 0 {
		t.Errorf("parts %+v", info.Parts)
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

// selectAlso selects a unit once more, by another link.
func selectAlso(r *sc2test.Replay, unit, link int) {
	i := slices.IndexFunc(r.Game, func(e sc2test.Event) bool { return e.Name == "SelectionDelta" })
	again := r.Game[i]
	again.Value = sc2test.S{"controlGroupId": 9, "delta": sc2test.S{
		"removeMask":   sc2test.C{Name: "None"},
		"addSubgroups": []any{sc2test.S{"unitLink": link, "count": 1}}, "addUnitTags": []any{sc2test.Tag(unit)},
	}}
	r.Game = slices.Insert(r.Game, i, again)
}
