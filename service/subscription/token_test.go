package subscription_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/subscription"
)

var (
	aliases    = []string{"a", "archive", "live"}
	generation = index.Generation{1, 2, 3}
	tag        = subscription.Tag{4, 5, 6}
)

// drawCursor draws what a token keeps of a cursor.
func drawCursor(t *rapid.T) cursor.Cursor {
	return cursor.Cursor{
		Position: decoders.Position{
			Offset: rapid.Int64Range(0, math.MaxInt64).Draw(t, "offset"),
			Index:  rapid.OneOf(rapid.Int64(), rapid.Map(rapid.Int64Range(-9, 9), func(n int64) int64 { return 128 * n })).Draw(t, "index"),
		},
		Sum: decoders.Sum(rapid.Uint32().Draw(t, "sum")), Sequence: rapid.Uint64().Draw(t, "sequence"), Tick: rapid.Int32().Draw(t, "tick"),
		State: rapid.Bool().Draw(t, "state"), Facts: rapid.OneOf(rapid.Just(uint32(0)), rapid.Uint32()).Draw(t, "facts"),
	}
}

// TestToken: whatever happened to replays, a token leads back to what is known of each, as a model of sets has it.
func TestToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type replay struct {
			alias  string
			number uint64
		}
		const most = 40
		places, passed, open := subscription.NewPlaces(), map[replay]bool{}, map[replay]cursor.Cursor{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			r := replay{rapid.SampledFrom(aliases).Draw(t, "root"), rapid.Uint64Range(1, most).Draw(t, "number")}
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				at := drawCursor(t)
				places.Reach(r.alias, r.number, cursor.Cursor{
					Format: decoders.Dem, Replay: 7, Position: at.Position, Sum: at.Sum, Sequence: at.Sequence, Tick: at.Tick, State: at.State, Facts: at.Facts,
				})
				passed[r], open[r] = true, at
			case 1:
				places.Close(r.alias, r.number)
				passed[r] = true
				delete(open, r)
			default:
				to := r.number + uint64(rapid.IntRange(-1, 5).Draw(t, "span"))
				places.Leave(r.alias, r.number, to)
				for n := r.number; n <= to; n++ {
					passed[replay{r.alias, n}] = true
				}
			}
		}
		token := places.Token(generation, tag, aliases...)
		if len(token) <= subscription.MaxToken {
			var err error
			if places, err = subscription.Parse(token, generation, tag); err != nil {
				t.Fatal(err)
			}
		}
		if again := places.Token(generation, tag, aliases...); !bytes.Equal(again, token) {
			t.Fatalf("% x became % x", token, again)
		}
		for _, alias := range aliases {
			for n := uint64(1); n < most+10; n++ {
				r := replay{alias, n}
				at, isOpen := places.Open(alias, n)
				want, wantOpen := open[r]
				if places.Has(alias, n) != passed[r] || isOpen != wantOpen || at != want {
					t.Fatalf("%v: passed %v, open %v at %+v; want %v, %v at %+v", r, places.Has(alias, n), isOpen, at, passed[r], wantOpen, want)
				}
			}
		}
	})
}

// TestTokenSize: a token with a hundred live games fits, whose files are large, among others that are over.
func TestTokenSize(t *testing.T) {
	places := subscription.NewPlaces()
	places.Leave("live", 1, 1_000_000)
	for n := range uint64(100) {
		places.Close("live", 1_000_001+3*n)
		places.Reach("live", 1_000_002+3*n, cursor.Cursor{
			Position: decoders.Position{Offset: 1 << 33, Index: 640}, Sum: math.MaxUint32, Sequence: 1 << 32, Tick: 1 << 24, Facts: 3,
		})
	}
	if n := len(places.Token(generation, tag, "live")); n > subscription.MaxToken*3/4 {
		t.Errorf("it has %d bytes", n)
	}
}

// TestNoTokens: bytes that are no token of this subscription are refused, each for its reason.
func TestNoTokens(t *testing.T) {
	places := subscription.NewPlaces()
	places.Reach("live", 5, cursor.Cursor{Sequence: 9})
	token := places.Token(generation, tag, "live")
	summed := func(change func(b []byte) []byte) []byte {
		b := change(bytes.Clone(token[:len(token)-4]))
		return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	}
	for name, test := range map[string]struct {
		token      []byte
		generation index.Generation
		tag        subscription.Tag
		want       error
	}{
		"it is one":        {token, generation, tag, nil},
		"another index":    {token, index.Generation{}, tag, subscription.ErrOther},
		"other conditions": {token, generation, subscription.Tag{}, subscription.ErrOther},
		"empty":            {nil, generation, tag, subscription.ErrToken},
		"cut":              {token[:len(token)-1], generation, tag, subscription.ErrToken},
		"long":             {summed(func(b []byte) []byte { return append(b, make([]byte, 4096)...) }), generation, tag, subscription.ErrToken},
		"another version":  {summed(func(b []byte) []byte { b[0]++; return b }), generation, tag, subscription.ErrToken},
		"a root twice":     {summed(func(b []byte) []byte { return append(b, b[15:]...) }), generation, tag, subscription.ErrToken},
		"half a root":      {summed(func(b []byte) []byte { return b[:len(b)-1] }), generation, tag, subscription.ErrToken},
		"open, not passed": {summed(func(b []byte) []byte { b[20] = 0; return append(b[:21], b[23:]...) }), generation, tag, subscription.ErrToken},
	} {
		if _, err := subscription.Parse(test.token, test.generation, test.tag); !errors.Is(err, test.want) || err == nil != (test.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func FuzzToken(f *testing.F) {
	places := subscription.NewPlaces()
	places.Leave("a", 1, 9)
	places.Close("a", 12)
	places.Reach("a", 14, cursor.Cursor{Position: decoders.Position{Offset: 5, Index: -3}, Facts: 2, State: true})
	whole := places.Token(generation, tag, "a")
	f.Add(whole[15 : len(whole)-4])
	f.Fuzz(func(t *testing.T, rest []byte) {
		b := append(bytes.Clone(whole[:15]), rest...)
		b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
		p, err := subscription.Parse(b, generation, tag)
		if err != nil {
			return
		}
		for n := range uint64(50) {
			if _, open := p.Open("a", n); open && !p.Has("a", n) {
				t.Fatalf("% x: %d is open and was not begun", rest, n)
			}
		}
	})
}
