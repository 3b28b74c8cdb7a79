package teehistorian

import (
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// succeeds tells whether candidate can be the game that the same server process, or the next one on its port, recorded
// after of. Since DDNet 17.3 a file names the one before it; a file that names none begins a process, or is older, and
// then the server's port and name and the time must do (docs/formats/teehistorian.md, "Growing files").
func succeeds(of, candidate *replaydv1.Replay) bool {
	a, b := of.GetTeehistorian(), candidate.GetTeehistorian()
	switch {
	case a == nil || b == nil || a.GetGameUuid() == b.GetGameUuid():
		return false
	case b.GetPrevGameUuid() != "":
		return b.GetPrevGameUuid() == a.GetGameUuid()
	case a.GetServerPort() != b.GetServerPort() || a.GetServerName() != b.GetServerName():
		return false
	}
	at, bt := a.GetStartTime(), b.GetStartTime()
	return at != nil && bt != nil && !bt.AsTime().Before(at.AsTime())
}
