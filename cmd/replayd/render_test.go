package main

import (
	"bytes"
	"context"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	sample := filepath.Join("..", "..", "testdata", "datafile", "sample.map")
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
		{"to a file", []string{sample, out}, exitOK, 4 * 64},
		{"scaled", []string{sample, out, "--scale", "2", "--physics"}, exitOK, 2 * 64},
		{"to the standard output", []string{sample, "-", "--scale", "1"}, exitOK, 64},
		{"a region", []string{sample, out, "--scale", "2", "--region", "10,2,20,5"}, exitOK, 40},
		{"cropped", []string{sample, out, "--scale", "1", "--region=-5,1,40,3", "--crop"}, exitOK, 35},
		{"a region that is none", []string{sample, out, "--region", "1,2,3"}, exitUsage, 0},
		{"a region with more", []string{sample, out, "--region", "1,2,3,4,5"}, exitUsage, 0},
		{"an empty region", []string{sample, out, "--region", "1,2,0,4"}, exitUsage, 0},
		{"too large", []string{sample, out, "--scale", "65"}, exitUsage, 0},
		{"too small", []string{sample, out, "--scale", "0"}, exitUsage, 0},
		{"no such file", []string{sample + ".none", out}, exitNotFound, 0},
		{"not a map", []string{other, out}, exitCorrupt, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			con := console{new(bytes.Buffer), &stdout, &stderr}
			if code := run(context.Background(), append([]string{"render"}, tt.args...), con); code != tt.code {
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
	sample := filepath.Join("..", "..", "testdata", "datafile", "sample.map")
	out := filepath.Join(t.TempDir(), "map.GIF")
	var stdout, stderr bytes.Buffer
	con := console{new(bytes.Buffer), &stdout, &stderr}
	if code := run(context.Background(), []string{"render", sample, out, "--legend", "--physics", "--region", "0,20,64,4"}, con); code != exitOK {
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
