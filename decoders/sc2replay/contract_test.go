package sc2replay_test

import (
	"bytes"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/sc2replay"
)

// TestContract checks what this decoder has in common with the others.
func TestContract(t *testing.T) {
	const path = "../../testdata/sc2replay/5.0.SC2Replay"
	decodertest.Contract(t, decoders.SC2Replay, path, func(data []byte) (decoders.Decoder[sc2replay.Event], error) {
		f, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		return f.Events(sc2replay.Options{}), nil
	})
}
