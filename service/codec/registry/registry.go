// Package registry is the one list of the formats that the daemon decodes. Everything else finds them here; nothing but
// this package and a format's own folders imports a format.
package registry

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/codec/datafile"
	"github.com/replayd/replayd/service/codec/dem"
	"github.com/replayd/replayd/service/codec/sc2replay"
	"github.com/replayd/replayd/service/codec/teehistorian"
)

// Codecs returns the codecs of all formats, by the order of the formats' numbers. The caller owns the slice, but not the
// codecs, which must not be changed.
func Codecs() []*codec.Codec {
	return []*codec.Codec{
		&teehistorian.Codec,
		&datafile.Codec,
		&dem.Codec,
		&sc2replay.Codec,
	}
}

// Of returns the codec of a format, and nil for decoders.Unknown.
func Of(f decoders.Format) *codec.Codec {
	for _, c := range Codecs() {
		if c.Format == f {
			return c
		}
	}
	return nil
}
