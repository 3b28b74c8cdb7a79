package dem_test

import (
	"bytes"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem"
)

// TestContract checks what this decoder has in common with the others.
func TestContract(t *testing.T) {
	const path = "../../testdata/dem/sample.dem"
	decodertest.Contract(t, decoders.Dem, path, func(data []byte) (decoders.Decoder[dem.Event], error) {
		return dem.New(bytes.NewReader(data), dem.Options{}), nil
	})
}
