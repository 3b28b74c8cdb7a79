package render_test

import (
	"bytes"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
	"github.com/replayd/replayd/decoders/datafile/render"
	"github.com/replayd/replayd/decoders/decodertest"
)

var update = flag.Bool("update", false, "write the picture in docs anew")

func open(tb testing.TB, path string) *datafile.File {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	f, err := datafile.Open(bytes.NewReader(data), int64(len(data)), datafile.DefaultLimits)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

var samplePath = filepath.Join("..", "..", "..", "testdata", "datafile", "sample.map")

// TestPicture compares the picture of the sample pixel by pixel with the one in the docs.
func TestPicture(t *testing.T) {
	golden := filepath.Join("..", "..", "..", "docs", "images", "map.png")
	got, err := render.Map(open(t, samplePath), render.Options{Scale: 12, Physics: true})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		var b bytes.Buffer
		if err := png.Encode(&b, got); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(golden)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if want.Bounds() != got.Bounds() {
		t.Fatalf("the picture has %v, want %v", got.Bounds(), want.Bounds())
	}
	for y := range got.Rect.Dy() {
		for x := range got.Rect.Dx() {
			if !same(want.At(x, y), got.At(x, y)) {
				t.Fatalf("pixel %d, %d is %v, want %v", x, y, got.At(x, y), want.At(x, y))
			}
		}
	}
}

func same(a, b color.Color) bool {
	r1, g1, b1, a1 := a.RGBA()
	r2, g2, b2, a2 := b.RGBA()
	return r1 == r2 && g1 == g2 && b1 == b2 && a1 == a2
}

func TestOptions(t *testing.T) {
	f := open(t, samplePath)
	for _, tt := range []struct {
		name    string
		options render.Options
		size    image.Point
		err     error
	}{
		{"default", render.Options{}, image.Pt(64, 24), nil},
		{"scale", render.Options{Scale: 3}, image.Pt(192, 72), nil},
		{"largest", render.Options{Scale: 64}, image.Pt(4096, 1536), nil},
		{"just fits", render.Options{MaxPixels: 64 * 24}, image.Pt(64, 24), nil},
		{"too many pixels", render.Options{MaxPixels: 64*24 - 1}, image.Point{}, decoders.ErrLimit},
		{"too many pixels by scale", render.Options{Scale: 64, MaxPixels: 1 << 20}, image.Point{}, decoders.ErrLimit},
		{"scale too large", render.Options{Scale: 65}, image.Point{}, errAny},
		{"negative scale", render.Options{Scale: -1}, image.Point{}, errAny},
	} {
		t.Run(tt.name, func(t *testing.T) {
			picture, err := render.Map(f, tt.options)
			if tt.err == nil != (err == nil) || tt.err != nil && !errors.Is(tt.err, errAny) && !errors.Is(err, tt.err) {
				t.Fatalf("got error %v, want %v", err, tt.err)
			}
			if err == nil && picture.Rect.Size() != tt.size {
				t.Errorf("got %v, want %v", picture.Rect.Size(), tt.size)
			}
		})
	}
}

var errAny = errors.New("any error")

// TestPhysics checks that the other layers are drawn over the game layer only with Physics.
func TestPhysics(t *testing.T) {
	f := open(t, samplePath)
	for physics, want := range map[bool]uint8{false: 0, true: 26} {
		picture, err := render.Map(f, render.Options{Physics: physics})
		if err != nil {
			t.Fatal(err)
		}
		if got := picture.ColorIndexAt(12, 13); got != want { // a teleporter
			t.Errorf("physics %t: got tile %d, want %d", physics, got, want)
		}
		if got := picture.ColorIndexAt(0, 0); got != 1 {
			t.Errorf("physics %t: got tile %d in the corner, want a wall", physics, got)
		}
	}
}

func TestNoGameLayer(t *testing.T) {
	var w datafiletest.Writer
	w.AddInts(0, 0, 1)
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := datafile.Open(bytes.NewReader(b.Bytes()), int64(b.Len()), datafile.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := render.Map(f, render.Options{}); !errors.Is(err, render.ErrNoGameLayer) {
		t.Errorf("got error %v", err)
	}
}

// TestPalette checks that the colour of every tile with a name differs from air.
func TestPalette(t *testing.T) {
	p := render.Palette()
	for i := 1; i < len(p); i++ {
		if same(p[i], p[0]) {
			t.Errorf("tile %d looks like air", i)
		}
	}
}

// TestCorpus counts the tiles in pictures of real maps and compares with an independent reader.
func TestCorpus(t *testing.T) {
	for _, tt := range []struct {
		name  string
		size  image.Point
		tiles map[uint8]int
	}{
		{"ddnet_ddnet/dm1.map", image.Pt(60, 50), map[uint8]int{0: 1433, 1: 1535, 192: 8}},
		{"ddnet_ddnet/ctf1.map", image.Pt(70, 50), map[uint8]int{0: 1487, 1: 1975, 193: 4, 194: 4}},
		{"ddnet_ddnet/coverage.map", image.Pt(50, 50), map[uint8]int{0: 867, 1: 895, 2: 38, 3: 492, 9: 1, 33: 2, 34: 7, 192: 1}},
		{"ddnet_ddnet/Gold Mine.map", image.Pt(211, 137), map[uint8]int{0: 6480, 1: 20553, 3: 986, 9: 725, 33: 6, 34: 17, 192: 10}},
		{"jxsl13_twmap/Castle_Echos.map", image.Pt(734, 400), map[uint8]int{0: 289975, 2: 20, 3: 3191, 9: 22, 33: 1, 34: 1, 192: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, decodertest.Shared(t, "corpus", "datafile", tt.name))
			picture, err := render.Map(f, render.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if picture.Rect.Size() != tt.size {
				t.Errorf("got %v, want %v", picture.Rect.Size(), tt.size)
			}
			counts := map[uint8]int{}
			for _, tile := range picture.Pix {
				counts[tile]++
			}
			for tile, want := range tt.tiles {
				if counts[tile] != want {
					t.Errorf("%d tiles of kind %d, want %d", counts[tile], tile, want)
				}
			}
		})
	}
}

// TestRegion: a region is that part of the whole picture, and cropping leaves out edges without tiles.
func TestRegion(t *testing.T) {
	f := open(t, samplePath)
	o := render.Options{Scale: 3, Physics: true}
	whole, err := render.Map(f, o)
	if err != nil {
		t.Fatal(err)
	}
	for region, want := range map[image.Rectangle]image.Rectangle{ // what is asked for, and what is drawn, in tiles
		image.Rect(5, 2, 30, 9):        image.Rect(5, 2, 30, 9),
		image.Rect(-3, -3, 1000, 1000): image.Rect(0, 0, 64, 24),
		image.Rect(63, 23, 64, 24):     image.Rect(63, 23, 64, 24),
	} {
		o.Region = region
		part, err := render.Map(f, o)
		if err != nil {
			t.Fatal(err)
		}
		if part.Rect != image.Rect(0, 0, 3*want.Dx(), 3*want.Dy()) {
			t.Fatalf("%v: got %v", region, part.Rect)
		}
		for y := range part.Rect.Dy() {
			for x := range part.Rect.Dx() {
				if part.ColorIndexAt(x, y) != whole.ColorIndexAt(x+3*want.Min.X, y+3*want.Min.Y) {
					t.Fatalf("%v: the pixel at %d, %d differs", region, x, y)
				}
			}
		}
	}
	o.Region = image.Rect(1, 1, 22, 6) // the spawns at 3 to 7, the start at 13; rows 3 to 5
	o.Crop, o.Scale = true, 1
	cropped, err := render.Map(f, o)
	if err != nil || cropped.Rect != image.Rect(0, 0, 11, 3) || cropped.ColorIndexAt(0, 0) != 192 || cropped.ColorIndexAt(10, 2) != 33 {
		t.Errorf("cropped: %v, %v", cropped.Rect, err)
	}
	for _, nothing := range []image.Rectangle{image.Rect(100, 0, 110, 10), image.Rect(8, 1, 12, 2)} {
		o.Region = nothing
		if _, err := render.Map(f, o); !errors.Is(err, render.ErrNothing) {
			t.Errorf("%v: got %v", nothing, err)
		}
	}
}
