package playcast

import "testing"

// LimitBodies limits bodies for the rest of a test.
func LimitBodies(t *testing.T, bytes int64) {
	t.Helper()
	usual := maxBody
	maxBody = bytes
	t.Cleanup(func() { maxBody = usual })
}
