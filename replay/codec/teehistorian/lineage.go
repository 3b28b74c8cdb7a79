package teehistorian

import (
	"strconv"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
)

// lineage returns the game's lineage from its header. Since DDNet 17.3 a file names the file before it of the same server
// process. See docs/following.md.
func lineage(r *replaydv1.Replay) codec.Lineage {
	h := r.GetTeehistorian()
	l := codec.Lineage{Server: h.GetServerName() + ":" + strconv.Itoa(int(h.GetServerPort()))}
	if h.GetPrevGameUuid() != "" {
		l.Previous = scheme + h.GetPrevGameUuid()
	}
	return l
}
