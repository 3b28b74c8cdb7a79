package dem_test

import (
	"bytes"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestTimes: the times of a match are those of a calendar, and absent where the game sends none or 0.
func TestTimes(t *testing.T) {
	for what, test := range map[string]struct {
		match demtest.Proto
		want  string
	}{
		"sent":     {demtest.Proto(nil).Varint(11, 1700000000), "2023-11-14T22:13:20Z"},
		"the last": {demtest.Proto(nil).Varint(11, 1<<32-1), "2106-02-07T06:28:15Z"},
		"none":     {nil, ""},
		"0":        {demtest.Proto(nil).Varint(11, 0), ""},
	} {
		demo := demtest.New()
		demo.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
		demo.Record(demtest.CmdStop, 10, nil)
		demo.Record(demtest.CmdFileInfo, 10, demtest.Proto(nil).Varint(2, 10).Bytes(4, demtest.Proto(nil).Bytes(4, test.match)))
		got, found := "", false
		for ev, err := range decoders.All(dem.New(bytes.NewReader(demo.Bytes()), dem.Options{})) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Kind == dem.KindFileInfo {
				if found = true; ev.FileInfo.Match.HasEndTime {
					got = ev.FileInfo.Match.EndTime.String()
				}
			}
		}
		if !found || got != test.want {
			t.Errorf("%s: %q, want %q", what, got, test.want)
		}
	}
}
