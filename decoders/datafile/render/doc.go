// Package render draws maps. Map draws the tiles that affect play, one colour per kind of tile. It uses neither the map's nor
// the game's images, so the picture shows how a map plays. Design draws how a map looks: its designed layers, with their images.
package render
