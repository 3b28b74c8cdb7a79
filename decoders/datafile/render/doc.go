// Package render draws maps: the tiles that affect play, one colour per kind of tile. It needs no images, neither the
// map's nor the game's, so it shows what a map is like to play rather than how it looks.
package render
