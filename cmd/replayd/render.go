package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/render"
	"github.com/replayd/replayd/service/source"
)

type renderCmd struct {
	Map string `arg:"" help:"A file with a map." name:"file"`
	Out string `arg:"" help:"The PNG file to write, or - for the standard output." name:"out.png"`

	Scale   int  `help:"The width and height of a tile in pixels, 1 to 64." default:"4"`
	Physics bool `help:"Draw the front, tele, speedup, switch and tune layers over the game layer."`
}

// Validate rejects an invalid scale and an output file that is not named as PNG.
func (c *renderCmd) Validate() error {
	if c.Scale < 1 || c.Scale > render.MaxScale {
		return fmt.Errorf("--scale %d: must be 1 to %d", c.Scale, render.MaxScale)
	}
	if suffix := strings.ToLower(filepath.Ext(c.Out)); c.Out != "-" && suffix != ".png" {
		return fmt.Errorf("%s: pictures are written as PNG, so the file name must end in .png", c.Out)
	}
	return nil
}

// Run draws the map.
func (c *renderCmd) Run(ctx context.Context, con console) error {
	picture, err := c.draw(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Map, err)
	}
	if c.Out == "-" {
		return png.Encode(con.out, picture)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return err
	}
	return os.WriteFile(c.Out, b.Bytes(), 0o644) //nolint:gosec // a picture may be readable by all users
}

func (c *renderCmd) draw(ctx context.Context) (*image.Paletted, error) {
	file, err := source.OpenLocal(c.Map, source.Limits{})
	if err != nil {
		return nil, absent(err)
	}
	defer func() { _ = file.Close() }()
	if err := file.Recognized(); err != nil {
		return nil, err
	}
	info := file.Info()
	if info.Format != decoders.Datafile {
		return nil, fmt.Errorf("only maps can be drawn; this is a file of format %v", info.Format)
	}
	if info.Size < 0 || info.Compression != source.Plain {
		if err := file.Spool(ctx); err != nil {
			return nil, err
		}
	}
	in := file.Input()
	f, err := datafile.Open(in.At, in.Size, datafile.DefaultLimits)
	if err != nil {
		return nil, err
	}
	return render.Map(f, render.Options{Scale: c.Scale, Physics: c.Physics})
}
