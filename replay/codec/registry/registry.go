// Package registry is the single list of the formats that the daemon decodes. All other packages find the formats here. Only
// this package and a format's own folders import a format.
package registry

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/datafile"
	"github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/codec/sc2replay"
	"github.com/replayd/replayd/replay/codec/teehistorian"
)

// Codecs returns the codecs of all formats, in the order of the formats' numbers. The caller owns the slice, but must not
// modify the codecs.
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
