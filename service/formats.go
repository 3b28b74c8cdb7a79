package service

import (
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/codec/datafile"
	"github.com/replayd/replayd/service/codec/dem"
	"github.com/replayd/replayd/service/codec/sc2replay"
	"github.com/replayd/replayd/service/codec/teehistorian"
)

// codecs holds the formats that are decoded.
var codecs = []*codec.Codec{
	&teehistorian.Codec,
	&datafile.Codec,
	&dem.Codec,
	&sc2replay.Codec,
}

// Codecs returns the formats that are decoded. The slice is not to be changed.
func Codecs() []*codec.Codec { return codecs }
