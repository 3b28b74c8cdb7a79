package datafiletest

import (
	"bytes"
	"encoding/binary"

	"github.com/replayd/replayd/decoders/datafile"
)

// packText packs a text into n integers. Its last byte is always 0.
func packText(text string, n int) []int32 {
	packed := make([]int32, n)
	for i := range packed {
		var v uint32
		for j := range 4 {
			var c byte
			if at := 4*i + j; at < len(text) && at < 4*n-1 {
				c = text[at]
			}
			v = v<<8 | uint32(c)
		}
		packed[i] = int32(v ^ 0x80808080)
	}
	packed[n-1] &^= 0xff // editors store the last byte as 0
	return packed
}

// packRuns stores each run of equal tiles as one tile with a run length.
func packRuns(tiles []byte) []byte {
	var packed []byte
	for len(tiles) >= tileBytes {
		run := 1
		for run < 256 && len(tiles) >= (run+1)*tileBytes &&
			bytes.Equal(tiles[:tileBytes], tiles[run*tileBytes:(run+1)*tileBytes]) {
			run++
		}
		packed = append(packed, tiles[0], tiles[1], byte(run-1), tiles[3])
		tiles = tiles[run*tileBytes:]
	}
	return packed
}

func appendQuad(b []byte, q *datafile.Quad) []byte {
	for i := range 5 {
		b = appendInt(b, q.Points[i].X, q.Points[i].Y)
	}
	for i := range 4 {
		b = appendInt(b, q.Colors[i].R, q.Colors[i].G, q.Colors[i].B, q.Colors[i].A)
	}
	for i := range 4 {
		b = appendInt(b, q.Texture[i].X, q.Texture[i].Y)
	}
	return appendInt(b, q.PositionEnvelope, q.PositionEnvelopeOffsetMs, q.ColorEnvelope, q.ColorEnvelopeOffsetMs)
}

func appendSource(b []byte, s *datafile.SoundSource, deprecated bool) []byte {
	b = appendInt(b, s.Position.X, s.Position.Y, flag(s.Loop))
	if deprecated {
		return appendInt(b, s.DelayS, s.Radius, s.PositionEnvelope, s.PositionEnvelopeOffsetMs, s.SoundEnvelope,
			s.SoundEnvelopeOffsetMs)
	}
	b = appendInt(b, flag(s.Pan), s.DelayS, s.Falloff, s.PositionEnvelope, s.PositionEnvelopeOffsetMs, s.SoundEnvelope,
		s.SoundEnvelopeOffsetMs, int32(s.Shape)-1)
	if s.Shape == datafile.SoundShapeCircle {
		return appendInt(b, s.Radius, 0)
	}
	return appendInt(b, s.Width, s.Height)
}

func appendInt(b []byte, values ...int32) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func flag(set bool) int32 {
	if set {
		return 1
	}
	return 0
}
