package teehistorian

import (
	"strconv"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/codec"
)

// lineage is what a header says of the games before. Since DDNet 17.3 a file names the one before it in the same server
// process; see docs/following.md.
func lineage(r *replaydv1.Replay) codec.Lineage {
	h := r.GetTeehistorian()
	l := codec.Lineage{Server: h.GetServerName() + ":" + strconv.Itoa(int(h.GetServerPort()))}
	if h.GetPrevGameUuid() != "" {
		l.Previous = scheme + h.GetPrevGameUuid()
	}
	return l
}
