package verify

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
	"github.com/replayd/replayd/replay/tiles"
)

// ErrOtherMap means that a map is not that of the recording.
var ErrOtherMap = errors.New("it is not the map of the recording")

// ReadMap reads a map, which must be that of the recording. The error for another one wraps ErrOtherMap.
func ReadMap(path string, h *teehistorian.Header) (_ *physics.Map, err error) {
	sum, err := tiles.Sum(path)
	if err != nil {
		return nil, err
	}
	if h.MapSHA256 != "" && !strings.EqualFold(sum, h.MapSHA256) {
		return nil, fmt.Errorf("%w: its SHA-256 is %s, not %s", ErrOtherMap, sum, h.MapSHA256)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return tiles.Open(file, info.Size())
}
