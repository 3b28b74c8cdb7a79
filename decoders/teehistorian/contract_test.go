package teehistorian_test

import (
	"bytes"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// TestContract checks what this decoder has in common with the others.
func TestContract(t *testing.T) {
	const path = "../../testdata/teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"
	decodertest.Contract(t, decoders.Teehistorian, path, func(data []byte) (decoders.Decoder[teehistorian.Event], error) {
		return teehistorian.New(bytes.NewReader(data), teehistorian.Options{}), nil
	})
}
