package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

var sc2reader = flag.String("sc2reader-dir", "", "directory of the unpacked package, to compare with names.txt")

func TestCommittedNamesAreCurrent(t *testing.T) {
	if *sc2reader == "" {
		t.Skip("no -sc2reader-dir")
	}
	p, err := read(os.DirFS(*sc2reader))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../decoders/sc2replay/names/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, p.write("1.9.0")) {
		t.Error("names.txt is out of date: run this tool again")
	}
}

// TestWrite writes the file for a package with three small tables, one of which has gaps.
func TestWrite(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	p, err := read(fstest.MapFS{
		"resources.py": file(`
        self.register_datapack(
            datapacks["LotV"]["44401"],
            lambda r: r.expansion == "LotV" and 44401 <= r.build < 53644,
        )
        self.register_datapack(
            datapacks["LotV"]["53644"],
            lambda r: r.expansion == "LotV" and 53644 <= r.build < 53646,
        )
        self.register_datapack(
            datapacks["LotV"]["97364"],
            lambda r: r.expansion == "LotV" and 97364 <= r.build, # a remark
        )`),
		"data/ability_lookup.csv":       file("Train,TrainA,,TrainC,,\nStop,Stop,,\nJump,,\n"),
		"data/unit_lookup.csv":          file("A,Alpha\nB,Beta\nLiberator,Liberator\n"),
		"data/unit_info.json":           file(`{"Zerg": {"alpha": {"is_army": true}, "beta": {"is_building": true}}}`),
		"data/LotV/44401_abilities.csv": file("1,Stop\n4,Jump\n5,Go\n6,Hold\n6,Fly\n"),
		"data/LotV/44401_units.csv":     file("1,A\n2,B\n"),
		"data/LotV/53644_abilities.csv": file("2,Stop\n3,Train\n5,Jump\n6,Go\n"),
		"data/LotV/53644_units.csv":     file("1,A\n3,B\n"),
		"data/LotV/97364_abilities.csv": file("2,Stop\n3,Train\n5,Jump\n6,Go\n"),
		"data/LotV/97364_units.csv":     file("1,A\n3,B\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	text := string(p.write("0"))
	for _, want := range []string{
		"commands\nTrain 0 TrainA 2 TrainC\n", // Stop and Jump have one command, with their own name
		"army A ", "structure AssimilatorRich B ",
		// The gap at 2 is between Stop and Jump, which are one higher in the whole list. A link with two names, 6, has
		// none.
		"abilities LotV/44401\n1 Stop\n2 Train\n4 Jump\n5 Go\n\n",
		"abilities LotV/53644\n= 1 5 1\n", "units LotV/53644\n= 1 1 0\n= 2 2 1\n", "abilities LotV/97364\n= 2 6 0\n",
		"LotV 44401 44402 LotV/44401 LotV/44401\nLotV 44402 53644 LotV/44401 LotV/44401&LotV/47185\n",
		"LotV 97364 97564 LotV/97364 LotV/97364\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for name, fsys := range map[string]fstest.MapFS{
		"nothing": {},
		"no tables": {
			"data/ability_lookup.csv": {}, "data/unit_lookup.csv": {}, "data/unit_info.json": {Data: []byte("{}")}, "resources.py": {},
		},
	} {
		if _, err := read(fsys); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
