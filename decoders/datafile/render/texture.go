package render

import (
	"image"
	"image/draw"
	"math"
)

// texture is an image at several levels of detail. Each level has half the width and height of the previous one.
type texture struct{ levels []*image.RGBA }

func newTexture(width, height int) *texture {
	return &texture{[]*image.RGBA{image.NewRGBA(image.Rect(0, 0, width, height))}}
}

func textureOf(from image.Image) *texture {
	t := newTexture(from.Bounds().Dx(), from.Bounds().Dy())
	draw.Draw(t.levels[0], t.levels[0].Rect, from, from.Bounds().Min, draw.Src)
	return t
}

func (t *texture) width() int  { return t.levels[0].Rect.Dx() }
func (t *texture) height() int { return t.levels[0].Rect.Dy() }

// put sets pixels of an image from an offset of its data on. The data has 4 bytes for each pixel, or 3 without alpha. Pieces may
// end within a pixel, so alpha is multiplied in once all channels of a pixel are there.
func (t *texture) put(offset int, data []byte, alpha bool) {
	pix := t.levels[0].Pix
	stride := 3
	if alpha {
		stride = 4
	}
	for i, v := range data {
		at := (offset+i)/stride*4 + (offset+i)%stride
		if at >= len(pix) {
			return
		}
		pix[at] = v
		if (offset+i)%stride != stride-1 {
			continue
		}
		pixel := pix[at&^3:][:4]
		if !alpha {
			pixel[3] = 255
			continue
		}
		for k := range 3 {
			pixel[k] = uint8((uint(pixel[k])*uint(v) + 127) / 255)
		}
	}
}

// part returns a part of the image as a separate texture, or nil if it is not within the image.
func (t *texture) part(x, y, width, height int) *texture {
	r := image.Rect(x, y, x+width, y+height)
	if !r.In(t.levels[0].Rect) {
		return nil
	}
	part := newTexture(width, height)
	draw.Draw(part.levels[0], part.levels[0].Rect, t.levels[0], r.Min, draw.Src)
	return part
}

// level returns a level of detail, or the last one if there are fewer.
func (t *texture) level(n int) *image.RGBA {
	for n >= len(t.levels) {
		last := t.levels[len(t.levels)-1]
		if last.Rect.Dx() == 1 && last.Rect.Dy() == 1 {
			return last
		}
		half := image.NewRGBA(image.Rect(0, 0, max(1, last.Rect.Dx()/2), max(1, last.Rect.Dy()/2)))
		for i := range half.Pix {
			x, y, channel := i/4%half.Rect.Dx(), i/4/half.Rect.Dx(), i%4
			sum := 0
			for k := range 4 {
				sum += int(last.Pix[last.PixOffset(min(2*x+k&1, last.Rect.Dx()-1), min(2*y+k>>1, last.Rect.Dy()-1))+channel])
			}
			half.Pix[i] = uint8((sum + 2) / 4)
		}
		t.levels = append(t.levels, half)
	}
	return t.levels[n]
}

// at returns the colour, multiplied by alpha, at a point between 0 and 1 in the image, at a level of detail. Beyond the image,
// the image repeats, or its edge continues.
func (t *texture) at(u, v, level float64, repeat bool) rgba {
	if !(level > 0) {
		return linear(t.level(0), u, v, repeat)
	}
	level = min(level, 31)
	low := math.Floor(level)
	a, b := linear(t.level(int(low)), u, v, repeat), linear(t.level(int(low)+1), u, v, repeat)
	part := float32(level - low)
	for i := range a {
		a[i] += (b[i] - a[i]) * part
	}
	return a
}

// linear interpolates between the four nearest pixels.
func linear(from *image.RGBA, u, v float64, repeat bool) (c rgba) {
	width, height := from.Rect.Dx(), from.Rect.Dy()
	if repeat {
		u, v = u-math.Floor(u), v-math.Floor(v)
	}
	x, y := u*float64(width)-0.5, v*float64(height)-0.5
	x0, y0 := int(math.Floor(x)), int(math.Floor(y))
	fx, fy := float32(x-float64(x0)), float32(y-float64(y0))
	for k, weight := range [4]float32{(1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy} {
		pixel := from.Pix[4*(within(y0+k>>1, height, repeat)*width+within(x0+k&1, width, repeat)):]
		for i := range c {
			c[i] += weight * float32(pixel[i]) / 255
		}
	}
	return c
}

// within returns the pixel to show for a coordinate that may be beyond the edge.
func within(at, size int, repeat bool) int {
	if repeat {
		return ((at % size) + size) % size
	}
	return min(max(at, 0), size-1)
}
