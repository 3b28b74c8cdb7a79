package datafile_test

import (
	"bytes"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/decodertest"
)

// TestContract checks what this decoder has in common with the others.
func TestContract(t *testing.T) {
	const path = "../../testdata/datafile/sample.map"
	decodertest.Contract(t, decoders.Datafile, path, func(data []byte) (decoders.Decoder[datafile.Event], error) {
		f, err := datafile.Open(bytes.NewReader(data), int64(len(data)), datafile.DefaultLimits)
		if err != nil {
			return nil, err
		}
		return f.Events(datafile.Options{}), nil
	})
}
