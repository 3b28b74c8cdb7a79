package render

import (
	"errors"
	"image"
	"image/color"
	"image/draw"
	"io"
	"io/fs"
	"math"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
)

// Designed is a picture of a map as its designer made it.
type Designed struct {
	// Picture is the picture. It is opaque.
	Picture *image.RGBA
	// Absent has the names, in the order of the file, of images that layers need and that are neither in the file nor found.
	// Parts that need them are not drawn.
	Absent []string
}

const (
	// maxImageBytes and maxImagesBytes limit one image, and all images of a map, with 4 bytes for each pixel.
	maxImageBytes  = 64 << 20
	maxImagesBytes = 512 << 20
	// defaultMaxDesigned is the largest number of pixels of a picture of designed layers, each of which takes 4 bytes.
	defaultMaxDesigned = 64 << 20
	// defaultMaxPainted is the number of pixels that may be painted. That takes about a minute.
	defaultMaxPainted = 2 << 30
)

// physicsOpacity is the opacity of physics over designed layers, of 255.
const physicsOpacity = 140

// Design draws the designed layers of a map: tiles with images, and quads, in their order, with colours, parallax and clipping.
// The camera is in the middle of the picture. Animations are at their beginning. If o.Over is set, the tiles that affect play lie
// over them, half transparent. find returns an image that is not in the file by its name, or an error that wraps fs.ErrNotExist;
// nil finds none. Errors are those of [Map], and those of find.
func Design(f *datafile.File, o Options, find func(name string) (image.Image, error)) (*Designed, error) {
	if o.MaxPixels == 0 {
		o.MaxPixels = defaultMaxDesigned
	}
	if o.MaxPainted == 0 {
		o.MaxPainted = defaultMaxPainted
	}
	layers, region, err := o.plan(f)
	if err != nil {
		return nil, err
	}
	d := &designer{
		region: region, scale: o.Scale, images: map[int32]*texture{}, groups: map[int32]datafile.Group{}, names: map[int32]string{},
		picture: image.NewRGBA(image.Rect(0, 0, region.Dx()*o.Scale, region.Dy()*o.Scale)), left: o.MaxPainted,
	}
	draw.Draw(d.picture, d.picture.Rect, image.NewUniform(colors[datafile.AirTile]), image.Point{}, draw.Src)
	if err := d.gather(f, find); err != nil {
		return nil, err
	}
	if err := d.draw(f); err != nil {
		return nil, err
	}
	if o.Over {
		physics, err := o.draw(f, layers, region)
		if err != nil {
			return nil, err
		}
		palette := Palette()
		palette[datafile.AirTile] = color.RGBA{}
		physics.Palette = palette
		draw.DrawMask(d.picture, d.picture.Rect, physics, image.Point{}, image.NewUniform(color.Alpha{physicsOpacity}), image.Point{}, draw.Over)
	}
	return &Designed{d.picture, d.absent}, nil
}

// designer draws designed layers.
type designer struct {
	picture *image.RGBA
	region  image.Rectangle // in tiles
	scale   int
	left    int64 // pixels that may still be painted

	images    map[int32]*texture
	names     map[int32]string // of absent images
	absent    []string
	groups    map[int32]datafile.Group
	envelopes []datafile.Envelope
	points    []datafile.EnvelopePoint
}

// each calls a function for the events of the wanted kinds.
func each(f *datafile.File, want func(datafile.Kind, datafile.Place) bool, each func(*datafile.Event) error) error {
	d := f.Events(datafile.Options{Want: want})
	var ev datafile.Event
	for {
		err := d.Next(&ev)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(&ev)
		}
		if err != nil {
			return err
		}
	}
}

func limit(what, detail string, args ...any) error {
	return decoders.Errorf(decoders.Datafile, 0, decoders.NoTick, what, decoders.ErrLimit, detail, args...)
}

// gather reads the images, envelopes and groups.
func (d *designer) gather(f *datafile.File, find func(string) (image.Image, error)) error {
	kinds := []datafile.Kind{
		datafile.KindImage, datafile.KindImageData, datafile.KindEnvelope, datafile.KindEnvelopePoints, datafile.KindGroup,
	}
	var open datafile.Image // the image whose pixels follow
	total := 0
	room := func(name []byte, width, height int) error {
		size := int64(width) * int64(height) * 4
		if total += int(min(size, maxImageBytes)); size > maxImageBytes || total > maxImagesBytes {
			return limit("image", "%q has %d x %d pixels", name, width, height)
		}
		return nil
	}
	return each(f, func(kind datafile.Kind, _ datafile.Place) bool { return slices.Contains(kinds, kind) }, func(ev *datafile.Event) error {
		switch ev.Kind {
		case datafile.KindGroup:
			d.groups[ev.Group.Group] = ev.Group
		case datafile.KindEnvelope:
			d.envelopes = append(d.envelopes, ev.Envelope)
		case datafile.KindEnvelopePoints:
			for _, p := range ev.EnvelopePoints.Points {
				p.Values = slices.Clone(p.Values)
				p.Bezier.OutDxMs, p.Bezier.OutDy = slices.Clone(p.Bezier.OutDxMs), slices.Clone(p.Bezier.OutDy)
				p.Bezier.InDxMs, p.Bezier.InDy = slices.Clone(p.Bezier.InDxMs), slices.Clone(p.Bezier.InDy)
				d.points = append(d.points, p)
			}
		case datafile.KindImage:
			open = ev.Image
			name := string(open.Name)
			d.names[open.Image] = name
			if open.External {
				if find == nil {
					return nil
				}
				found, err := find(name)
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				if err != nil {
					return err
				}
				if err := room(open.Name, found.Bounds().Dx(), found.Bounds().Dy()); err != nil {
					return err
				}
				d.images[open.Image] = textureOf(found)
				return nil
			}
			bytes := map[datafile.PixelFormat]int64{datafile.PixelFormatRgb: 3, datafile.PixelFormatRgba: 4}[open.Format]
			if open.Width <= 0 || open.Height <= 0 || bytes == 0 || int64(open.Width)*int64(open.Height)*bytes != int64(open.Bytes) {
				return nil
			}
			if err := room(open.Name, int(open.Width), int(open.Height)); err != nil {
				return err
			}
			d.images[open.Image] = newTexture(int(open.Width), int(open.Height))
		case datafile.KindImageData:
			if t := d.images[ev.ImageData.Image]; t != nil && ev.ImageData.Image == open.Image {
				t.put(int(ev.ImageData.Offset), ev.ImageData.Data, open.Format == datafile.PixelFormatRgba)
			}
		}
		return nil
	})
}

// draw draws the layers in the order of the file.
func (d *designer) draw(f *datafile.File) error {
	var tiles *tilePainter
	var quads *quadPainter
	wanted := int32(-1) // the layer that is drawn
	return each(f, func(kind datafile.Kind, at datafile.Place) bool {
		return kind == datafile.KindTileLayer || kind == datafile.KindQuadLayer || // Next asks for data after it has returned the layer
			(kind == datafile.KindTiles || kind == datafile.KindQuads) && at.Layer == wanted
	}, func(ev *datafile.Event) error {
		switch ev.Kind {
		case datafile.KindTileLayer:
			tiles, wanted = nil, -1
			if l := &ev.TileLayer; l.Kind == datafile.LayerKindTiles && l.Image >= 0 && d.has(l.Image) {
				tiles, wanted = d.tiles(l), l.Layer
			}
		case datafile.KindQuadLayer:
			quads, wanted = nil, -1
			if l := &ev.QuadLayer; l.NumQuads > 0 && (l.Image < 0 || d.has(l.Image)) {
				quads, wanted = d.quads(l), l.Layer
			}
		case datafile.KindTiles:
			if tiles != nil && ev.Tiles.Layer == wanted {
				tiles.paint(&ev.Tiles)
			}
		case datafile.KindQuads:
			if quads != nil && ev.Quads.Layer == wanted {
				for i := range ev.Quads.Quads {
					quads.paint(&ev.Quads.Quads[i])
				}
			}
		}
		if d.left < 0 {
			return limit("picture", "layers and quads over each other have more pixels than may be painted")
		}
		return nil
	})
}

// has reports whether an image exists, and otherwise notes that it is absent.
func (d *designer) has(index int32) bool {
	if d.images[index] != nil {
		return true
	}
	if name := d.names[index]; name != "" && !slices.Contains(d.absent, name) {
		d.absent = append(d.absent, name)
	}
	return false
}

// view is the place of a layer in the picture.
type view struct {
	dx, dy float64 // the layer's origin, in pixels
	unit   float64 // pixels per world unit
	clip   image.Rectangle
}

const tileUnits = 32

// view returns the place of a group's layers. A layer without a group moves with the world.
func (d *designer) view(group int32) view {
	v := view{unit: float64(d.scale) / tileUnits, clip: d.picture.Rect}
	left, top := float64(d.region.Min.X*tileUnits), float64(d.region.Min.Y*tileUnits)
	x, y := left+float64(d.region.Dx()*tileUnits)/2, top+float64(d.region.Dy()*tileUnits)/2 // the camera
	g, ok := d.groups[group]
	if !ok {
		g = datafile.Group{ParallaxX: 100, ParallaxY: 100}
	}
	v.dx = (x - left - x*float64(g.ParallaxX)/100 - float64(g.OffsetX)) * v.unit
	v.dy = (y - top - y*float64(g.ParallaxY)/100 - float64(g.OffsetY)) * v.unit
	if g.Clipped && g.HasClip {
		at := func(units int64, from float64) int { return int(math.Round((float64(units) - from) * v.unit)) }
		c := g.Clip
		v.clip = v.clip.Intersect(image.Rect(at(int64(c.X), left), at(int64(c.Y), top),
			at(int64(c.X)+max(0, int64(c.Width)), left), at(int64(c.Y)+max(0, int64(c.Height)), top)))
	}
	return v
}

// rgba is a colour with channels from 0 to 1, not multiplied by alpha.
type rgba [4]float32

func (c rgba) times(by [4]float64) rgba {
	for i := range c {
		c[i] *= float32(by[i])
	}
	return c
}

func rgbaOf(c datafile.Color) rgba {
	return rgba{channel(c.R), channel(c.G), channel(c.B), channel(c.A)}
}

func channel(v int32) float32 { return float32(min(max(v, 0), 255)) / 255 }

// blend paints a colour that is multiplied by alpha over a pixel.
func blend(pixel []uint8, c rgba) {
	for i := range 3 {
		pixel[i] = uint8(min(255, max(0, c[i]*255+float32(pixel[i])*(1-c[3])+0.5)))
	}
}

// tilePainter paints a layer of tiles.
type tilePainter struct {
	*designer
	view

	sets    *[256]*texture // the tiles of the image
	image   *texture
	colour  rgba
	sprites map[[2]byte][]rgba // the pixels of tiles by index and flags
	x, y    int                // the first pixel of the layer's first tile,
	fx, fy  float64            // and where its centre is in the tile, in pixels
}

func (d *designer) tiles(l *datafile.TileLayer) *tilePainter {
	p := &tilePainter{designer: d, view: d.view(l.Group), image: d.images[l.Image], sets: new([256]*texture), colour: rgba{1, 1, 1, 1}, sprites: map[[2]byte][]rgba{}}
	if l.HasColor {
		p.colour = rgbaOf(l.Color)
	}
	p.colour = p.colour.times(d.envelope(l.ColorEnvelope, l.ColorEnvelopeOffsetMs, [4]float64{1, 1, 1, 1}))
	p.x, p.y = int(math.Ceil(p.dx-0.5)), int(math.Ceil(p.dy-0.5))
	p.fx, p.fy = float64(p.x)+0.5-p.dx, float64(p.y)+0.5-p.dy
	return p
}

// Flags of tiles.
const (
	mirroredX = 1
	mirroredY = 2
	turned    = 8
)

func (p *tilePainter) paint(t *datafile.Tiles) {
	if t.BytesPerTile < 2 {
		return
	}
	for row := range int(t.Rows) {
		top := p.y + (int(t.Y)+row)*p.scale
		if top >= p.clip.Max.Y || top+p.scale <= p.clip.Min.Y {
			continue
		}
		tiles := t.Data[row*int(t.Columns*t.BytesPerTile):][:t.Columns*t.BytesPerTile]
		first := max(0, (p.clip.Min.X-p.x)/p.scale-1-int(t.X))
		for column := first; column < int(t.Columns); column++ {
			left := p.x + (int(t.X)+column)*p.scale
			if left >= p.clip.Max.X {
				break
			}
			if at := column * int(t.BytesPerTile); tiles[at] != datafile.AirTile {
				p.tile(left, top, tiles[at], tiles[at+1]&(mirroredX|mirroredY|turned))
			}
		}
	}
}

// tile paints a tile at a pixel.
func (p *tilePainter) tile(left, top int, index, flags byte) {
	sprite := p.sprite(index, flags)
	area := image.Rect(left, top, left+p.scale, top+p.scale).Intersect(p.clip)
	if sprite == nil || area.Empty() {
		return
	}
	if p.left -= int64(area.Dx()) * int64(area.Dy()); p.left < 0 {
		return
	}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		from := sprite[(y-top)*p.scale:]
		to := p.picture.Pix[p.picture.PixOffset(area.Min.X, y):]
		for x := area.Min.X; x < area.Max.X; x++ {
			blend(to[4*(x-area.Min.X):], from[x-left])
		}
	}
}

// sprite returns the pixels of a tile, or nil if the image has no such tile.
func (p *tilePainter) sprite(index, flags byte) []rgba {
	key := [2]byte{index, flags}
	if sprite, ok := p.sprites[key]; ok {
		return sprite
	}
	p.sprites[key] = nil
	set := p.sets[index]
	if set == nil {
		width, height := max(1, p.image.width()>>4), max(1, p.image.height()>>4)
		if set = p.image.part(int(index&15)*width, int(index>>4)*height, width, height); set == nil {
			return nil
		}
		p.sets[index] = set
	}
	sprite := make([]rgba, p.scale*p.scale)
	level := math.Log2(float64(max(set.width(), set.height())) / float64(p.scale))
	for i := range sprite {
		u, v := (float64(i%p.scale)+p.fx)/float64(p.scale), (float64(i/p.scale)+p.fy)/float64(p.scale)
		if flags&turned != 0 {
			u, v = v, 1-u
		}
		if flags&mirroredX != 0 {
			u = 1 - u
		}
		if flags&mirroredY != 0 {
			v = 1 - v
		}
		sprite[i] = tint(set.at(u, v, level, false), p.colour)
	}
	p.sprites[key] = sprite
	return sprite
}

// tint multiplies a colour that is multiplied by alpha by one that is not.
func tint(c, by rgba) rgba {
	return rgba{c[0] * by[0] * by[3], c[1] * by[1] * by[3], c[2] * by[2] * by[3], c[3] * by[3]}
}

// quadPainter paints a layer of quads.
type quadPainter struct {
	*designer
	view

	image *texture // nil for none
}

func (d *designer) quads(l *datafile.QuadLayer) *quadPainter {
	return &quadPainter{designer: d, view: d.view(l.Group), image: d.images[l.Image]}
}

// corner is a corner of a quad, with values that are interpolated over it.
type corner struct {
	x, y   float64 // in pixels
	u, v   float64
	colour rgba
}

const fixed = 1024 // fixed-point numbers of maps have 10 fractional bits

func (p *quadPainter) paint(q *datafile.Quad) {
	moved := p.envelope(q.PositionEnvelope, q.PositionEnvelopeOffsetMs, [4]float64{})
	colour := p.envelope(q.ColorEnvelope, q.ColorEnvelopeOffsetMs, [4]float64{1, 1, 1, 1})
	sin, cos := math.Sincos(moved[2] / 180 * math.Pi)
	pivot := q.Points[4]
	var corners [4]corner
	for i := range corners {
		x, y := float64(int64(q.Points[i].X)-int64(pivot.X))/fixed, float64(int64(q.Points[i].Y)-int64(pivot.Y))/fixed
		corners[i] = corner{
			x: (x*cos-y*sin+float64(pivot.X)/fixed+moved[0])*p.unit + p.dx,
			y: (x*sin+y*cos+float64(pivot.Y)/fixed+moved[1])*p.unit + p.dy,
			u: float64(q.Texture[i].X) / fixed, v: float64(q.Texture[i].Y) / fixed,
			colour: rgbaOf(q.Colors[i]).times(colour),
		}
	}
	p.triangle(corners[0], corners[1], corners[2])
	p.triangle(corners[1], corners[2], corners[3])
}

// edge tells on which side of the line from a to b a point is. It is positive on the inner side of triangles.
func edge(a, b *corner, x, y float64) float64 { return (b.x-a.x)*(y-a.y) - (b.y-a.y)*(x-a.x) }

// owns reports whether a pixel with its centre on the edge from a to b belongs to the triangle. Of two triangles that share the
// edge, one owns the pixel.
func owns(a, b *corner) bool { return b.y < a.y || b.y == a.y && b.x > a.x }

func (p *quadPainter) triangle(a, b, c corner) {
	area := edge(&a, &b, c.x, c.y)
	if area < 0 {
		b, c, area = c, b, -area
	}
	if area == 0 || math.IsNaN(area) || math.IsInf(area, 0) {
		return
	}
	bound := func(f func(float64) float64, v float64, low, high int) int {
		return int(min(max(f(v), float64(low)), float64(high)))
	}
	box := image.Rect(
		bound(math.Floor, min(a.x, b.x, c.x), p.clip.Min.X, p.clip.Max.X), bound(math.Floor, min(a.y, b.y, c.y), p.clip.Min.Y, p.clip.Max.Y),
		bound(math.Ceil, max(a.x, b.x, c.x), p.clip.Min.X, p.clip.Max.X), bound(math.Ceil, max(a.y, b.y, c.y), p.clip.Min.Y, p.clip.Max.Y))
	if p.left -= int64(box.Dx()) * int64(box.Dy()); p.left < 0 {
		return
	}
	corners := [3]*corner{&a, &b, &c}
	sides := [3][2]*corner{{&b, &c}, {&c, &a}, {&a, &b}} // each is opposite the corner of its number
	level := p.level(corners, sides, area)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			var at corner
			inside := true
			for i, side := range sides {
				w := edge(side[0], side[1], float64(x)+0.5, float64(y)+0.5)
				if w < 0 || w == 0 && !owns(side[0], side[1]) {
					inside = false
					break
				}
				w /= area
				at.u += w * corners[i].u
				at.v += w * corners[i].v
				for k := range at.colour {
					at.colour[k] += float32(w) * corners[i].colour[k]
				}
			}
			if !inside {
				continue
			}
			pixel := rgba{1, 1, 1, 1}
			if p.image != nil {
				pixel = p.image.at(at.u, at.v, level, true)
			}
			blend(p.picture.Pix[p.picture.PixOffset(x, y):], tint(pixel, at.colour))
		}
	}
}

// level returns the level of detail of the image for a triangle: the logarithm of the number of image pixels per pixel of the
// picture.
func (p *quadPainter) level(corners [3]*corner, sides [3][2]*corner, area float64) float64 {
	if p.image == nil {
		return 0
	}
	var ux, uy, vx, vy float64
	for i, side := range sides {
		wx, wy := -(side[1].y-side[0].y)/area, (side[1].x-side[0].x)/area
		ux, uy = ux+wx*corners[i].u, uy+wy*corners[i].u
		vx, vy = vx+wx*corners[i].v, vy+wy*corners[i].v
	}
	width, height := float64(p.image.width()), float64(p.image.height())
	return math.Log2(max(math.Hypot(ux*width, vx*height), math.Hypot(uy*width, vy*height)))
}

// envelope returns the values of an envelope at a time in milliseconds, or otherwise if there is no such envelope.
func (d *designer) envelope(index, ms int32, otherwise [4]float64) [4]float64 {
	if index < 0 || int(index) >= len(d.envelopes) {
		return otherwise
	}
	e := &d.envelopes[index]
	if e.FirstPoint < 0 || e.NumPoints <= 0 || int64(e.FirstPoint) >= int64(len(d.points)) {
		return otherwise
	}
	points := d.points[e.FirstPoint:min(int64(len(d.points)), int64(e.FirstPoint)+int64(e.NumPoints))]
	values := func(p *datafile.EnvelopePoint) (v [4]float64) {
		for i := range min(len(v), len(p.Values)) {
			v[i] = float64(p.Values[i]) / fixed
		}
		return v
	}
	last := &points[len(points)-1]
	if len(points) == 1 || last.TimeMs <= 0 {
		return values(&points[0])
	}
	now := ((ms % last.TimeMs) + last.TimeMs) % last.TimeMs
	next := slices.IndexFunc(points, func(p datafile.EnvelopePoint) bool { return p.TimeMs > now })
	switch next {
	case -1:
		return values(last)
	case 0:
		return values(&points[0])
	}
	a, b := &points[next-1], &points[next]
	part := float64(int64(now)-int64(a.TimeMs)) / max(1, float64(int64(b.TimeMs)-int64(a.TimeMs)))
	switch a.Curve {
	case datafile.CurveStep:
		part = 0
	case datafile.CurveSlow:
		part = part * part * part
	case datafile.CurveFast:
		part = 1 - (1-part)*(1-part)*(1-part)
	case datafile.CurveSmooth:
		part = part * part * (3 - 2*part)
	}
	from, to := values(a), values(b)
	for i := range from {
		rise, progress := to[i]-from[i], part
		if a.Curve == datafile.CurveBezier && a.HasBezier && b.HasBezier && rise != 0 {
			progress = bezier(a, b, i, part, rise)
		}
		from[i] += rise * progress
	}
	return from
}

// bezier returns how far the value of a channel has risen after a part of the time between two points.
func bezier(a, b *datafile.EnvelopePoint, channel int, part, rise float64) float64 {
	of := func(list []int32) float64 {
		if channel < len(list) {
			return float64(list[channel])
		}
		return 0
	}
	span := max(1, float64(int64(b.TimeMs)-int64(a.TimeMs)))
	x1, x2 := min(1, max(0, of(a.Bezier.OutDxMs)/span)), min(1, max(0, 1+of(b.Bezier.InDxMs)/span))
	y1, y2 := of(a.Bezier.OutDy)/fixed/rise, 1+of(b.Bezier.InDy)/fixed/rise
	cubic := func(p1, p2, t float64) float64 { return 3*(1-t)*(1-t)*t*p1 + 3*(1-t)*t*t*p2 + t*t*t }
	low, high := 0.0, 1.0
	for range 20 {
		if middle := (low + high) / 2; cubic(x1, x2, middle) < part {
			low = middle
		} else {
			high = middle
		}
	}
	return cubic(y1, y2, (low+high)/2)
}
