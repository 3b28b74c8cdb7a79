package names

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		e           Expansion
		build       int
		link, index uint32
		command     string
		unit        string // name of the unit type with the same link
		own         bool
	}{
		{Void, 97563, 46, 0, "Attack", "RefineryRich", true},
		{Void, 97563, 46, 99, "", "RefineryRich", true},
		{Void, 97564, 46, 0, "Attack", "RefineryRich", false}, // newer than all tables
		{Void, 15405, 23, 1, "Patrol", "", false},             // older than the expansion
		{"", 97563, 46, 0, "", "", false},
		{Liberty, 18092, 38, 1, "Patrol", "", true},
		{Liberty, 15405, 38, 1, "Patrol", "", false},
		{Swarm, 24764, 38, 1, "Patrol", "", true},
		{Void, 97563, 1 << 30, 0, "", "", true},
	} {
		table, own := Default().Find(tt.e, tt.build)
		if own != tt.own {
			t.Errorf("%s %d: own is %v", tt.e, tt.build, own)
		}
		command, _ := table.Command(tt.link, tt.index)
		if got := string(command); got != tt.command {
			t.Errorf("%s %d: command %d.%d is %q, want %q", tt.e, tt.build, tt.link, tt.index, got, tt.command)
		}
		unit, _ := table.Unit(tt.link)
		if got := string(unit); tt.unit != "" && got != tt.unit {
			t.Errorf("%s %d: unit %d is %q, want %q", tt.e, tt.build, tt.link, got, tt.unit)
		}
	}
}

func TestClassOf(t *testing.T) {
	for name, want := range map[string]Class{
		"SCV": Worker, "Drone": Worker, "Probe": Worker, "Marine": Army, "LurkerMPBurrowed": Army, "VikingFighter": Army,
		"SupplyDepotLowered": Structure, "CommandCenterFlying": Structure, "Larva": NoClass, "MineralField": NoClass, "": NoClass,
	} {
		if got := Default().ClassOf([]byte(name)); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}

// TestEveryTable fills every table. All its lists must exist, and none may be empty.
func TestEveryTable(t *testing.T) {
	for _, table := range Default().tables {
		first, _ := Default().Find(table.expansion, table.Build)
		last, _ := Default().Find(table.expansion, table.end-1)
		if first != table || last != table {
			t.Errorf("%s %d: another table serves its builds, too", table.expansion, table.Build)
		}
		if len(table.commands) < 200 || len(table.units) < 40 {
			t.Errorf("%s %d: %d abilities, %d units", table.expansion, table.Build, len(table.commands), len(table.units))
		}
	}
}

func TestParseLists(t *testing.T) {
	r := newReader()
	err := r.read(`source test
commands
Train 0 TrainA 2 TrainC
abilities old
5 Stop
7 Train
8 Jump
abilities new
= 5 7 1
7 Walk
abilities low
= 6 99 -7
units old
1 A
2 B
units new
1 A
3 B
tables
LotV 10 20 new new&old
LotV 20 30 old old<2
LotV 30 40 new<-1 old
`)
	if err != nil {
		t.Fatal(err)
	}
	s := &r.Set
	for _, table := range s.tables {
		s.fill(table)
	}
	show := func(t *Table) string {
		var out []string
		add := func(name []byte, sure bool) {
			if name == nil {
				return
			}
			mark := ""
			if !sure {
				mark = "?"
			}
			out = append(out, string(name)+mark)
		}
		for link := range uint32(10) {
			for index := range uint32(4) {
				c, sure := t.Command(link, index)
				add(c, sure)
			}
			u, sure := t.Unit(link)
			add(u, sure)
		}
		return strings.Join(out, " ") + " of " + t.Source
	}
	if got, want := show(s.tables[0]), "A B? B? Stop Walk TrainA TrainC of test, new and new&old"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := show(s.tables[1]), "A B? Stop TrainA TrainC Jump of test, old and old<2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := show(s.tables[2]), "A B Stop? Walk? TrainA? TrainC? of test, new<-1 and old"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, wrong := range []string{
		"abilities", "units a\n1", "units a\nx A", "units a\n-1 A", "units a\n= 1 2", "units a\n= 1 2 99999999", "classes\nhero A",
		"commands\nA 3 X 1 Y", "commands\nA 999999999 X", "tables\nLotV 1 2 a a", "tables\nLotV 1", "what",
		"abilities a\n1 A\nunits a\n1 A\ntables\nLotV 1 2 a a&b", "abilities a\n1 A\nunits a\n1 A\ntables\nLotV 1 2 a a<x",
	} {
		if err := newReader().read(wrong); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
}
