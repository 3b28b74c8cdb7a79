package sc2replay_test

import (
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

// TestTimes: what a file says of when it was saved is a time only where it can be one.
func TestTimes(t *testing.T) {
	const of1970, of10000 = 116_444_736_000_000_000, 116_444_736_000_000_000 + 253_402_300_800*10_000_000
	for what, test := range map[string]struct {
		units int64
		want  string
	}{
		"a game's":              {129_240_000_000_000_019, "2010-07-19T08:00:00.000001Z"},
		"none":                  {0, ""},
		"negative":              {-1, ""},
		"1970":                  {of1970, ""},
		"the first microsecond": {of1970 + 10, "1970-01-01T00:00:00.000001Z"},
		"the last one":          {of10000 - 1, "9999-12-31T23:59:59.999999Z"},
		"the year 10000":        {of10000, ""},
		"the largest":           {1<<63 - 1, ""},
	} {
		r := sc2test.Sample(80949)
		r.Details["timeUTC"] = test.units
		d, got := open(t, r.Bytes()).Details, ""
		if d.HasTimeUtc {
			got = d.TimeUtc.String()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", what, got, test.want)
		}
	}
}
