package replayd_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	replayd "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestSubscribe: a subscription has the events of all replays that Events has of each, once, while the daemon is killed. It resumes by
// itself, and in another process by the token; an error that is not transient ends it.
func TestSubscribe(t *testing.T) {
	dir := t.TempDir()
	for _, sample := range []string{
		"teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian", "sc2replay/battle.SC2Replay", "dem/sample.dem",
		"sc2replay/cut.SC2Replay",
	} {
		data, err := os.ReadFile(filepath.Join(samples, sample))
		if err != nil {
			t.Fatal(err)
		}
		path, old := filepath.Join(dir, filepath.Base(sample)), time.Now().Add(-time.Hour) // what is cut is not being copied
		if err := errors.Join(os.WriteFile(path, data, 0o600), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	d := &daemon{tb: t, real: newDaemon(dir, filepath.Join(t.TempDir(), "index"))}
	d.start()
	t.Cleanup(d.kill)
	d.addr = d.real.Addr
	client, ctx := d.connect(), soon(t)
	got, ended, failed := map[string][]string{}, map[string]bool{}, 0
	request := &replaydv1.SubscribeEventsRequest{Options: &replaydv1.StreamEventsRequest{MaxBatchEvents: 40}}
	for responses := 0; len(ended) < 3 || failed == 0; { // each loop is a process of its own
		for s, err := range client.Subscribe(ctx, request) {
			if err != nil {
				t.Fatal(err)
			}
			request.Token = s.Token
			if responses++; responses%10 == 0 {
				d.kill()
				d.start()
			}
			if s.Batch != nil {
				for e, err := range s.Batch.Events() {
					if err != nil {
						t.Fatal(err)
					}
					got[s.Replay.GetName()] = append(got[s.Replay.GetName()], fmt.Sprint(e.Offset, e.Index, e.Kind))
				}
			}
			if s.Failure.GetName() == root+"/cut.SC2Replay" && s.Failure.GetReason() == replaydv1.ErrorReason_ERROR_REASON_TRUNCATED {
				failed++
			}
			if s.Message.GetEnd() != nil {
				ended[s.Replay.GetName()] = true
			}
			if len(ended) == 3 && failed > 0 || responses%25 == 0 {
				break
			}
		}
	}
	if failed != 1 {
		t.Errorf("a file that is cut has failed %d times", failed)
	}
	for name := range ended {
		var want []string
		for e, err := range client.Events(ctx, &replaydv1.StreamEventsRequest{Replay: name}) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprint(e.Offset, e.Index, e.Kind))
		}
		if !slices.Equal(got[name], want) {
			t.Errorf("%s: %d events, want %d", name, len(got[name]), len(want))
		}
	}
	for _, err := range client.Subscribe(ctx, &replaydv1.SubscribeEventsRequest{Token: []byte("no token")}) {
		if err == nil || replayd.Transient(err) {
			t.Errorf("%v", err)
		}
	}
}

// TestAcknowledge: a named subscription goes on behind what was acknowledged, in each of many processes, and is removed.
func TestAcknowledge(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	data, err := os.ReadFile(filepath.Join(samples, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "a.teehistorian"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{tb: t, real: newDaemon(dir, filepath.Join(state, "index"))}
	d.real.Subscriptions = filepath.Join(state, "names")
	d.start()
	t.Cleanup(d.kill)
	d.addr = d.real.Addr
	client, ctx := d.connect(), soon(t)
	next, ended := uint64(0), false
	for !ended {
		for s, err := range client.Subscribe(ctx, &replaydv1.SubscribeEventsRequest{
			Subscription: "a", Options: &replaydv1.StreamEventsRequest{MaxBatchEvents: 200},
		}) {
			if err != nil {
				t.Fatal(err)
			}
			if ended = s.Message.GetEnd() != nil; ended {
				break
			}
			if s.Batch == nil {
				continue
			}
			for e, err := range s.Batch.Events() {
				if err != nil || e.Sequence != next {
					t.Fatalf("event %d, want %d; %v", e.Sequence, next, err)
				}
				next++
			}
			if err := client.Acknowledge(ctx, "a", s.Token); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if next < 1000 {
		t.Errorf("%d events", next)
	}
	if err := client.DeleteSubscription(ctx, "a"); err != nil {
		t.Error(err)
	}
	if err := client.Acknowledge(ctx, "a", nil); err == nil || replayd.Transient(err) {
		t.Error(err)
	}
	if err := client.DeleteSubscription(ctx, "a"); err == nil || replayd.Transient(err) {
		t.Error(err)
	}
}
