package playcast

import (
	"testing"
	"time"
)

// LimitBodies limits bodies for the rest of a test.
func LimitBodies(t *testing.T, bytes int64) {
	t.Helper()
	usual := maxBody
	maxBody = bytes
	t.Cleanup(func() { maxBody = usual })
}

// Linger sets how long refused broadcasts stay for the rest of a test.
func Linger(t *testing.T, d time.Duration) {
	t.Helper()
	usual := linger
	linger = d
	t.Cleanup(func() { linger = usual })
}
