package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/render"
	"github.com/replayd/replayd/replay/source"
)

type renderCmd struct {
	Map string `arg:"" help:"A file with a map." name:"file"`
	Out string `arg:"" help:"The PNG or GIF file to write, by its suffix, or - for a PNG on the standard output." name:"out.png"`

	Scale   int    `help:"The width and height of a tile in pixels, 1 to 64." default:"4"`
	Physics bool   `help:"Draw the front, tele, speedup, switch and tune layers over the game layer."`
	Layers  string `help:"Draw how the map plays (game), how it looks (design), or the first over the second (all). Pictures of how it looks show the beginning of animations." enum:"game,design,all" default:"game"`
	Mapres  string `help:"The directory with the images that maps refer to by name, as NAME.png. DDNet's is data/mapres. Default: only images in the map are drawn." type:"existingdir" placeholder:"DIR"`
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
	if c.Layers == "design" && (c.Legend || c.Physics) {
		return errors.New("--legend and --physics are about how the map plays, which --layers design does not draw")
	}
	if c.Layers == "game" && c.Mapres != "" {
		return errors.New("--mapres has the images of --layers design or all")
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

// suffix returns the suffix of the output file, which decides its format.
func (c *renderCmd) suffix() string {
	if c.Out == "-" {
		return ".png"
	}
	return strings.ToLower(filepath.Ext(c.Out))
}

// Run draws the map.
func (c *renderCmd) Run(ctx context.Context, con Console) error {
	busy := NewBusy(con.Err, "drawing "+c.Map)
	defer busy.Done()
	picture, legend, absent, err := c.draw(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Map, err)
	}
	con.Err = busy.Over(con.Err)
	if len(absent) > 0 {
		_, _ = fmt.Fprintf(con.Err, "not drawn, because these images are not in the map: %q\n", absent)
	}
	palette := render.Palette()
	for _, sign := range legend {
		r, g, b, _ := palette[sign.Tile].RGBA()
		_, _ = fmt.Fprintf(con.Err, "#%02x%02x%02x %3d %7d %s\n", r>>8, g>>8, b>>8, sign.Tile, sign.Count, cmp.Or(sign.Name, "-"))
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
	busy.Done()
	if c.Out == "-" {
		_, err := con.Out.Write(b.Bytes())
		return err
	}
	return os.WriteFile(c.Out, b.Bytes(), 0o644) //nolint:gosec // all users may read a picture
}

// draw returns the picture, its legend, and the names of the images that are absent.
func (c *renderCmd) draw(ctx context.Context) (picture image.Image, legend []render.Sign, none []string, err error) {
	file, err := source.OpenLocal(c.Map, source.Limits{})
	if err != nil {
		return nil, nil, nil, Absent(err)
	}
	defer func() { _ = file.Close() }()
	if err := file.Recognized(); err != nil {
		return nil, nil, nil, err
	}
	info := file.Info()
	if info.Format != decoders.Datafile {
		return nil, nil, nil, fmt.Errorf("only maps can be drawn; this is a file of format %v", info.Format)
	}
	if info.Size < 0 || info.Compression != source.Plain {
		if err := file.Spool(ctx); err != nil {
			return nil, nil, nil, err
		}
	}
	in := file.Input()
	f, err := datafile.Open(in.At, in.Size, datafile.DefaultLimits)
	if err != nil {
		return nil, nil, nil, err
	}
	o := render.Options{Scale: c.Scale, Physics: c.Physics || c.Layers == "all", Region: c.region, Crop: c.Crop, Over: c.Layers == "all"}
	if c.Layers == "game" {
		picture, err = render.Map(f, o)
	} else {
		picture, none, err = c.design(f, o)
	}
	if err == nil && c.Legend {
		legend, err = render.Legend(f, o)
	}
	return picture, legend, none, err
}

// design draws designed layers, with the images of --mapres.
func (c *renderCmd) design(f *datafile.File, o render.Options) (image.Image, []string, error) {
	var find func(string) (image.Image, error)
	if c.Mapres != "" {
		root, err := os.OpenRoot(c.Mapres)
		if err != nil {
			return nil, nil, err
		}
		defer func() { _ = root.Close() }()
		find = func(name string) (image.Image, error) { return mapImage(root, name) }
	}
	designed, err := render.Design(f, o, find)
	if err != nil {
		return nil, nil, err
	}
	return designed.Picture, designed.Absent, nil
}

// maxMapImage is the largest size of an external image, both of its file and unpacked with 4 bytes for each pixel.
const maxMapImage = 64 << 20

// mapImage reads an external image of a map. Because the map is not trusted, only plain names of regular files are read, and no
// very large images. The error for another name, or a missing file, wraps fs.ErrNotExist.
func mapImage(root *os.Root, name string) (image.Image, error) {
	if name == "" || len(name) > 128 || name[0] == '.' || strings.ContainsAny(name, "/\\:\x00") || !utf8.ValidString(name) {
		return nil, fmt.Errorf("%q is no plain name: %w", name, fs.ErrNotExist)
	}
	file, err := root.OpenFile(name+".png", os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxMapImage {
		return nil, errors.Join(err, fmt.Errorf("%s.png is no file of at most %d bytes", name, maxMapImage))
	}
	config, err := png.DecodeConfig(file)
	if err != nil {
		return nil, fmt.Errorf("%s.png: %w", name, err)
	}
	if config.Width < 1 || config.Height < 1 || config.Width > maxMapImage/4/config.Height {
		return nil, fmt.Errorf("%s.png has %d x %d pixels, which are too many", name, config.Width, config.Height)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	picture, err := png.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("%s.png: %w", name, err)
	}
	return picture, nil
}
