package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"math"
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
	Out string `arg:"" help:"The PNG or GIF file to write, by its suffix, or - for a PNG on the standard output." name:"out.png"`

	Scale   int    `help:"The width and height of a tile in pixels, 1 to 64." default:"4"`
	Physics bool   `help:"Draw the front, tele, speedup, switch and tune layers over the game layer."`
	Region  string `help:"Draw only this part of the map, in tiles." placeholder:"X,Y,WIDTH,HEIGHT"`
	Crop    bool   `help:"Leave out edges that have only air."`
	Legend  bool   `help:"Print the colour, name and number of each kind of tile to the standard error output."`

	region image.Rectangle
}

// Validate rejects an invalid scale and an output file that is not named as PNG.
func (c *renderCmd) Validate() error {
	if c.Scale < 1 || c.Scale > render.MaxScale {
		return fmt.Errorf("--scale %d: must be 1 to %d", c.Scale, render.MaxScale)
	}
	if suffix := c.suffix(); suffix != ".png" && suffix != ".gif" {
		return fmt.Errorf("%s: pictures are written as PNG or GIF, so the file name must end in .png or .gif", c.Out)
	}
	if c.Region != "" {
		var x, y, width, height int
		if n, err := fmt.Sscanf(c.Region+" ", "%d,%d,%d,%d ", &x, &y, &width, &height); n != 4 || err != nil || width < 1 || height < 1 ||
			max(x, y, width, height) > math.MaxInt32 || min(x, y) < math.MinInt32 {
			return fmt.Errorf("--region %s: want X,Y,WIDTH,HEIGHT in tiles, such as 0,0,100,50", c.Region)
		}
		c.region = image.Rect(x, y, x+width, y+height)
	}
	return nil
}

// suffix returns the suffix of the file to write, which says its format.
func (c *renderCmd) suffix() string {
	if c.Out == "-" {
		return ".png"
	}
	return strings.ToLower(filepath.Ext(c.Out))
}

// Run draws the map.
func (c *renderCmd) Run(ctx context.Context, con console) error {
	picture, legend, err := c.draw(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Map, err)
	}
	palette := render.Palette()
	for _, sign := range legend {
		r, g, b, _ := palette[sign.Tile].RGBA()
		_, _ = fmt.Fprintf(con.err, "#%02x%02x%02x %3d %7d %s\n", r>>8, g>>8, b>>8, sign.Tile, sign.Count, cmp.Or(sign.Name, "-"))
	}
	var b bytes.Buffer
	if c.suffix() == ".gif" {
		err = gif.Encode(&b, picture, nil)
	} else {
		err = png.Encode(&b, picture)
	}
	if err != nil {
		return err
	}
	if c.Out == "-" {
		_, err := con.out.Write(b.Bytes())
		return err
	}
	return os.WriteFile(c.Out, b.Bytes(), 0o644) //nolint:gosec // a picture may be readable by all users
}

func (c *renderCmd) draw(ctx context.Context) (*image.Paletted, []render.Sign, error) {
	file, err := source.OpenLocal(c.Map, source.Limits{})
	if err != nil {
		return nil, nil, absent(err)
	}
	defer func() { _ = file.Close() }()
	if err := file.Recognized(); err != nil {
		return nil, nil, err
	}
	info := file.Info()
	if info.Format != decoders.Datafile {
		return nil, nil, fmt.Errorf("only maps can be drawn; this is a file of format %v", info.Format)
	}
	if info.Size < 0 || info.Compression != source.Plain {
		if err := file.Spool(ctx); err != nil {
			return nil, nil, err
		}
	}
	in := file.Input()
	f, err := datafile.Open(in.At, in.Size, datafile.DefaultLimits)
	if err != nil {
		return nil, nil, err
	}
	o := render.Options{Scale: c.Scale, Physics: c.Physics, Region: c.region, Crop: c.Crop}
	picture, err := render.Map(f, o)
	if err != nil || !c.Legend {
		return picture, nil, err
	}
	legend, err := render.Legend(f, o)
	return picture, legend, err
}
