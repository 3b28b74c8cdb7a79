package service

import (
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/encode/datafile"
	"github.com/replayd/replayd/service/encode/dem"
	"github.com/replayd/replayd/service/encode/sc2replay"
	"github.com/replayd/replayd/service/encode/teehistorian"
)

// codecs holds the formats that are decoded.
var codecs = []*encode.Codec{
	&teehistorian.Codec,
	&datafile.Codec,
	&dem.Codec,
	&sc2replay.Codec,
}

// Codecs returns the formats that are decoded. The slice is not to be changed.
func Codecs() []*encode.Codec { return codecs }
