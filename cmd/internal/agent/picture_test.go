package agent_test

import (
	"bytes"
	"encoding/json"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
	"github.com/replayd/replayd/decoders/datafile/render"
)

// frontFirst returns a map of four tiles whose front layer comes before its game layer.
func frontFirst(t *testing.T) *datafiletest.MapWriter {
	t.Helper()
	m := &datafiletest.MapWriter{}
	events := []datafile.Event{
		{Kind: datafile.KindVersion, Version: datafile.Version{Version: 1}},
		{Kind: datafile.KindGroup, Group: datafile.Group{Version: 3, NumLayers: 2, ParallaxX: 100, ParallaxY: 100}},
	}
	for _, l := range []struct {
		kind  datafile.LayerKind
		flags int32
		tiles []byte
	}{{datafile.LayerKindFront, 8, []byte{33, 0, 0, 9}}, {datafile.LayerKindGame, 1, []byte{1, 1, 0, 0}}} {
		layer := datafile.TileLayer{Kind: l.kind, Version: 3, Flags: l.flags, Width: 4, Height: 1, Image: -1, ColorEnvelope: -1}
		data := make([]byte, 0, 16)
		for _, tile := range l.tiles {
			data = append(data, tile, 0, 0, 0)
		}
		events = append(events, datafile.Event{Kind: datafile.KindTileLayer, TileLayer: layer},
			datafile.Event{Kind: datafile.KindTiles, Tiles: datafile.Tiles{Columns: 4, Rows: 1, BytesPerTile: 4, Data: data}})
	}
	for i := range events {
		if err := m.Add(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestPicture: players of a game are dots on its map, where they are and in the colours that the answer names; who may not see the map gets
// them without it.
func TestPicture(t *testing.T) {
	t.Parallel()
	near, far := t.TempDir(), t.TempDir()
	race := filepath.Join("..", "cmd", "internal", "demo", "race") // from testdata
	copyTo(t, near, "race.teehistorian", one(t, race, "race.teehistorian"))
	copyTo(t, near, "course.map", one(t, race, "course.map"))
	copyTo(t, far, "race.teehistorian", one(t, race, "race.teehistorian"))
	address := serve(t, guarded(t, near, far))
	draw := func(token string) (string, []byte) {
		result, err := ask(t, address, token).CallTool(t.Context(), &mcp.CallToolParams{
			Name: "get_picture", Arguments: object{"replay": token + "/race.teehistorian", "tick": 2500},
		})
		if err != nil || result.IsError || len(result.Content) != 2 {
			t.Fatal(result, err)
		}
		return result.Content[1].(*mcp.TextContent).Text, result.Content[0].(*mcp.ImageContent).Data
	}
	text, data := draw("near")
	for end := time.Now().Add(time.Minute); !strings.HasPrefix(text, "The map near/course.map, 112 x 34 tiles."); text, data = draw("near") {
		if time.Now().After(end) { // until then the daemon has not found the map
			t.Fatal(text)
		}
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil || picture.Bounds().Dx() != 112*6 || picture.Bounds().Dy() != 34*6 {
		t.Fatal(picture.Bounds(), err)
	}
	colours := map[string]color.RGBA{
		"red": {255, 60, 60, 255}, "yellow": {255, 235, 60, 255}, "cyan": {60, 240, 255, 255}, "magenta": {255, 90, 255, 255},
		"green": {70, 255, 90, 255}, "orange": {255, 160, 40, 255},
	}
	players := regexp.MustCompile(`(?m)^(\w+), at (\d+), (\d+): (.*)$`).FindAllStringSubmatch(text, -1)
	for _, p := range players {
		var event struct {
			Sample struct {
				X int `json:"x"`
				Y int `json:"y"`
			} `json:"sample_player"`
		}
		if err := json.Unmarshal([]byte(p[4]), &event); err != nil {
			t.Fatal(err)
		}
		x, _ := strconv.Atoi(p[2])
		y, _ := strconv.Atoi(p[3])
		if x != event.Sample.X*6/32 || y != event.Sample.Y*6/32 {
			t.Errorf("%s is drawn at %d, %d and is at %d, %d", p[1], x, y, event.Sample.X, event.Sample.Y)
		}
		if got := color.RGBAModel.Convert(picture.At(x, y)); got != colours[p[1]] {
			t.Errorf("%s: %v", p[1], got)
		}
	}
	if len(players) != 6 {
		t.Errorf("%d players: %s", len(players), text)
	}
	var b bytes.Buffer
	if _, err := frontFirst(t).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(near, "front.map"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := datafile.Open(bytes.NewReader(b.Bytes()), int64(b.Len()), datafile.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := render.Map(file, render.Options{Scale: 12, Physics: true})
	if err != nil {
		t.Fatal(err)
	}
	session := ask(t, address, "near")
	if got, failed := call(t, session, "get_picture", object{"replay": "near/front.map"}); failed || !strings.Contains(got, pictured(drawn)) {
		t.Errorf("a map whose front lies before its game layer: %s", got)
	}
	copyTo(t, near, "teamfight.dem", one(t, "dem", "teamfight.dem"))
	got, _ := call(t, session, "get_picture", object{"replay": "near/teamfight.dem", "tick": 300})
	ada, donald := regexp.MustCompile(`at \d+, (\d+): .*"Ada"`).FindStringSubmatch(got), regexp.MustCompile(`at \d+, (\d+): .*"Donald"`).FindStringSubmatch(got)
	if ada == nil || donald == nil || len(ada[1]) != 3 || len(donald[1]) > len(ada[1]) || len(donald[1]) == len(ada[1]) && donald[1] >= ada[1] {
		t.Errorf("Ada came from the south: %v, %v, %s", ada, donald, got)
	}
	if text, _ := draw("far"); !strings.HasPrefix(text, "There is no map of this game here") || strings.Count(text, ", at ") != 6 {
		t.Errorf("without the map: %s", text)
	}
}
