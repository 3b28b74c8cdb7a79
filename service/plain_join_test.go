package service_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// keyed is a line of an event, without its sequence number, and the event's position.
type keyed struct {
	offset, index int64
	text          string
}

// keyedLines returns the lines of a stream that are events. They are in the order of their positions, and no two have the same.
func keyedLines(t *testing.T, body string) (all []keyed) {
	t.Helper()
	for i, text := range eventLines(linesOf(t, body)) {
		var of struct {
			Sequence string `json:"sequence"`
			Offset   string `json:"offset"`
			Index    string `json:"index"`
		}
		if err := json.Unmarshal([]byte(text), &of); err != nil {
			t.Fatalf("%.200s: %v", text, err)
		}
		if of.Sequence != strconv.Itoa(i) {
			t.Fatalf("line %d has the number %q", i, of.Sequence)
		}
		offset, err1 := strconv.ParseInt(of.Offset, 10, 64)
		index, err2 := strconv.ParseInt(of.Index, 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("%.200s: %v, %v", text, err1, err2)
		}
		_, text, _ = strings.Cut(text, ",")
		all = append(all, keyed{offset, index, text})
	}
	if !slices.IsSortedFunc(all, byPlace) || len(slices.CompactFunc(slices.Clone(all), func(a, b keyed) bool { return byPlace(a, b) == 0 })) != len(all) {
		t.Fatal("positions are not in order, or occur twice")
	}
	return all
}

func byPlace(a, b keyed) int {
	return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.index, b.index))
}

// TestPlainJoin: the lines of two streams with different filters, put in the order of their positions, are those of the stream of
// both; and an event that is in both has the same position in them.
func TestPlainJoin(t *testing.T) {
	d := startPlain(t, samples())
	for sample, filters := range map[string][2]string{
		"teehistorian/finished/*.teehistorian": {"kind=player_diff,input_diff", "exclude-kind=player_diff,input_diff"},
		"datafile/sample.map":                  {"layer=5", "exclude-kind=none"},
		"dem/dota.dem":                         {"kind=tick,entity_updated", "exclude-kind=tick,entity_updated"},
		"sc2replay/5.0.SC2Replay":              {"player=1", "exclude-kind=none"},
	} {
		paths, err := filepath.Glob(filepath.Join(samples(), sample))
		if err != nil || len(paths) != 1 {
			t.Fatal(paths, err)
		}
		rel, err := filepath.Rel(samples(), paths[0])
		if err != nil {
			t.Fatal(err)
		}
		replay := name(filepath.ToSlash(rel))
		read := func(query string) []keyed {
			t.Helper()
			code, body := d.get(t, eventsPath(replay, strings.ReplaceAll(query, "exclude-kind=none", "")), nil)
			if code != http.StatusOK {
				t.Fatalf("%s?%s: %d, %.300s", replay, query, code, body)
			}
			return keyedLines(t, body)
		}
		all, one, other := read(""), read(filters[0]), read(filters[1])
		both := slices.Concat(one, other)
		slices.SortFunc(both, byPlace)
		if joined := slices.Compact(both); len(one) == 0 || len(one) == len(all) || !slices.Equal(joined, all) {
			t.Errorf("%s: %d and %d lines make %d; want %d", sample, len(one), len(other), len(joined), len(all))
		}
	}
}
