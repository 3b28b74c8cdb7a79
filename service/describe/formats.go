package describe

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/registry"
)

// codecs holds the codecs of all formats. Only tests replace it.
var codecs = registry.Codecs()

// Codecs returns the codecs of all formats. The slice must not be modified.
func Codecs() []*codec.Codec { return codecs }

// Named returns the codec of a format, nil if there is none of that name.
func Named(format string) *codec.Codec {
	for _, c := range codecs {
		if c.Format.String() == format {
			return c
		}
	}
	return nil
}

// TableVersion returns a short text that changes when the tables of a format do.
func TableVersion(format string) string {
	if c := Named(format); c != nil {
		return c.Tables.Version()
	}
	return "unknown format " + format
}

// SetCodecs replaces the codecs of all formats until restore is called. Only tests call it.
func SetCodecs(c ...*codec.Codec) (restore func()) {
	before := codecs
	codecs = c
	return func() { codecs = before }
}

// CodecOf returns the codec of a format.
func CodecOf(f decoders.Format) (*codec.Codec, error) {
	for _, c := range codecs {
		if c.Format == f {
			return c, nil
		}
	}
	return nil, decoders.Errorf(f, 0, decoders.NoTick, "file", decoders.ErrUnsupported, "this format is not decoded yet")
}
