package teehistorian_test

import "testing"

// simple returns a small file: some ticks with two players, a team and a swap.
func simple(tb testing.TB) []byte {
	tb.Helper()
	uuid := func(s string) string {
		var b []byte
		var high byte
		n := 0
		for _, c := range []byte(s) {
			switch {
			case c == '-':
				continue
			case c >= 'a':
				c -= 'a' - 10
			default:
				c -= '0'
			}
			if n++; n%2 == 1 {
				high = c << 4
			} else {
				b = append(b, high|c)
			}
		}
		return string(b)
	}
	return []byte(uuid("699db17b-8efb-34ff-b1d8-da6f60c15dd1") +
		`{"version":"2","game_uuid":"01020304-0506-4708-890a-0b0c0d0e0f10","map_name":"dm1"}` + "\x00" +
		"\x47\x00\x47\x01" + // JOIN 0, JOIN 1
		"\x42\x00\x05\x06" + // PLAYER_NEW 0 at 5, 6: tick 1
		"\x42\x01\x07\x08" + // PLAYER_NEW 1
		"\x00\x01\x40" + // PLAYER_DIFF 0 +1 -1: tick 2
		"\x01\x01\x01" + // PLAYER_DIFF 1
		"\x4a" + uuid("a111c04e-1ea8-38e0-90b1-d7f993ca0da9") + "\x02\x00\x07" + // PLAYER_TEAM 0 to 7
		"\x01\x01\x01" + // PLAYER_DIFF 1: tick 3
		"\x4a" + uuid("5de9b633-49cf-3e99-9a25-d4a78e9717d7") + "\x02\x00\x01" + // PLAYER_SWAP 0, 1
		"\x41\x03" + // TICK_SKIP 3: tick 7
		"\x00\x02\x02" + // PLAYER_DIFF 0
		"\x40") // FINISH
}
