package teehistorian

import (
	"strconv"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/encode"
)

// lineage is what a header tells of the games before. Since DDNet 17.3 a file names the one before it in the same server
// process; see docs/following.md.
func lineage(r *replaydv1.Replay) encode.Lineage {
	h := r.GetTeehistorian()
	l := encode.Lineage{Server: h.GetServerName() + ":" + strconv.Itoa(int(h.GetServerPort()))}
	if h.GetPrevGameUuid() != "" {
		l.Previous = scheme + h.GetPrevGameUuid()
	}
	return l
}
