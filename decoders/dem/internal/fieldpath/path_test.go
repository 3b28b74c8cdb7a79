package fieldpath

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

func pathText(p Path) string {
	var parts []string
	for _, v := range p.Idx[:p.Last+1] {
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, "/")
}

// TestPathOperations applies each operation to the path 5, or 5/6/7 where it pops.
func TestPathOperations(t *testing.T) {
	num := func(v ...uint32) func(*demtest.Bits) {
		return func(w *demtest.Bits) {
			for _, n := range v {
				w.PathNumber(n)
			}
		}
	}
	fixed := func(n int, v ...uint64) func(*demtest.Bits) {
		return func(w *demtest.Bits) {
			for _, x := range v {
				w.Bits(x, n)
			}
		}
	}
	none := func(*demtest.Bits) {}
	deltaN := func(rest func(*demtest.Bits)) func(*demtest.Bits) {
		return func(w *demtest.Bits) { w.UBitVar(20); rest(w) }
	}
	for op, test := range [40]struct {
		deep bool
		args func(*demtest.Bits)
		want string
	}{
		{false, none, "6"},
		{false, none, "7"},
		{false, none, "8"},
		{false, none, "9"},
		{false, num(1000), "1010"},
		{false, none, "5/0"},
		{false, num(3), "5/3"},
		{false, none, "6/0"},
		{false, num(15), "6/15"},
		{false, num(4), "9/0"},
		{false, num(4, 7), "11/8"},
		{false, fixed(3, 7, 2), "14/3"},
		{false, fixed(4, 15, 9), "22/10"},
		{false, num(1, 2), "5/1/2"},
		{false, fixed(5, 31, 2), "5/31/2"},
		{false, num(1, 2, 3), "5/1/2/3"},
		{false, fixed(5, 1, 2, 3), "5/1/2/3"},
		{false, num(1, 2), "6/1/2"},
		{false, fixed(5, 1, 2), "6/1/2"},
		{false, num(1, 2, 3), "6/1/2/3"},
		{false, fixed(5, 1, 2, 3), "6/1/2/3"},
		{false, deltaN(num(1, 2)), "27/1/2"},
		{false, deltaN(fixed(5, 1, 2)), "27/1/2"},
		{false, deltaN(num(1, 2, 3)), "27/1/2/3"},
		{false, deltaN(fixed(5, 1, 2, 3)), "27/1/2/3"},
		{false, func(w *demtest.Bits) { w.UBitVar(2); w.UBitVar(10); num(3, 4)(w) }, "15/3/4"},
		{false, func(w *demtest.Bits) { w.Bool(true); w.Zigzag(-3); w.UBitVar(1); num(9)(w) }, "3/9"},
		{true, none, "5/7"},
		{true, num(9), "5/16"},
		{true, none, "6"},
		{true, num(9), "15"},
		{true, fixed(3, 7), "13"},
		{true, fixed(6, 63), "69"},
		{true, num(2), "6"},
		{true, func(w *demtest.Bits) { num(1)(w); w.Zigzag(-6) }, "5/0"},
		{true, func(w *demtest.Bits) { num(1)(w); w.Bool(true); w.Zigzag(2); w.Bool(false) }, "7/6"},
		{true, func(w *demtest.Bits) { w.Bool(true); w.Zigzag(1); w.Bool(false); w.Bool(true); w.Zigzag(-7) }, "6/6/0"},
		{true, none, "5/7/7"},
		{true, func(w *demtest.Bits) { w.Bool(true); w.Bits(2, 4); w.Bool(false); w.Bool(true); w.Bits(15, 4) }, "0/6/15"},
		{false, none, ""},
	} {
		t.Run(fmt.Sprint(op), func(t *testing.T) {
			var w demtest.Bits
			w.Code(demtest.PathCodes[4]) // to 5, from -1
			w.PathNumber(1)
			before := 1
			if test.deep {
				w.Code(demtest.PathCodes[13])
				num(6, 7)(&w)
				before = 2
			}
			w.Code(demtest.PathCodes[op])
			test.args(&w)
			if op != demtest.Finish {
				w.Code(demtest.PathCodes[demtest.Finish])
			}
			r := bits.New(w.Bytes())
			paths, err := Read(&r, nil)
			if err != nil || r.Pos() != w.Len() {
				t.Fatalf("%d bits read of %d, %v", r.Pos(), w.Len(), err)
			}
			if op == demtest.Finish {
				if len(paths) != before {
					t.Errorf("%d paths", len(paths))
				}
				return
			}
			paths = whole(t, paths)
			if got := pathText(paths[before]); got != test.want || len(paths) != before+1 {
				t.Errorf("%d paths, the last is %s, want %s", len(paths), got, test.want)
			}
		})
	}
}

// whole returns paths with all of their indices.
func whole(t interface {
	Fatalf(format string, args ...any)
}, paths []Path) []Path {
	var out []Path
	for i, p := range paths {
		if p.Keep > p.Last || i == 0 && p.Keep > 0 || i > 0 && p.Keep > out[i-1].Last {
			t.Fatalf("path %d of %d indices keeps %d", i, p.Last+1, p.Keep)
		}
		for d := range p.Keep {
			p.Idx[d] = out[i-1].Idx[d]
		}
		out = append(out, p)
	}
	return out
}

// TestPathsRoundTrip writes random lists of paths and reads them.
func TestPathsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var values []demtest.Value
		var want []string
		for range rapid.IntRange(0, 30).Draw(t, "paths") {
			p := rapid.SliceOfN(rapid.IntRange(0, MaxIndex), 1, MaxDepth).Draw(t, "path")
			values = append(values, demtest.Value{Path: p, Write: func(*demtest.Bits) {}})
			want = append(want, strings.ReplaceAll(strings.Trim(fmt.Sprint(p), "[]"), " ", "/"))
		}
		var w demtest.Bits
		w.Fields(values...)
		r := bits.New(w.Bytes())
		paths, err := Read(&r, nil)
		if err != nil || len(paths) != len(want) || r.Pos() != w.Len() {
			t.Fatalf("%d paths, want %d; %d bits of %d; %v", len(paths), len(want), r.Pos(), w.Len(), err)
		}
		for i, p := range whole(t, paths) {
			if pathText(p) != want[i] {
				t.Fatalf("path %d is %s, want %s", i, pathText(p), want[i])
			}
		}
	})
}

func TestBadPaths(t *testing.T) {
	for name, test := range map[string]struct {
		write func(*demtest.Bits)
		want  error
	}{
		"too deep": {func(w *demtest.Bits) {
			for range MaxDepth {
				w.Code(demtest.PathCodes[5])
			}
		}, ErrIndex},
		"deep below": {func(w *demtest.Bits) {
			w.Code(demtest.PathCodes[0])
			for range MaxDepth {
				w.Code(demtest.PathCodes[5])
			}
		}, ErrDepth},
		"many pushes":        {func(w *demtest.Bits) { w.Code(demtest.PathCodes[25]); w.UBitVar(1000); w.UBitVar(1) }, ErrDepth},
		"pop of nothing":     {func(w *demtest.Bits) { w.Code(demtest.PathCodes[0]); w.Code(demtest.PathCodes[27]) }, ErrDepth},
		"penultimate of one": {func(w *demtest.Bits) { w.Code(demtest.PathCodes[0]); w.Code(demtest.PathCodes[37]) }, ErrDepth},
		"huge index":         {func(w *demtest.Bits) { w.Code(demtest.PathCodes[4]); w.PathNumber(1 << 30) }, ErrIndex},
		"negative": {func(w *demtest.Bits) {
			w.Code(demtest.PathCodes[36])
			w.Bool(true)
			w.Zigzag(-5)
		}, ErrIndex},
		"no end": {func(w *demtest.Bits) { w.Code("0000000000") }, bits.ErrOverrun},
	} {
		t.Run(name, func(t *testing.T) {
			var w demtest.Bits
			test.write(&w)
			r := bits.New(w.Bytes())
			if _, err := Read(&r, nil); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}
