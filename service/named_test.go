package service_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
)

// TestNamed: a call without a token goes on behind what was acknowledged, ends the call before it, and has the same conditions; another
// daemon with the same files goes on, and a name that was removed begins anew.
func TestNamed(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	for number := 1; number <= 3; number++ {
		write(t, filepath.Join(dir, fmt.Sprint(number, ".teehistorian")), gameOf{number: number, server: "a"}.data(t))
	}
	d := start(t, dir, keepsNames(state))
	always := func() bool { return true }
	request := func() *replaydv1.SubscribeEventsRequest {
		return &replaydv1.SubscribeEventsRequest{
			Subscription: "all", Parallel: 1, Options: &replaydv1.StreamEventsRequest{HeartbeatInterval: durationpb.New(1e9)},
		}
	}
	first := newSubscriber(t, request())
	ended := make(chan error)
	ctx, cancel := context.WithCancel(timeout(t))
	defer cancel()
	acknowledged := false
	reached := make(chan struct{})
	go func() {
		ended <- first.run(ctx, d.client, func() bool { return len(first.ended) < 2 }, func() bool {
			if len(first.ended) == 1 && !acknowledged {
				acknowledged = true
				if _, err := d.client.AcknowledgeEvents(ctx, first.acknowledgement()); err != nil {
					t.Error(err)
				}
				close(reached)
			}
			return false
		})
	}()
	<-reached
	second := newSubscriber(t, request())
	if err := second.run(timeout(t), d.client, always, func() bool { return len(second.ended) == 2 }); err != nil {
		t.Error(err)
	}
	if f := explainFailure(t, <-ended); f.reason != "TAKEN_OVER" || f.code != codes.Aborted {
		t.Errorf("the first call ended with %+v", f)
	}
	for of := range second.ended {
		if len(second.replays) == 3 && len(first.ended) == 1 && first.ended[of] {
			t.Errorf("%s comes again, which was acknowledged", of)
		}
	}
	if _, err := d.client.AcknowledgeEvents(timeout(t), second.acknowledgement()); err != nil {
		t.Error(err)
	}
	if n := d.meter(t, "replayd_named_subscriptions", ""); n != 1 {
		t.Errorf("%v named subscriptions", n)
	}
	d.stop()

	d = start(t, dir, keepsNames(state))
	third := newSubscriber(t, request())
	if err := third.run(timeout(t), d.client, always, func() bool { return third.last != nil }); err != nil || len(third.replays) != 0 {
		t.Errorf("%v; %d replays come again", err, len(third.replays))
	}
	other := request()
	other.Directory = name()
	if err := newSubscriber(t, other).run(timeout(t), d.client, always, always); explainFailure(t, err).reason != "TOKEN_MISMATCH" {
		t.Errorf("other conditions: %v", err)
	}
	if _, err := d.client.DeleteSubscription(timeout(t), &replaydv1.DeleteSubscriptionRequest{Subscription: "all"}); err != nil {
		t.Error(err)
	}
	_, err := d.client.DeleteSubscription(timeout(t), &replaydv1.DeleteSubscriptionRequest{Subscription: "all"})
	if f := explainFailure(t, err); f.reason != "SUBSCRIPTION_NOT_FOUND" || f.code != codes.NotFound {
		t.Error(err)
	}
	if err := newSubscriber(t, third.request).run(timeout(t), d.client, always, always); explainFailure(t, err).field != "token" {
		t.Errorf("the token of a name that was removed: %v", err)
	}
	fourth := newSubscriber(t, request())
	if err := fourth.run(timeout(t), d.client, always, func() bool { return len(fourth.ended) == 3 }); err != nil {
		t.Error(err)
	}
}

// TestNamedNowhere: a daemon that keeps no names says so.
func TestNamedNowhere(t *testing.T) {
	d := start(t, t.TempDir())
	_, acknowledged := d.client.AcknowledgeEvents(timeout(t), &replaydv1.AcknowledgeEventsRequest{Subscription: "a"})
	_, removed := d.client.DeleteSubscription(timeout(t), &replaydv1.DeleteSubscriptionRequest{Subscription: "a"})
	called := newSubscriber(t, &replaydv1.SubscribeEventsRequest{Subscription: "a"}).run(timeout(t), d.client, nil, nil)
	for _, err := range []error{acknowledged, removed, called} {
		if explainFailure(t, err).reason != "NOT_IMPLEMENTED" {
			t.Error(err)
		}
	}
}

// TestNamedOwner: a name belongs to the name of a token: another token that has that name goes on, and one of another name has its own.
func TestNamedOwner(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "game.teehistorian"), gameOf{number: 1, server: "a"}.data(t))
	g := startGuarded(t, dir, t.TempDir(), "old name=me\nother name=you\n", keepsNames(state))
	c := newSubscriber(t, &replaydv1.SubscribeEventsRequest{Subscription: "a"})
	if err := c.run(as(timeout(t), "old"), g.client, func() bool { return true }, func() bool { return len(c.ended) > 0 }); err != nil {
		t.Fatal(err)
	}
	_, err := g.client.AcknowledgeEvents(as(timeout(t), "other"), c.acknowledgement())
	if explainFailure(t, err).reason != "SUBSCRIPTION_NOT_FOUND" {
		t.Error(err)
	}
	g.stop()
	g = startGuarded(t, dir, t.TempDir(), "new name=me\n", keepsNames(state))
	if _, err := g.client.AcknowledgeEvents(as(timeout(t), "new"), c.acknowledgement()); err != nil {
		t.Error(err)
	}
}

// TestNamedWaits: when too much was not acknowledged, the client is told, and gets the rest when it acknowledges.
func TestNamedWaits(t *testing.T) {
	dir := t.TempDir()
	const games = 250
	for number := range games {
		silentGame(t, dir, number+1)
	}
	d := start(t, dir, keepsNames(t.TempDir()), func(c *service.Config) { c.SurveyBudget, c.Subscriptions.Space = 0, 1000 })
	c := newSubscriber(t, &replaydv1.SubscribeEventsRequest{
		Subscription: "a", Options: &replaydv1.StreamEventsRequest{HeartbeatInterval: durationpb.New(1e9)},
	})
	if err := c.run(timeout(t), d.client, func() bool { return false }, func() bool { return true }); err != nil { // which makes a place
		t.Fatal(err)
	}
	waits := 0
	err := c.run(timeout(t), d.client, func() bool { return true }, func() bool {
		if c.last.GetUnacknowledged() {
			waits++
			c.last = nil
			if _, err := d.client.AcknowledgeEvents(timeout(t), c.acknowledgement()); err != nil {
				t.Fatal(err)
			}
		}
		return len(c.replays) == games
	})
	if err != nil || waits == 0 {
		t.Errorf("%v; %d replays have come, the client was told to acknowledge %d times", err, len(c.replays), waits)
	}
}
