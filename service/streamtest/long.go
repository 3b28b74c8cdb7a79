package streamtest

import "testing"

// SkipLong skips a test with the race detector, which makes it take ten times as long and finds nothing more in it. Packages
// with such tests are tested without the detector, too; see the Makefile.
func SkipLong(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("too long with the race detector")
	}
}
