package render

import (
	"image/color"
	"math"
)

// colors are the colours of the most important tiles.
var colors = map[int]color.RGBA{
	0:   rgb(0x1d2128), // air
	1:   rgb(0x9a8463), // solid
	2:   rgb(0xd0342c), // death
	3:   rgb(0x5b6b7f), // unhookable
	4:   rgb(0xa34a6b), // no laser
	5:   rgb(0x7d9460), // hook through, cut
	6:   rgb(0x6d8a4f), // hook through
	9:   rgb(0x4a78c8), // freeze
	11:  rgb(0xa8d8a0), // unfreeze
	12:  rgb(0x2f4fa0), // deep freeze
	13:  rgb(0x7fbf9a), // deep unfreeze
	26:  rgb(0x9b5de5), // tele in
	27:  rgb(0xd4a6ff), // tele out
	33:  rgb(0x3fd65c), // start
	34:  rgb(0xf5c945), // finish
	60:  rgb(0xe07a3f), // stopper
	61:  rgb(0xe07a3f), // two-way stopper
	62:  rgb(0xe07a3f), // stopper for all directions
	144: rgb(0x3a66b8), // live freeze
	192: rgb(0xff71ce), // spawn
	193: rgb(0xff5b5b), // red spawn
	194: rgb(0x5b8bff), // blue spawn
	195: rgb(0xb30000), // red flag stand
	196: rgb(0x0033b3), // blue flag stand
	197: rgb(0x8fd3ff), // armor
	198: rgb(0xff8fa3), // health
	240: rgb(0xb5651d), // door
}

func rgb(v uint32) color.RGBA { return color.RGBA{byte(v >> 16), byte(v >> 8), byte(v), 0xff} }

// Palette returns the colour of each kind of tile, by its index. In layers whose tiles have a type, the index is the
// type. Air is 0.
func Palette() color.Palette {
	p := make(color.Palette, 256)
	for i := range p {
		if c, ok := colors[i]; ok {
			p[i] = c
		} else {
			p[i] = spread(i)
		}
	}
	return p
}

// spread returns a different bright colour for each index. Neighbours differ strongly, because hues follow the golden
// angle.
func spread(i int) color.RGBA {
	const goldenAngle, value, saturation = 137.508, 0.92, 0.55
	hue := math.Mod(float64(i)*goldenAngle, 360) / 60
	channel := func(shift float64) byte {
		k := math.Mod(shift+hue, 6)
		return byte(255 * (value - value*saturation*max(0, min(k, 4-k, 1))))
	}
	return color.RGBA{channel(5), channel(3), channel(1), 0xff}
}
