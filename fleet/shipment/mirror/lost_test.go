package mirror_test

import (
	"context"
	"net"
	"regexp"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/fleet/shipment/shipmenttest"
)

// unheard is a connection on which a server never hears that a lost consumer is to be made again under its next name, as of a server of a
// cluster that was chosen for that name and does not answer.
type unheard struct{ net.Conn }

var again = regexp.MustCompile(`CONSUMER\.CREATE(\.[^ ]*_2[. ])`)

func (u unheard) Write(b []byte) (int, error) {
	_, err := u.Conn.Write(again.ReplaceAll(b, []byte("CONSUMER.CREATX$1")))
	return len(b), err
}

func (unheard) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return unheard{c}, err
}

// TestConsumerLost: reading goes on after the server has lost the consumer, and does not answer when it is asked for it again.
func TestConsumerLost(t *testing.T) {
	t.Parallel()
	server := shipmenttest.Serve(t)
	conn := shipmenttest.Connect(t, server.URL)
	game := send(t, shipmenttest.Open(t, conn), "s1", "a").begin("before")
	deaf, err := nats.Connect(server.URL, nats.SetCustomDialer(unheard{}), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	m, end := begin(t, deaf, nil)
	defer end()
	has(t, m, "s1/a", "before")
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), shipmenttest.Patience)
	defer cancel()
	stream, err := js.Stream(ctx, shipment.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for name := range stream.ConsumerNames(ctx).Name() {
		if err := stream.DeleteConsumer(ctx, name); err != nil {
			t.Fatal(err)
		}
		lost++
	}
	if lost == 0 {
		t.Fatal("nobody reads the stream")
	}
	game.add(", behind")
	has(t, m, "s1/a", "before, behind")
}
