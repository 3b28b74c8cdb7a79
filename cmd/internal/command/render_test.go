package command

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
)

// TestPicture checks that the picture of the sample map in the documentation is what the documented command draws.
func TestPicture(t *testing.T) {
	var drawn, stderr bytes.Buffer
	sample := filepath.Join("..", "..", "..", "testdata", "datafile", "sample.map")
	args := []string{"render", sample, "-", "--scale", "12", "--physics"}
	if code := replayd.Run(t.Context(), args, Console{new(bytes.Buffer), &drawn, &stderr}); code != ExitOK {
		t.Fatal(code, &stderr)
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "images", "map.png"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(drawn.Bytes(), want) {
		t.Error("docs/images/map.png is another picture: make pictures draws it again")
	}
}

func TestRender(t *testing.T) {
	sample := filepath.Join("..", "..", "..", "testdata", "datafile", "sample.map")
	out := filepath.Join(t.TempDir(), "map.png")
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("not a map"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		args  []string
		code  int
		width int
	}{
		{"to a file", []string{sample, out}, ExitOK, 4 * 64},
		{"scaled", []string{sample, out, "--scale", "2", "--physics"}, ExitOK, 2 * 64},
		{"to the standard output", []string{sample, "-", "--scale", "1"}, ExitOK, 64},
		{"a region", []string{sample, out, "--scale", "2", "--region", "10,2,20,5"}, ExitOK, 40},
		{"cropped", []string{sample, out, "--scale", "1", "--region=-5,1,40,3", "--crop"}, ExitOK, 35},
		{"a region that is none", []string{sample, out, "--region", "1,2,3"}, ExitUsage, 0},
		{"a region with more", []string{sample, out, "--region", "1,2,3,4,5"}, ExitUsage, 0},
		{"an empty region", []string{sample, out, "--region", "1,2,0,4"}, ExitUsage, 0},
		{"designed layers", []string{sample, out, "--layers", "design", "--scale", "2"}, ExitOK, 128},
		{"all layers", []string{sample, out, "--layers", "all", "--scale", "2", "--mapres", "."}, ExitOK, 128},
		{"no such layers", []string{sample, out, "--layers", "none"}, ExitUsage, 0},
		{"a legend of designed layers", []string{sample, out, "--layers", "design", "--legend"}, ExitUsage, 0},
		{"images that are not drawn", []string{sample, out, "--mapres", "."}, ExitUsage, 0},
		{"too large", []string{sample, out, "--scale", "65"}, ExitUsage, 0},
		{"too small", []string{sample, out, "--scale", "0"}, ExitUsage, 0},
		{"no such file", []string{sample + ".none", out}, ExitNotFound, 0},
		{"not a map", []string{other, out}, ExitCorrupt, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			con := Console{new(bytes.Buffer), &stdout, &stderr}
			if code := replayd.Run(context.Background(), append([]string{"render"}, tt.args...), con); code != tt.code {
				t.Fatalf("got code %d, want %d: %s", code, tt.code, &stderr)
			}
			if tt.width == 0 {
				return
			}
			picture := stdout.Bytes()
			if tt.args[1] != "-" {
				var err error
				if picture, err = os.ReadFile(out); err != nil {
					t.Fatal(err)
				}
			}
			config, err := png.DecodeConfig(bytes.NewReader(picture))
			if err != nil {
				t.Fatal(err)
			}
			if config.Width != tt.width {
				t.Errorf("the picture is %d pixels wide, want %d", config.Width, tt.width)
			}
		})
	}
}

// TestRenderGIF: the suffix says the format, and the legend what the colours mean.
func TestRenderGIF(t *testing.T) {
	sample := filepath.Join("..", "..", "..", "testdata", "datafile", "sample.map")
	out := filepath.Join(t.TempDir(), "map.GIF")
	var stdout, stderr bytes.Buffer
	con := Console{new(bytes.Buffer), &stdout, &stderr}
	if code := replayd.Run(context.Background(), []string{"render", sample, out, "--legend", "--physics", "--region", "0,20,64,4"}, con); code != ExitOK {
		t.Fatal(code, stderr.String())
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if picture, err := gif.Decode(bytes.NewReader(data)); err != nil || picture.Bounds().Dx() != 4*64 || picture.Bounds().Dy() != 4*4 {
		t.Error(err)
	}
	want := "#9a8463   1      73 solid\n"
	if !strings.HasPrefix(stderr.String(), want) || !strings.Contains(stderr.String(), " death\n") || strings.Contains(stderr.String(), "spawn") {
		t.Errorf("the legend is\n%s", stderr.String())
	}
}

// TestMapres: images that a map names are read from the directory alone, and only regular files of a bearable size.
func TestMapres(t *testing.T) {
	dir := t.TempDir()
	res := filepath.Join(dir, "mapres")
	picture := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range picture.Pix {
		picture.Pix[i] = []byte{10, 200, 30, 255}[i%4]
	}
	var good bytes.Buffer
	if err := png.Encode(&good, picture); err != nil {
		t.Fatal(err)
	}
	var bomb bytes.Buffer // its header says 100000 x 100000
	bomb.Write(good.Bytes())
	header := bomb.Bytes()[16:24]
	copy(header, []byte{0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0})
	crc := crc32.ChecksumIEEE(bomb.Bytes()[12:29])
	binary.BigEndian.PutUint32(bomb.Bytes()[29:], crc)
	if err := os.MkdirAll(filepath.Join(res, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"secret.png": good.Bytes(), "mapres/good.png": good.Bytes(), "mapres/folder/in.png": good.Bytes(), "mapres/.hidden.png": good.Bytes(),
		"mapres/broken.png": good.Bytes()[:40], "mapres/bomb.png": bomb.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret.png"), filepath.Join(res, "out.png")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(res, "pipe.png"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		code int
		says string
	}{
		"good":                       {ExitOK, ""},
		"absent":                     {ExitOK, `not drawn, because these images are not in the map: ["absent"]`},
		"../secret":                  {ExitOK, "not drawn"},
		"folder/in":                  {ExitOK, "not drawn"},
		"folder\\in":                 {ExitOK, "not drawn"},
		".hidden":                    {ExitOK, "not drawn"},
		filepath.Join(dir, "secret"): {ExitOK, "not drawn"},
		"out":                        {ExitFailed, "escapes"},
		"pipe":                       {ExitFailed, "pipe.png is no file"},
		"broken":                     {ExitFailed, "broken.png"},
		"bomb":                       {ExitFailed, "100000 x 100000 pixels"},
	} {
		var m datafiletest.MapWriter
		for _, ev := range []datafile.Event{
			{Kind: datafile.KindVersion, Version: datafile.Version{Version: 1}},
			{Kind: datafile.KindImage, Image: datafile.Image{Version: 1, Width: 64, Height: 64, External: true, Name: []byte(name)}},
			{Kind: datafile.KindTileLayer, TileLayer: datafile.TileLayer{Kind: datafile.LayerKindGame, Flags: 1, Version: 3, Width: 2, Height: 2, Image: -1, ColorEnvelope: -1}},
			{Kind: datafile.KindTiles, Tiles: datafile.Tiles{Columns: 2, Rows: 2, BytesPerTile: 4, Data: make([]byte, 16)}},
			{Kind: datafile.KindTileLayer, TileLayer: datafile.TileLayer{Kind: datafile.LayerKindTiles, Version: 3, Width: 2, Height: 2, Image: 0, ColorEnvelope: -1,
				Color: datafile.Color{R: 255, G: 255, B: 255, A: 255}, HasColor: true}},
			{Kind: datafile.KindTiles, Tiles: datafile.Tiles{Columns: 2, Rows: 2, BytesPerTile: 4, Data: bytes.Repeat([]byte{1, 0, 0, 0}, 4)}},
		} {
			if err := m.Add(&ev); err != nil {
				t.Fatal(err)
			}
		}
		var file bytes.Buffer
		if _, err := m.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "one.map")
		if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := replayd.Run(context.Background(), []string{"render", path, "-", "--layers", "design", "--mapres", res}, Console{new(bytes.Buffer), &stdout, &stderr})
		if code != want.code || !strings.Contains(stderr.String(), want.says) || want.says == "" && stderr.Len() > 0 {
			t.Errorf("%q: %d: %s", name, code, stderr.String())
		}
		if code != ExitOK {
			continue
		}
		drawn, err := png.Decode(&stdout)
		if err != nil {
			t.Fatal(err)
		}
		if _, g, _, _ := drawn.At(3, 3).RGBA(); (g>>8 == 200) != (name == "good") {
			t.Errorf("%q: green is %d", name, g>>8)
		}
	}
}
