package latest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/service/latest"
)

// TestTimes: each call has a state as soon as there is one, a response at each interval after that, and in each the state of the moment, of
// all games: none is older than an interval when the next one comes.
func TestTimes(t *testing.T) {
	const games, each = 5, 20 * time.Millisecond
	for _, interval := range []time.Duration{latest.MinInterval, 130 * time.Millisecond, time.Second, 7 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.Sleep(3*time.Second + 17*time.Millisecond) // calls begin at any time of an interval
			var boards []*latest.Board
			tick := func(n int32) {
				for _, b := range boards {
					if err := b.Set(n, false, encodedList(t, n)); err != nil {
						t.Error(err)
					}
				}
			}
			for range games {
				b, err := latest.NewBoard(&teehistorian.Codec)
				if err != nil {
					t.Fatal(err)
				}
				boards = append(boards, b)
			}
			group := &latest.Boards{}
			var mu sync.Mutex
			offsets := map[time.Duration]bool{}
			for range 8 {
				var last time.Time
				responses := 0
				began, ended := time.Now(), make(chan struct{})
				go func() {
					defer close(ended)
					err := latest.RunCall(ctx, group, boards, interval, func(b []byte) {
						now := time.Now()
						var r replaydv1.WatchStateResponse
						if err := proto.Unmarshal(b, &r); err != nil {
							t.Error(err)
						}
						if len(r.GetReplays()) == 0 { // it began before there was something
							return
						}
						for _, of := range r.GetReplays() {
							if of.GetAge().AsDuration() > each || len(r.GetReplays()) != games {
								t.Errorf("of %d games, one is %v old", len(r.GetReplays()), of.GetAge().AsDuration())
							}
						}
						responses++
						if whole := r.GetReplays()[0].GetWhole(); whole != (responses == 1) {
							t.Errorf("response %d is whole: %v", responses, whole)
						}
						switch responses {
						case 1:
							if late := now.Sub(began); late > 4*latest.MinInterval {
								t.Errorf("the first state comes after %v", late)
							}
						case 2:
							if now.Sub(last) > interval {
								t.Errorf("the second state comes %v after the first one", now.Sub(last))
							}
							mu.Lock()
							offsets[time.Duration(now.UnixNano())%interval] = true
							mu.Unlock()
						default:
							if now.Sub(last) != interval {
								t.Errorf("a state comes %v after the one before, not %v", now.Sub(last), interval)
							}
						}
						last = now
					})
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				}()
				t.Cleanup(func() { <-ended })
			}
			for n := range int32(10 * interval / each) {
				time.Sleep(each)
				tick(n + 5)
			}
			cancel()
			if len(offsets) != 8 {
				t.Errorf("calls send at %d different times", len(offsets))
			}
		})
	}
}

func encodedList(tb testing.TB, n int32) []byte {
	b, err := proto.Marshal(at(n, []*teehistorianv1.Event{sample(1, n, "")}))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
