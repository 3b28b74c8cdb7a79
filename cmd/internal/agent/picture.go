package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/replayd/replayd/decoders/datafile/render"
	datafilev1 "github.com/replayd/replayd/proto/replayd/datafile/v1"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

const (
	// maxSide is the largest width and height of a picture in pixels. As a PNG it has less than 2 MiB, whatever it shows.
	maxSide = 720
	// tileSide is the width and height of a tile in pixels, if the map is small, and unitsPerTile that in the game.
	tileSide     = 12
	unitsPerTile = 32
	// maxPlayers is how many players a picture has at most.
	maxPlayers = 128
	// trailSeconds is how long before its tick a picture shows where players were.
	trailSeconds = 5
)

type pictureArguments struct {
	Replay string `json:"replay" jsonschema:"the name of a map, a DDNet game or a demo, as list_replays gives it"`
	Tick   *int32 `json:"tick,omitempty" jsonschema:"the moment of a game; maps have none"`
}

// getPicture draws a map, or where the players of a game were.
func (t tools) getPicture(ctx context.Context, a pictureArguments) ([]mcp.Content, error) {
	replay, err := t.daemon.Replay(ctx, a.Replay)
	if err != nil {
		return nil, err
	}
	var d drawing
	switch replay.GetFormat() {
	case replaydv1.Format_FORMAT_DATAFILE:
		if err := t.drawMap(ctx, a.Replay, &d); err != nil {
			return nil, err
		}
		return d.answer()
	case replaydv1.Format_FORMAT_TEEHISTORIAN, replaydv1.Format_FORMAT_DEM:
	default:
		return nil, errors.New("replay: where players are is known of DDNet games and demos alone; get_report and get_state tell more of this one")
	}
	if a.Tick == nil {
		return nil, errors.New("tick: a picture of a game is that of a moment")
	}
	if err := t.place(ctx, replay, *a.Tick, &d); err != nil {
		return nil, err
	}
	if m := replay.GetMapReplay(); m != "" {
		if err := t.drawMap(ctx, m, &d); err != nil {
			return nil, fmt.Errorf("the map %s: %w", m, err)
		}
	} else {
		d.ground()
	}
	return d.answer()
}

// spot is where a player was.
type spot struct {
	x, y float64 // in units of the game; y grows downwards
	line string  // the sample as JSON, of the picture's moment; otherwise it is a part of the trail
}

func (s *spot) known() bool { return !math.IsNaN(s.x+s.y) && !math.IsInf(s.x+s.y, 0) }

// drawing is a picture and what it shows.
type drawing struct {
	picture *image.RGBA
	ranks   []uint8 // of the layers that the pixels are from
	spots   []spot
	from    image.Point // the first units that the picture shows
	units   float64     // how many units a pixel is wide; 0 if the picture has no map
	about   string
}

// place finds where the players are at a tick, and were before.
func (t tools) place(ctx context.Context, replay *replaydv1.Replay, tick int32, d *drawing) error {
	second := int32(min(max(replay.GetTicksPerSecond(), 1), 1000))
	from, step := max(tick-trailSeconds*second, 0), max(second/5, 1)
	samples := func(from, step int32) *replaydv1.EventFilter {
		return &replaydv1.EventFilter{Kinds: []string{"sample_player"}, Ticks: &replaydv1.TickRange{Min: &from, Max: &tick, Every: &step}}
	}
	req := &replaydv1.StreamEventsRequest{
		Replay: replay.GetName(), Include: []*replaydv1.EventFilter{samples(from, step), samples(tick, 1)},
		Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: from}}, ResolvePlayers: replay.GetFormat() == replaydv1.Format_FORMAT_TEEHISTORIAN,
	}
	for event, err := range t.daemon.Events(ctx, req) {
		if err != nil {
			return err
		}
		s := spot{x: math.NaN(), y: math.NaN()}
		switch p := event.Value().(type) {
		case *teehistorianv1.SamplePlayer:
			if p.X != nil && p.Y != nil {
				s.x, s.y = float64(p.GetX()), float64(p.GetY())
			}
		case *demv1.SamplePlayer:
			if p.GetPlace() != nil {
				s.x, s.y = float64(p.GetPlace().GetX()), -float64(p.GetPlace().GetY())
			}
		}
		if event.Tick == tick {
			s.line = event.String()
		}
		if (s.known() || s.line != "") && len(d.spots) < maxPlayers*trailSeconds*6 {
			d.spots = append(d.spots, s)
		}
	}
	return nil
}

// ranks says which layers lie over others.
var ranks = map[datafilev1.LayerKind]uint8{
	datafilev1.LayerKind_LAYER_KIND_GAME: 1, datafilev1.LayerKind_LAYER_KIND_TUNE: 2, datafilev1.LayerKind_LAYER_KIND_SPEEDUP: 3,
	datafilev1.LayerKind_LAYER_KIND_TELE: 4, datafilev1.LayerKind_LAYER_KIND_SWITCH: 5, datafilev1.LayerKind_LAYER_KIND_FRONT: 6,
}

// drawMap draws the layers of a map that affect play. If it has several of a kind, the last one counts, as in the game.
func (t tools) drawMap(ctx context.Context, name string, d *drawing) error {
	layers, size := map[datafilev1.LayerKind]int32{}, image.Point{}
	request := func(kind string) *replaydv1.StreamEventsRequest {
		return &replaydv1.StreamEventsRequest{Replay: name, Include: []*replaydv1.EventFilter{{Kinds: []string{kind}}}}
	}
	for event, err := range t.daemon.Events(ctx, request("tile_layer")) {
		if err != nil {
			return err
		}
		if layer, ok := event.Value().(*datafilev1.TileLayer); ok {
			layers[layer.GetKind()] = layer.GetLayer()
			if layer.GetKind() == datafilev1.LayerKind_LAYER_KIND_GAME {
				size = image.Pt(int(layer.GetWidth()), int(layer.GetHeight()))
			}
		}
	}
	if size.X < 1 || size.Y < 1 {
		return render.ErrNoGameLayer
	}
	d.canvas(size)
	palette := render.Palette()
	for event, err := range t.daemon.Events(ctx, request("physics_tiles")) {
		if err != nil {
			return err
		}
		tiles, _ := event.Value().(*datafilev1.PhysicsTiles)
		rank := ranks[tiles.GetKind()]
		if layer, known := layers[tiles.GetKind()]; rank == 0 || !known || layer != tiles.GetLayer() {
			continue
		}
		for _, run := range tiles.GetTiles() {
			x, y := float64(run.GetX())*unitsPerTile, float64(run.GetY())*unitsPerTile
			at, end := d.pixel(x, y), d.pixel(x+float64(run.GetColumns())*unitsPerTile, y+unitsPerTile)
			end = image.Pt(max(end.X, at.X+1), max(end.Y, at.Y+1)) // of a large map a pixel is several tiles
			d.fill(image.Rectangle{Min: at, Max: end}, rank, palette[byte(run.GetTile())])
		}
	}
	d.about = fmt.Sprintf("The map %s, %d x %d tiles.", name, size.X, size.Y)
	return nil
}

// canvas makes an empty picture of so many tiles.
func (d *drawing) canvas(tiles image.Point) {
	d.units = float64(max(tiles.X, tiles.Y)) * unitsPerTile / maxSide
	if d.units <= unitsPerTile { // whole pixels for a tile
		d.units = unitsPerTile / math.Floor(min(unitsPerTile/d.units, tileSide))
	}
	d.picture = image.NewRGBA(image.Rectangle{Max: image.Pt(
		max(int(float64(tiles.X)*unitsPerTile/d.units), 1), max(int(float64(tiles.Y)*unitsPerTile/d.units), 1),
	)})
	d.ranks = make([]uint8, d.picture.Rect.Dx()*d.picture.Rect.Dy())
	d.fill(d.picture.Rect, 0, render.Palette()[0])
}

// ground makes an empty picture around where the players were.
func (d *drawing) ground() {
	const least = 2000 // units
	low, high := image.Pt(math.MaxInt32, math.MaxInt32), image.Pt(math.MinInt32, math.MinInt32)
	for _, s := range d.spots {
		if !s.known() {
			continue
		}
		x, y := int(min(max(s.x, -1<<20), 1<<20)), int(min(max(s.y, -1<<20), 1<<20))
		low, high = image.Pt(min(low.X, x), min(low.Y, y)), image.Pt(max(high.X, x), max(high.Y, y))
	}
	if low.X > high.X {
		low, high = image.Point{}, image.Point{}
	}
	side := max(high.X-low.X, high.Y-low.Y, least) * 5 / 4
	d.from = low.Add(high).Div(2).Sub(image.Pt(side/2, side/2))
	d.canvas(image.Pt(side/unitsPerTile, side/unitsPerTile))
	d.about = "There is no map of this game here, so the ground is empty; north is up."
}

// pixel returns the pixel that shows a place.
func (d *drawing) pixel(x, y float64) image.Point {
	at := func(v float64) int { return int(math.Floor(min(max(v/d.units, -maxSide), 2*maxSide))) }
	return image.Pt(at(x-float64(d.from.X)), at(y-float64(d.from.Y)))
}

// fill fills a part of the picture, except where a layer of a higher rank is.
func (d *drawing) fill(part image.Rectangle, rank uint8, c color.Color) {
	part = part.Intersect(d.picture.Rect)
	rgba := color.RGBAModel.Convert(c).(color.RGBA)
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			if i := y*d.picture.Rect.Dx() + x; d.ranks[i] <= rank {
				d.ranks[i] = rank
				d.picture.SetRGBA(x, y, rgba)
			}
		}
	}
}

// dots are the colours of players, with names that assistants can tell.
var dots = []struct {
	name   string
	colour color.RGBA
}{
	{"red", color.RGBA{255, 60, 60, 255}}, {"yellow", color.RGBA{255, 235, 60, 255}}, {"cyan", color.RGBA{60, 240, 255, 255}},
	{"magenta", color.RGBA{255, 90, 255, 255}}, {"green", color.RGBA{70, 255, 90, 255}}, {"orange", color.RGBA{255, 160, 40, 255}},
	{"white", color.RGBA{255, 255, 255, 255}}, {"blue", color.RGBA{90, 130, 255, 255}},
}

// answer draws the players, and returns the picture with what it shows.
func (d *drawing) answer() ([]mcp.Content, error) {
	const over = math.MaxUint8
	slices.SortStableFunc(d.spots, func(a, b spot) int { return min(len(a.line), 1) - min(len(b.line), 1) }) // trails lie below
	var text bytes.Buffer
	_, _ = fmt.Fprintf(&text, "%s The picture has %d x %d pixels.\n", d.about, d.picture.Rect.Dx(), d.picture.Rect.Dy())
	players := 0
	for _, s := range d.spots {
		if !s.known() {
			if text.Len() < maxAnswer {
				_, _ = fmt.Fprintf(&text, "nowhere: %s\n", s.line)
			}
			continue
		}
		at := d.pixel(s.x, s.y)
		if s.line == "" {
			d.fill(image.Rectangle{Min: at, Max: at.Add(image.Pt(2, 2))}, over, color.RGBA{130, 140, 155, 255})
			continue
		}
		dot := dots[players%len(dots)]
		d.fill(image.Rectangle{Min: at.Sub(image.Pt(5, 5)), Max: at.Add(image.Pt(6, 6))}, over, color.Black)
		d.fill(image.Rectangle{Min: at.Sub(image.Pt(4, 4)), Max: at.Add(image.Pt(5, 5))}, over, dot.colour)
		if players++; text.Len() < maxAnswer {
			_, _ = fmt.Fprintf(&text, "%s, at %d, %d: %s\n", dot.name, at.X, at.Y, s.line)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, d.picture); err != nil {
		return nil, err
	}
	return []mcp.Content{&mcp.ImageContent{Data: b.Bytes(), MIMEType: "image/png"}, &mcp.TextContent{Text: text.String()}}, nil
}
