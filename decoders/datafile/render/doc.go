// Package render draws maps: the tiles that affect play, one colour per kind of tile. It uses neither the map's nor the
// game's images, so the picture shows how a map plays rather than how it looks.
package render
