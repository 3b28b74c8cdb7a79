package publish_test

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/fleet/publish"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// A consumer that knows a replay's identity and name subscribes to its subject.
func ExampleSubject() {
	fmt.Println(publish.Subject(publish.DefaultSubject, "dem:sha256:4fa0", "ddnet/a b.dem"))
	fmt.Println(publish.Name("ddnet.a%20b%2Edem"))
	// Output:
	// replayd.events.dem:sha256:4fa0.ddnet.a%20b%2Edem
	// ddnet/a b.dem true
}

// A publisher puts the finishes below a directory into NATS, until its context ends. It needs a daemon and a NATS server, so this
// example is not run.
func ExamplePublisher_Directory() { //nolint:testableexamples // as said
	ctx := context.Background()
	daemon, err := client.Dial("localhost:7171")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = daemon.Close() }()
	conn, err := nats.Connect("nats://localhost:4222", nats.ReconnectBufSize(-1), nats.MaxReconnects(-1))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	request := &replaydv1.StreamEventsRequest{Include: client.Kinds("player_finish", "team_finish")}
	p, err := publish.Open(ctx, daemon, conn, publish.Options{Request: request})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Directory(ctx, "ddnet"))
}
