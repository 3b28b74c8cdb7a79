package index_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(storeVariable); path != "" {
		storeUntilKilled(path)
	}
	goleak.VerifyTestMain(m)
}
