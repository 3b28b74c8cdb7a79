package opened_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
)

// TestOver: a follower learns why nothing more is written to a demo, by itself and beside others, and not of a neighbour's; one that asks
// for the end of the format gets an error with the same words.
func TestOver(t *testing.T) {
	h := build(t, admission.Amounts{admission.Streams: 10, admission.Memory: enough})
	data := decodertest.Sample(t, "dem/teamfight.dem")
	half := data[:len(data)/2]
	live := filepath.Join(h.dir, "live.dem")
	for file, text := range map[string][]byte{"live.dem": half, catalog.OverName("other.dem"): []byte("of another\n")} {
		if err := os.WriteFile(filepath.Join(h.dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		followers int
		strict    bool
	}{{1, false}, {2, false}, {1, true}} {
		ctx, cancel := context.WithTimeout(h.call(t), time.Minute)
		caught, ended := make(chan struct{}, 2*test.followers), make(chan error, test.followers)
		for range test.followers {
			c, err := h.Open(ctx, &replaydv1.StreamEventsRequest{Replay: "r/live.dem", Follow: true, Strict: test.strict})
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				var detail string
				err := stream.Run(ctx, c, func(f *frame.Frame) error {
					defer f.Free()
					if f.Response().GetFollowStatus().GetState() == replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP {
						caught <- struct{}{}
					}
					if end := f.Response().GetEnd(); end.GetReason() == replaydv1.EndReason_END_REASON_TRUNCATED {
						detail = end.GetDetail()
					}
					return nil
				})
				if test.strict != (err != nil) {
					t.Errorf("%+v: %v", test, err)
				}
				ended <- errors.Join(err, errors.New(detail))
			}()
		}
		for range test.followers {
			<-caught
		}
		over := filepath.Join(h.dir, catalog.OverName("live.dem"))
		if err := errors.Join(os.WriteFile(over, []byte("the relay is gone\n"), 0o600), os.Chtimes(live, time.Now(), time.Now())); err != nil {
			t.Fatal(err)
		}
		for range test.followers {
			if told := <-ended; !strings.Contains(told.Error(), "the relay is gone") {
				t.Errorf("%+v: it ends with %v", test, told)
			}
		}
		if err := os.Remove(over); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
}

// TestOverIn: who waits for the first replay of a directory learns that none comes, unless it is none that the caller may see.
func TestOverIn(t *testing.T) {
	h := build(t, admission.Amounts{})
	dir := filepath.Join(h.dir, "final")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, catalog.OverName("")), []byte("the relay refuses\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("maps name=a formats=datafile\ndemos name=b formats=dem\naway name=c roots=away\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gate, err := access.NewGate(access.Options{TokenFile: tokens, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { close(h.drain) })
	for token, want := range map[string]error{"demos": catalog.ErrNotFound, "maps": stream.ErrDraining, "away": catalog.ErrNotFound} {
		grant, err := gate.Admit(access.Shown{Token: &token})
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.Open(access.With(t.Context(), grant), &replaydv1.StreamEventsRequest{Replay: "r/final", Follow: true})
		if told := strings.Contains(err.Error(), "the relay refuses"); !errors.Is(err, want) || told != (token == "demos") {
			t.Errorf("%s: %v", token, err)
		}
	}
}
