package entity

import (
	"bytes"
	"testing"

	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// TestImage: a state that is made of an image is the one that the image was made of, with what is open in it.
func TestImage(t *testing.T) {
	var s State
	for _, open := range []bool{false, true} {
		for _, c := range []value.Cell{
			{Kind: value.Int, Word: ^uint64(2)}, {}, {Kind: value.Uint, Word: 1 << 63}, {}, {}, {Kind: value.Bool}, {Kind: value.Float, Word: 3 << 23},
			{Kind: value.Vector, Word: 5 << 40, Z: 7}, {Kind: value.Length, Word: 3}, {Kind: value.Pointer, Word: 2},
		} {
			c.Open = open && c.Kind != value.None
			s.Cells = append(s.Cells, c)
		}
		for _, kind := range []value.Kind{value.Text, value.Tuple, value.Blob} {
			s.addBytes([]byte("bytes"))
			s.Cells = append(s.Cells, value.Cell{Kind: kind, Word: uint64(len(s.bytes) - 1), Open: open})
		}
	}
	var m Imager
	var slab Slab
	about := About{Index: 3, Class: 4}
	image := m.Image(&s, about, nil)
	got := image.State(&slab)
	for i, c := range s.Cells {
		if got.Cells[i] != c || !bytes.Equal(got.Data(&got.Cells[i]), s.Data(&c)) {
			t.Errorf("cell %d is %+v, not %+v", i, got.Cells[i], c)
		}
	}
	if m.Image(&s, about, image) != image {
		t.Error("an image is made again of what did not change")
	}
	s.Cells[0].Open = true
	if m.Image(&s, about, image) == image {
		t.Error("a value that is open now does not change the image")
	}
}

// TestOpenText: a text is open if the one that was set last is.
func TestOpenText(t *testing.T) {
	var s State
	n := &Node{Cell: 0}
	for _, open := range []bool{false, true, false} {
		s.set(&Class{Cells: 1}, n, value.Cell{Kind: value.Text, Open: open}, []byte("text"), nil)
		if c := s.At(0); c.Open != open || string(s.Data(c)) != "text" {
			t.Errorf("open %v: %+v, %q", open, *c, s.Data(c))
		}
	}
}
