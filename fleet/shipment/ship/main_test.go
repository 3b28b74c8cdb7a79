package ship_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A server of NATS leaves these goroutines of a stream that was made while the server stopped (nats-server 2.15.2).
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"),
		goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"))
}
