package datafile_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/datafile"
)

// isDerived reports whether a dumped event is derived from the tiles or quads of a layer.
func isDerived(event string) bool {
	kind, _, _ := strings.Cut(event, " ")
	return kind == "physics_tiles" || kind == "entities" || kind == "link" || kind == "layer_bounds"
}

// TestUnpackedTiles compares unpacked tiles, entities and bounds with the tiles of their layers, which it unpacks on its own.
func TestUnpackedTiles(t *testing.T) {
	files := map[string]*datafile.File{}
	for name, data := range map[string][]byte{"sample": sample(t), "wide": wideBytes(t)} {
		f, err := open(data)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = f
	}
	for i := range 100 {
		files[fmt.Sprint("scattered ", i)] = scattered(t, uint64(i))
	}
	for name, f := range files {
		type place struct{ layer, x, y int32 }
		want, got := map[place]string{}, map[place]string{}
		wantEntities, gotEntities := []string{}, []string{}
		stride := map[int32]int32{}
		extent := map[int32][4]int32{}
		var bounds int
		d := f.Events(datafile.Options{})
		var ev datafile.Event
		for d.Next(&ev) == nil {
			switch ev.Kind {
			case datafile.KindTiles:
				l := &ev.Tiles
				stride[l.Layer] = l.BytesPerTile
				layer := datafile.TileLayer{Kind: l.Kind, BytesPerTile: l.BytesPerTile}
				for i := range l.Columns * l.Rows {
					tile := l.Data[i*l.BytesPerTile:][:l.BytesPerTile]
					kind := tile[layer.TypeByte()]
					x, y := l.X+i%l.Columns, l.Y+i/l.Columns
					if kind == datafile.AirTile {
						continue
					}
					e, seen := extent[l.Layer]
					if !seen {
						e = [4]int32{x, y, x, y}
					}
					extent[l.Layer] = [4]int32{min(e[0], x), min(e[1], y), max(e[2], x), max(e[3], y)}
					if l.Kind == datafile.LayerKindTiles {
						continue
					}
					number, flags, delay, angle, force, most := 0, 0, 0, 0, 0, 0
					switch l.Kind {
					case datafile.LayerKindGame, datafile.LayerKindFront:
						flags = int(tile[1])
					case datafile.LayerKindTele, datafile.LayerKindTune:
						number = int(tile[0])
					case datafile.LayerKindSwitch:
						number, flags, delay = int(tile[0]), int(tile[2]), int(tile[3])
					case datafile.LayerKindSpeedup:
						force, most, angle = int(tile[0]), int(tile[1]), int(int16(uint16(tile[4])|uint16(tile[5])<<8))
					}
					want[place{l.Layer, x, y}] = fmt.Sprint(kind, datafile.TileName(l.Kind, kind), number, flags, delay, angle, force, most)
					if kind >= 192 && (l.Kind == datafile.LayerKindGame || l.Kind == datafile.LayerKindFront || l.Kind == datafile.LayerKindSwitch) {
						wantEntities = append(wantEntities,
							fmt.Sprint(l.Layer, datafile.TileName(l.Kind, kind), kind, x*32+16, y*32+16, number, flags, delay))
					}
				}
			case datafile.KindPhysicsTiles:
				for _, p := range ev.PhysicsTiles.Tiles {
					for i := range p.Columns {
						at := place{ev.PhysicsTiles.Layer, p.X + i, p.Y}
						if got[at] != "" {
							t.Errorf("%s: %v comes twice", name, at)
						}
						got[at] = fmt.Sprint(p.Tile, string(p.Name), p.Number, p.Flags, p.DelayS, p.Angle, p.Force, p.MaxSpeed)
					}
				}
			case datafile.KindEntities:
				for _, e := range ev.Entities.Entities {
					gotEntities = append(gotEntities, fmt.Sprint(ev.Entities.Layer, string(e.Name), e.Tile, e.Position.X, e.Position.Y, e.Number, e.Flags, e.DelayS))
				}
			case datafile.KindLayerBounds:
				b := ev.LayerBounds
				if b.Kind == datafile.LayerKindQuads {
					continue
				}
				bounds++
				e := extent[b.Layer]
				if e[0]*32 != b.MinX || e[1]*32 != b.MinY || (e[2]+1)*32 != b.MaxX || (e[3]+1)*32 != b.MaxY {
					t.Errorf("%s: the bounds %v of layer %d are %v", name, b, b.Layer, e)
				}
			}
		}
		if len(got) != len(want) || len(want) == 0 && name == "sample" {
			t.Errorf("%s: %d tiles, not %d", name, len(got), len(want))
		}
		for at, tile := range want {
			if got[at] != tile {
				t.Fatalf("%s: %v is %q, not %q", name, at, got[at], tile)
			}
		}
		if bounds != len(extent) {
			t.Errorf("%s: the bounds of %d layers, not %d", name, bounds, len(extent))
		}
		slices.Sort(gotEntities) // the unpacked tiles come in other rectangles
		slices.Sort(wantEntities)
		if diff := cmp.Diff(wantEntities, gotEntities); diff != "" {
			t.Errorf("%s: entities (-want +got):\n%s", name, diff)
		}
	}
}

// scattered writes a layer with runs of random tiles in air, some of which has flags.
func scattered(t *testing.T, seed uint64) *datafile.File {
	random := rand.New(rand.NewPCG(seed, 0))
	kind := [...]struct{ flag, stride int32 }{{0, 4}, {1, 4}, {2, 2}, {4, 6}, {8, 4}, {16, 4}, {32, 2}}[seed%7]
	width, height := 1+random.Int32N(90), 1+random.Int32N(9)
	tiles := make([]byte, width*height*kind.stride)
	for i := range 1 + random.IntN(7) {
		from := random.IntN(len(tiles))
		for k := from; k < min(len(tiles), from+random.IntN(50)); k++ {
			tiles[k] = byte(i / 3 * (200 + k%int(kind.stride)))
		}
	}
	layer := []int32{0, 2, 0, 3, width, height, kind.flag, 255, 255, 255, 255, -1, 0, -1, 1, 0, 0, 0, 1, 1, 1, 1, 1}
	return layerFile(t, layer, nil, tiles)
}

// TestLinks: a link has the entrances and exits of a teleporter, the checkpoints of a number, or what a switch controls.
func TestLinks(t *testing.T) {
	tele := []byte{
		1, 26, 1, 26, 2, 27, 1, 10, // entrances of 1; an exit of 2
		1, 27, 3, 29, 3, 30, 0, 31, // the exit of 1; checkpoint 3 and its exit; an entrance of all checkpoints
		9, 0, 4, 14, 5, 15, 0, 63, // air; entrances for projectiles and hooks
	}
	plain := []int32{0, 2, 0, 3, 4, 3, 2, 255, 255, 255, 255, -1, 0, -1, 0, 0, 0, 0, 1}
	links := func(layer []int32, data []byte) (got []string) {
		for _, e := range dumpAll(t, layerFile(t, layer, make([]byte, 48), data).Events(datafile.Options{})) {
			if strings.HasPrefix(e, "link") {
				got = append(got, strings.TrimPrefix(e, "link Group=-1 Kind=4 "))
			}
		}
		return got
	}
	want := []string{
		`Number=1 NumFrom=3 NumTo=1 From=[{ Columns=2 Tile=26 Name="tele_in" } { X=3 Columns=1 Tile=10 Name="tele_evil_in" }] To=[{ Y=1 Columns=1 Tile=27 Name="tele_out" }]`,
		`Number=2 NumTo=1 To=[{ X=2 Columns=1 Tile=27 Name="tele_out" }]`,
		`Number=4 NumFrom=1 From=[{ X=1 Y=2 Columns=1 Tile=14 Name="tele_weapon_in" }]`,
		`Number=5 NumFrom=1 From=[{ X=2 Y=2 Columns=1 Tile=15 Name="tele_hook_in" }]`,
		`Number=3 Checkpoint=true NumFrom=1 NumTo=1 From=[{ X=1 Y=1 Columns=1 Tile=29 Name="tele_checkpoint" }] To=[{ X=2 Y=1 Columns=1 Tile=30 Name="tele_checkpoint_out" }]`,
	}
	if diff := cmp.Diff(want, links(plain, tele)); diff != "" {
		t.Errorf("teleporters (-want +got):\n%s", diff)
	}
	many := slices.Clone(plain)
	many[4], many[5] = 200, 1
	long := links(many, slices.Repeat([]byte{7, 26, 0, 0}, 100)) // with air in between
	if len(long) != 1 || !strings.HasPrefix(long[0], "Number=7 NumFrom=100 From=[") || strings.Count(long[0], "tele_in") != 32 {
		t.Errorf("a long link: %s", long)
	}
	switches := slices.Clone(plain)
	switches[4], switches[5], switches[6] = 3, 2, 16
	switches = append(switches[:18], -1, -1, -1, 1)
	data := []byte{4, 24, 0, 0, 4, 240, 8, 0, 4, 22, 0, 5, 0, 25, 0, 0, 6, 7, 0, 0, 4, 9, 0, 0}
	got := links(switches, data)
	if diff := cmp.Diff([]string{
		`link Group=-1 Kind=6 Number=4 NumFrom=2 NumTo=2 From=[{ Columns=1 Tile=24 Name="switch_open" } { X=2 Columns=1 Tile=22 Name="switch_timed_open" }] To=[{ X=1 Columns=1 Tile=240 Name="door" } { X=2 Y=1 Columns=1 Tile=9 Name="freeze" }]`,
	}, got); diff != "" {
		t.Errorf("switches (-want +got):\n%s", diff)
	}
}
