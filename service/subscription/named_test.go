package subscription_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/subscription"
)

func namedConfig(path string) subscription.NamedConfig {
	return subscription.NamedConfig{Path: path, Most: 5, MostOfOwner: 3, Life: time.Hour, Log: slog.New(slog.DiscardHandler)}
}

func openStore(tb testing.TB, c subscription.NamedConfig) *subscription.Store {
	tb.Helper()
	s, err := subscription.OpenStore(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// reach notes that a replay was sent up to some place.
func reach(c subscription.Call, number, offset uint64) {
	c.Reach("live", number, cursor.Cursor{
		Position: decoders.Position{Offset: int64(offset)}, Sum: decoders.Sum(math.MaxUint32), Sequence: offset, Tick: int32(offset),
	})
}

// TestNamedPlaces: each token that was sent since the acknowledged one leads back to its place, and so does no token to that of the
// acknowledged one, whatever happens to replays, calls and the daemon, as a model has it.
func TestNamedPlaces(t *testing.T) {
	const most = 400
	type state map[uint64]int64 // by number: where an open replay stands, -1 for one that is over or left out
	type sent struct {
		token []byte
		state state
	}
	dir := t.TempDir()
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		config := namedConfig(filepath.Join(dir, fmt.Sprint(run)))
		var store *subscription.Store
		var named *subscription.Named
		var call subscription.Call
		now, acknowledged, tokens := state{}, -1, []sent{}
		begin := func(at int) {
			var err error
			if store == nil {
				if store, err = subscription.OpenStore(config); err != nil {
					r.Fatal(err)
				}
			}
			var token []byte
			now = state{}
			if at < 0 && acknowledged >= 0 {
				now = maps.Clone(tokens[acknowledged].state)
			} else if at >= 0 {
				token, now = tokens[at].token, maps.Clone(tokens[at].state)
			}
			if named, err = store.Open("me", "name", generation, tag, token); err != nil {
				r.Fatal(err)
			}
			call = subscription.NewCall(named, "live")
			for n := uint64(1); n <= most; n++ {
				at, passed := now[n]
				c, isOpen := call.Open("live", n)
				if call.Has("live", n) != passed || isOpen != (passed && at >= 0) || isOpen && c.Position.Offset != at {
					r.Fatalf("%d: passed %v, open %v at %d; want %v at %d", n, call.Has("live", n), isOpen, c.Position.Offset, passed, at)
				}
			}
		}
		begin(-1)
		defer func() { _ = store.Close() }()
		for range rapid.IntRange(1, 25).Draw(r, "steps") {
			from := rapid.Uint64Range(1, most).Draw(r, "from")
			to := min(most, from+rapid.Uint64Range(0, 90).Draw(r, "more"))
			switch rapid.IntRange(0, 7).Draw(r, "what") {
			case 0, 1, 2:
				offset := rapid.Uint64Range(1<<30, 1<<33).Draw(r, "offset")
				for n := from; n <= to; n++ {
					reach(call, n, offset)
					now[n] = int64(offset)
				}
			case 3:
				for n := from; n <= to; n += 2 {
					call.Close("live", n)
					now[n] = -1
				}
			case 4:
				call.Leave("live", from, to)
				for n := from; n <= to; n++ {
					if _, passed := now[n]; !passed {
						now[n] = -1
					}
				}
			case 5:
				if len(tokens) > 0 {
					i := rapid.IntRange(max(acknowledged, 0), len(tokens)-1).Draw(r, "acknowledged")
					if err := store.Acknowledge("me", "name", tokens[i].token); err != nil {
						r.Fatal(err)
					}
					acknowledged = i
				}
			case 6:
				_ = store.Close() // as if it was killed
				store = nil
				fallthrough
			default:
				if i := rapid.IntRange(acknowledged, len(tokens)-1).Draw(r, "at"); i < 0 || rapid.Bool().Draw(r, "acknowledged") {
					begin(-1)
				} else {
					begin(i)
				}
			}
			token, err := call.Token()
			if err != nil || len(token) > subscription.MaxToken || call.Held() {
				r.Fatalf("a token of %d bytes, %v", len(token), err)
			}
			tokens = append(tokens, sent{bytes.Clone(token), maps.Clone(now)})
		}
		named.Close()
	})
}

// TestNamedChanges: a token has what has changed since the checkpoint, and no more: replays that are over, that went on, and were left out.
func TestNamedChanges(t *testing.T) {
	store := openStore(t, namedConfig(filepath.Join(t.TempDir(), "names")))
	var call subscription.Call
	open := func(token []byte) {
		t.Helper()
		named, err := store.Open("me", "a", generation, tag, token)
		if err != nil {
			t.Fatal(err)
		}
		call = subscription.NewCall(named, "live")
	}
	send := func(most int) []byte {
		t.Helper()
		token, err := call.Token()
		if err != nil || len(token) > most {
			t.Errorf("a token of %d bytes, %v", len(token), err)
		}
		return bytes.Clone(token)
	}
	open(nil)
	for n := range uint64(200) {
		reach(call, n+1, 1<<33)
	}
	send(40) // which makes a checkpoint
	call.Close("live", 5)
	reach(call, 6, 1<<34)
	call.Leave("live", 1, 300)
	open(send(100))
	for n, want := range map[uint64]int64{4: 1 << 33, 5: 0, 6: 1 << 34, 7: 1 << 33, 200: 1 << 33, 201: 0, 300: 0} {
		at, isOpen := call.Open("live", n)
		if !call.Has("live", n) || isOpen != (want > 0) || at.Position.Offset != want {
			t.Errorf("%d is open: %v, at %d; want %d", n, isOpen, at.Position.Offset, want)
		}
	}
	if call.Has("live", 301) {
		t.Error("a replay is left out that was not")
	}
	var tokens [3][]byte
	for i := range tokens {
		call.Close("live", uint64(400+i))
		tokens[i] = send(100)
	}
	for _, i := range []int{0, 1, 0} { // an old one comes late
		if err := store.Acknowledge("me", "a", tokens[i]); err != nil {
			t.Error(err)
		}
	}
	open(nil)
	if !call.Has("live", 401) || call.Has("live", 402) {
		t.Error("a call does not begin behind what was acknowledged last")
	}
}

// TestNamedSpace: when too much was not acknowledged, no more is sent; an acknowledgement frees the space, and old ones change nothing. Old
// tokens are refused then.
func TestNamedSpace(t *testing.T) {
	config := namedConfig(filepath.Join(t.TempDir(), "names"))
	config.Space = 60_000
	store := openStore(t, config)
	named, err := store.Open("me", "name", generation, tag, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := subscription.NewCall(named, "live")
	var tokens [][]byte
	send := func() {
		for offset := uint64(1 << 33); !call.Held(); offset++ {
			for n := range uint64(200) {
				reach(call, n+1, offset)
			}
			token, err := call.Token()
			if err != nil {
				t.Fatal(err)
			}
			tokens = append(tokens, bytes.Clone(token))
		}
	}
	send()
	if _, space := store.Figures(); space > config.Space || space < config.Space*3/4 || len(tokens) < 5 {
		t.Errorf("%d bytes after %d tokens", space, len(tokens))
	}
	if _, err := store.Open("me", "name", generation, tag, tokens[0]); !errors.Is(err, subscription.ErrUnacknowledged) {
		t.Errorf("another call without space: %v", err)
	}
	last := tokens[len(tokens)-1]
	for _, token := range [][]byte{last, tokens[0], last} {
		if err := store.Acknowledge("me", "name", token); err != nil {
			t.Error(err)
		}
	}
	if _, err := call.Token(); err != nil || call.Held() {
		t.Errorf("%v; it is held: %v", err, call.Held())
	}
	send()
	if _, err := store.Open("me", "name", generation, tag, tokens[0]); !errors.Is(err, subscription.ErrOther) {
		t.Errorf("a token of before: %v", err)
	}
	if err := store.Acknowledge("me", "name", tokens[len(tokens)-1]); err != nil {
		t.Error(err)
	}
	if next, err := store.Open("me", "name", generation, tag, last); err == nil {
		t.Error("a token of before", next)
	}
	if next, err := store.Open("me", "name", generation, tag, nil); err != nil || !named.Taken() || next.Taken() {
		t.Errorf("%v; taken: %v", err, named.Taken())
	}
	for n := range uint64(200) {
		reach(call, n+1, 1<<34)
	}
	if _, err := call.Token(); !errors.Is(err, subscription.ErrTaken) {
		t.Errorf("a call that was taken over: %v", err)
	}
}

// TestNames: a name is its owner's, is bound to its conditions, and is removed when it is asked for or nobody has used it for long; there is
// a number of them at most. What the daemon does not know is refused.
func TestNames(t *testing.T) {
	config := namedConfig(filepath.Join(t.TempDir(), "names"))
	store := openStore(t, config)
	open := func(owner, name string, g index.Generation, tag subscription.Tag, token []byte, want error) []byte {
		t.Helper()
		named, err := store.Open(owner, name, g, tag, token)
		if !errors.Is(err, want) || err == nil != (want == nil) {
			t.Errorf("%s of %s: %v, want %v", name, owner, err, want)
		}
		if err != nil {
			return nil
		}
		call := subscription.NewCall(named, "live")
		reach(call, 1, 5)
		made, err := call.Token()
		if err != nil {
			t.Error(err)
		}
		made = bytes.Clone(made)
		named.Close()
		return made
	}
	mine := open("me", "a", generation, tag, nil, nil)
	yours := open("you", "a", generation, tag, nil, nil)
	open("me", "a", generation, tag, yours, subscription.ErrOther)
	open("me", "a", generation, subscription.Tag{}, mine, subscription.ErrConditions)
	open("me", "a", index.Generation{}, tag, nil, subscription.ErrConditions)
	open("me", "a", generation, tag, mine[:len(mine)-1], subscription.ErrToken)
	open("me", "a", generation, tag, []byte{2}, subscription.ErrToken)
	open("me", "new", generation, tag, mine, subscription.ErrToken)
	if _, err := subscription.Parse(mine, generation, tag); !errors.Is(err, subscription.ErrToken) {
		t.Error(err)
	}
	nameless := subscription.NewPlaces()
	nameless.Close("live", 7)
	for range 2 { // the first call, and one after it broke before a response came
		if named, err := store.Open("me", "b", generation, tag, nameless.Token(generation, tag, "live")); err != nil {
			t.Error(err)
		} else if call := subscription.NewCall(named); !call.Has("live", 7) || call.Has("live", 1) {
			t.Error("a named subscription does not go on where one without a name was")
		}
	}
	for _, test := range []struct {
		owner, name string
		token       []byte
		want        error
	}{{"me", "none", mine, subscription.ErrNoName}, {"me", "a", yours, subscription.ErrOther}, {"me", "a", nil, subscription.ErrToken}, {"me", "a", mine, nil}} {
		if err := store.Acknowledge(test.owner, test.name, test.token); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
	open("me", "c", generation, tag, nil, nil)
	open("me", "d", generation, tag, nil, subscription.ErrNames)
	open("you", "b", generation, tag, nil, nil)
	open("they", "a", generation, tag, nil, subscription.ErrNames)
	running, err := store.Open("me", "b", generation, tag, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Remove("me", "b"), store.Remove("me", "c")); err != nil || !running.Taken() {
		t.Errorf("%v; its call was ended: %v", err, running.Taken())
	}
	running.Close()
	if err := store.Remove("me", "b"); !errors.Is(err, subscription.ErrNoName) {
		t.Error(err)
	}
	open("me", "b", generation, tag, mine, subscription.ErrToken)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	config.Life = time.Nanosecond
	store = openStore(t, config)
	held, err := store.Open("you", "a", generation, tag, nil)
	if err != nil {
		t.Fatal(err)
	}
	open("they", "a", generation, tag, nil, nil)
	if names, _ := store.Figures(); names != 2 || held.Taken() {
		t.Errorf("%d names are kept, taken: %v", names, held.Taken())
	}
	held.Close()
}

// TestNamedDamage: a file that is no database, or a damaged one, is refused by its name.
func TestNamedDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "names")
	store := openStore(t, namedConfig(path))
	if _, err := store.Open("me", "a", generation, tag, nil); err != nil {
		t.Fatal(err)
	}
	_ = store.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{[]byte("text"), whole[:len(whole)/8], bytes.ReplaceAll(whole, []byte("about"), []byte("abort"))} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := subscription.OpenStore(namedConfig(path)); err == nil {
			_ = s.Close()
			t.Errorf("%d damaged bytes were opened", len(damaged))
		}
	}
}

// TestNotStored: when a place cannot be stored, the call says so, and what was stored before is whole.
func TestNotStored(t *testing.T) {
	store := openStore(t, namedConfig(filepath.Join(t.TempDir(), "names")))
	named, err := store.Open("me", "a", generation, tag, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := subscription.NewCall(named, "live")
	for n := range uint64(200) {
		reach(call, n+1, 1<<33)
	}
	_ = store.Close() // nothing can be written any more
	if _, err := call.Token(); !errors.Is(err, subscription.ErrStored) {
		t.Error(err)
	}
	if err := store.Remove("me", "a"); !errors.Is(err, subscription.ErrStored) {
		t.Error(err)
	}
	if names, _ := store.Figures(); names != 1 {
		t.Errorf("%d names", names)
	}
}

// TestHeld: when too much was not acknowledged, nothing comes but heartbeats that say so; when the client acknowledges, the rest comes.
func TestHeld(t *testing.T) {
	const games = 500 // more than a token has room for
	w := newWorld(t, "live")
	for number := 1; number <= games; number++ {
		name := fmt.Sprint("live/", number, ".teehistorian")
		w.write(name, w.game(number))
		now := time.Now()
		w.must(os.Chtimes(w.path(name), now, now)) // it is played
	}
	w.open()
	config := namedConfig(filepath.Join(t.TempDir(), "names"))
	config.Space = 1000
	store := openStore(t, config)
	for range 2 { // the second one makes a place that is not acknowledged
		var err error
		if w.named, err = store.Open("me", "a", w.index.Generation(), subscription.Tag{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	w.sends = func(_ string, batch int) (replaydv1.EndReason, error) {
		if batch == 1 {
			return 0, fmt.Errorf("%w: not now", source.ErrIO) // it stays open
		}
		return 0, nil
	}
	held, beats := 0, 0
	w.responses = func(r *replaydv1.SubscribeEventsResponse) {
		switch {
		case r.GetHeartbeat().GetUnacknowledged():
			if beats++; beats == 4 {
				held, beats = held+1, 0
				w.must(store.Acknowledge("me", "a", r.GetToken()))
			}
		case beats > 0:
			w.Errorf("it is not held: %v", r)
		}
	}
	got := w.subscribe(func(got *told) bool { return len(got.batches) == games })
	if held == 0 || len(got.batches) != games {
		t.Errorf("%d games, held %d times", len(got.batches), held)
	}
}
