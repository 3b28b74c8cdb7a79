package main

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/e2e/ddnet"
)

// The rooms are maps of one room each, with platforms, full of tiles of a kind. decoders/teehistorian/physics is tested with games in them.
const (
	roomWidth  = 60
	roomHeight = 30
	roomSeed   = 7
)

// roomNames are the rooms in the order in which they are played. Bots meet from crowd on; these rooms are small.
var roomNames = []string{"stop", "speed", "tele", "freeze", "jumps", "hook", "tune", "crowd", "arms", "ninja", "brawl", "doors", "mix"}

// room is a map: the bytes of its layers' tiles.
type room struct {
	layers [len(roomLayers)][]byte
	random *rand.Rand
}

// roomLayers are the layers of rooms, with the size of a tile and the layer's flags in the file.
var roomLayers = [...]struct {
	kind  datafile.LayerKind
	bytes int
	flags int32
}{
	{datafile.LayerKindGame, 4, 1},
	{datafile.LayerKindFront, 4, 8},
	{datafile.LayerKindTele, 2, 2},
	{datafile.LayerKindSpeedup, 6, 4},
	{datafile.LayerKindSwitch, 4, 16},
	{datafile.LayerKindTune, 2, 32},
}

const (
	game = iota
	front
	tele
	speedup
	switches
	tune
)

// turns are the flags of a tile that is turned by 0, 1, 2 and 3 quarters, and of one that is mirrored, too.
var turns = []byte{0, 8, 3, 11, 2, 10, 1, 9}

func newRoom(seed uint64) *room {
	r := &room{random: rand.New(rand.NewPCG(roomSeed, seed))}
	for i, layer := range roomLayers {
		r.layers[i] = make([]byte, roomWidth*roomHeight*layer.bytes)
	}
	for y := range roomHeight {
		for x := range roomWidth {
			edge := x == 0 || y == 0 || x == roomWidth-1 || y == roomHeight-1
			if edge || y%6 == 5 && r.random.IntN(2) == 0 {
				r.set(game, y*roomWidth+x, r.one(1, 1, 1, 1, 1, 3))
			}
		}
	}
	for x := 3; x < 12; x += 3 {
		r.set(game, 3*roomWidth+x, 192)
		r.set(game, 5*roomWidth+x, 1)
	}
	return r
}

func (r *room) set(layer, place int, bytes ...byte) {
	copy(r.layers[layer][place*roomLayers[layer].bytes:], bytes)
}

func (r *room) one(of ...byte) byte { return of[r.random.IntN(len(of))] }

// scatter calls f for places in the air, away from the spawns.
func (r *room) scatter(n int, f func(place int)) {
	for range n {
		place := (6+r.random.IntN(roomHeight-8))*roomWidth + 2 + r.random.IntN(roomWidth-4)
		if r.layers[game][place*4] == 0 {
			f(place)
		}
	}
}

// furnish places a room's tiles.
func (r *room) furnish(name string) {
	switch name {
	case "stop":
		r.scatter(120, func(p int) { r.set(game, p, r.one(60, 61, 62), r.one(turns...)) })
		r.scatter(60, func(p int) { r.set(front, p, r.one(60, 61, 62), r.one(turns...)) })
	case "speed":
		r.speedups(80)
	case "tele":
		r.teleporters(70, 10, 26, 29, 31, 63)
	case "freeze":
		r.scatter(90, func(p int) { r.set(game, p, r.one(9, 11, 11, 12, 13, 13, 144, 145, 145, 2)) })
		r.scatter(40, func(p int) { r.set(front, p, r.one(9, 11, 12, 13, 144, 145)) })
		r.scatter(20, func(p int) { r.set(switches, p, 0, 9, 0, r.one(0, 1, 2)) })
	case "jumps":
		r.scatter(70, func(p int) { r.set(game, p, r.one(32, 16, 105, 89, 17, 18)) })
		for y := 2; y < roomHeight-2; y++ {
			r.set(game, y*roomWidth+1, 16)
			r.set(game, (y+1)*roomWidth-2, 16)
		}
		r.scatter(40, func(p int) { r.set(switches, p, 0, 7, 0, r.one(0, 1, 2, 3, 5, 255)) })
	case "hook":
		r.hooks()
	case "doors":
		r.doors()
	case "mix":
		r.mix()
	case "tune":
		for range 30 {
			corner, zone := (5+r.random.IntN(roomHeight-10))*roomWidth+1+r.random.IntN(roomWidth-8), r.one(1, 2, 3, 4)
			for i := range 24 {
				r.set(tune, corner+i/6*roomWidth+i%6, zone, 68)
			}
		}
	case "crowd", "arms", "ninja", "brawl":
		const width, height = 14, 11
		for i := range max(width, height) {
			r.set(game, min(i, height)*roomWidth+width, 1)
			r.set(game, height*roomWidth+min(i, width), 1)
		}
		tiles := map[string][]byte{
			"crowd": {21, 22, 22, 88, 104, 104, 91, 107},
			"arms":  {106, 9, 11, 19, 20, 90, 106, 19},
			"brawl": {2, 12, 9, 9, 11, 13, 20, 19, 21, 22},
			"ninja": {197, 9, 11, 60, 61, 199, 228, 200},
		}[name]
		for i := range 12 {
			if p := (6+r.random.IntN(4))*roomWidth + 1 + r.random.IntN(width-1); r.layers[game][p*4] == 0 {
				tile := r.one(tiles...)
				if name != "crowd" {
					tile = tiles[i%len(tiles)] // each of them
				}
				r.set(game, p, tile)
			}
		}
		for i, x := range []int{3, 6, 9} { // where they spawn
			switch name {
			case "arms", "brawl":
				r.set(game, 3*roomWidth+x-1, 199)
				r.set(game, 3*roomWidth+x+1, 200)
				r.set(game, 2*roomWidth+x, 202)
			case "ninja":
				r.set(game, (3+i)*roomWidth+x+1, 201)
			}
		}
	}
}

// hooks places what hooks pass, and what stops and moves them.
func (r *room) hooks() {
	for y := 4; y < roomHeight-1; y++ {
		for x := 1; x < roomWidth-1; x++ {
			p := y*roomWidth + x
			switch tile := r.layers[game][p*4]; {
			case tile == 1:
				r.set(front, p, r.one(0, 0, 5, 66, 67), r.one(turns...))
			case tile == 0 && y > 6 && r.random.IntN(14) == 0:
				r.set(game, p, r.one(6, 66, 67), r.one(turns...))
			}
		}
	}
	r.scatter(1, func(p int) { r.set(tele, p, 1, 27) })
	r.scatter(40, func(p int) {
		if r.layers[tele][p*2] == 0 {
			r.set(tele, p, 1, 15)
		}
	})
}

// doors places doors of all directions and lengths, their switches, and freezes that work while a switch is on.
func (r *room) doors() {
	free := func(f func(place int)) func(place int) {
		return func(place int) {
			if r.layers[switches][place*4+1] == 0 {
				f(place)
			}
		}
	}
	for range 26 {
		x, y := 3+r.random.IntN(roomWidth-6), 7+r.random.IntN(roomHeight-10)
		way := [][2]int{{0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}}[r.random.IntN(8)]
		number := r.one(1, 2, 3, 4, 5)
		r.set(switches, y*roomWidth+x, number, 240)
		r.set(switches, (y+way[1])*roomWidth+x+way[0], number, r.one(210, 210, 211, 212))
	}
	r.scatter(60, free(func(p int) {
		r.set(switches, p, r.one(1, 2, 3, 4, 5), r.one(22, 23, 24, 25, 22, 23), 0, r.one(0, 1, 2, 3))
	}))
	r.scatter(25, free(func(p int) { r.set(switches, p, r.one(1, 2, 3, 4, 5), 9, 0, 1) }))
}

// mix places tiles of all kinds.
func (r *room) mix() {
	r.scatter(40, func(p int) { r.set(game, p, r.one(60, 61, 62), r.one(turns...)) })
	r.scatter(20, func(p int) { r.set(front, p, r.one(60, 61, 62), r.one(turns...)) })
	r.scatter(60, func(p int) {
		r.set(game, p, r.one(9, 11, 32, 16, 105, 89, 17, 18, 19, 20, 21, 22, 88, 104, 91, 107, 106, 90, 2, 12, 13, 144, 145))
	})
	r.scatter(20, func(p int) { r.set(front, p, r.one(9, 11, 32, 12, 13, 22, 104, 107, 145)) })
	r.scatter(14, func(p int) { r.set(front, p, r.one(197, 199, 200, 201, 202, 201, 228)) })
	r.speedups(20)
	r.teleporters(50, 10, 26, 29, 31, 63)
	r.scatter(20, func(p int) { r.set(switches, p, 0, r.one(7, 9), 0, r.one(1, 2, 3, 5)) })
}

// speedups places speedups of both kinds.
func (r *room) speedups(n int) {
	r.scatter(n, func(p int) {
		angle := r.random.IntN(360)
		r.set(speedup, p, byte(1+r.random.IntN(40)), byte(r.random.IntN(2)*r.random.IntN(120)), r.one(28, 29), 0, byte(angle), byte(angle>>8))
	})
}

// teleporters places teleporters, and what they lead to.
func (r *room) teleporters(n int, kinds ...byte) {
	for number := range byte(3) {
		r.scatter(1+int(number), func(p int) { r.set(tele, p, number+1, 27) })
		r.scatter(3, func(p int) { r.set(tele, p, number+1, 30) })
	}
	r.scatter(n, func(p int) {
		if r.layers[tele][p*2] == 0 {
			r.set(tele, p, r.one(1, 2, 3), r.one(kinds...))
		}
	})
}

// drawRooms writes the maps of the rooms.
func drawRooms(dir string) error {
	for i, name := range roomNames {
		r := newRoom(uint64(i))
		r.furnish(name)
		if err := writeMap(filepath.Join(dir, name+".map"), r.events()); err != nil {
			return err
		}
	}
	return nil
}

// events returns the map of a room. Layers without tiles are left out.
func (r *room) events() []datafile.Event {
	events := []datafile.Event{
		{Kind: datafile.KindVersion, Version: datafile.Version{Version: 1}},
		{Kind: datafile.KindInfo, Info: datafile.Info{Author: []byte("replayd"), License: []byte("CC0")}},
		{Kind: datafile.KindSettings, Settings: datafile.Settings{Commands: [][]byte{
			[]byte("switch_open 4"), []byte("tune_zone 1 gravity -0.2"), []byte("tune_zone 2 ground_friction 0.9"), []byte("tune_zone 2 hook_drag_speed 25"),
			[]byte("tune_zone 3 air_control_speed 12.5"), []byte("tune_zone 3 hook_length 200"), []byte("tune_zone 3 velramp_start 300"),
		}}},
		{Kind: datafile.KindGroup, Group: datafile.Group{Version: 3, Name: []byte("Game"), ParallaxX: 100, ParallaxY: 100}},
	}
	for i, layer := range roomLayers {
		if !slices.ContainsFunc(r.layers[i], func(b byte) bool { return b != 0 }) {
			continue
		}
		events[3].Group.NumLayers++
		events = append(events, datafile.Event{Kind: datafile.KindTileLayer, TileLayer: datafile.TileLayer{
			Kind: layer.kind, Version: 3, Flags: layer.flags, Width: roomWidth, Height: roomHeight, Name: []byte("Game"),
			BytesPerTile: int32(layer.bytes), Color: datafile.Color{R: 255, G: 255, B: 255, A: 255}, HasColor: true, ColorEnvelope: -1, Image: -1,
		}}, datafile.Event{Kind: datafile.KindTiles, Tiles: datafile.Tiles{
			Kind: layer.kind, Columns: roomWidth, Rows: roomHeight, BytesPerTile: int32(layer.bytes), Data: r.layers[i],
		}})
	}
	return events
}

// playRooms has bots wander through all rooms.
func playRooms(ctx context.Context, srv *ddnet.Server, bots *ddnet.Bots) error {
	if err := bots.Run(ctx, "a join\nb join\nc join\nd join\ne join\nf join\n* wander on\n"); err != nil {
		return err
	}
	for i, name := range roomNames {
		if i > 0 {
			if err := srv.ChangeMap(ctx, name); err != nil {
				return err
			}
		}
		if err := srv.Console("record " + name); err != nil { // ends with the game
			return err
		}
		script := "sleep 8s\n* kill\nsleep 8s"
		switch name {
		case "crowd":
			if err := srv.Console("sv_solo_server 0"); err != nil {
				return err
			}
			script = crowded
		case "arms":
			script = armed
		case "brawl":
			script = brawling
		case "ninja", "doors", "mix":
			script = "sleep 10s\n* kill\nsleep 10s"
		}
		if err := bots.Run(ctx, script); err != nil {
			return err
		}
	}
	return nil
}

// crowded is what happens where bots meet: they watch, die and leave meanwhile.
const crowded = `
	sleep 8s
	a say /pause
	sleep 1500ms
	b kill
	sleep 1500ms
	a say /pause
	c say /spec
	sleep 1s
	c say /kill
	sleep 1s
	c say /spec
	d leave
	sleep 2s
	d join
	d wander on
	sleep 6s
`

// armed has bots use each weapon.
const armed = `
	a weapon 4
	b weapon 4
	c weapon 3
	d weapon 5
	e weapon 1
	f weapon 4
	sleep 7s
	* weapon 4
	a weapon 3
	b weapon 5
	sleep 7s
	* kill
	* weapon 3
	e weapon 2
	sleep 7s
	* weapon 5
	f weapon 4
	sleep 7s
`

// brawling has many bots in a small room, who hammer and shoot.
const brawling = `
	g join
	h join
	i join
	j join
	k join
	l join
	m join
	n join
	* wander on
	* weapon 1
	a weapon 4
	b weapon 4
	c weapon 3
	d weapon 5
	sleep 6s
	* weapon 4
	a weapon 1
	b weapon 3
	g weapon 1
	h weapon 1
	sleep 6s
	* kill
	* weapon 3
	a weapon 4
	b weapon 1
	i weapon 1
	j weapon 1
	sleep 6s
`
