//go:build !race

package streamtest

// Race reports whether the race detector is enabled. Everything then takes some ten times as long, so tests that only decode
// many replays decode fewer of them.
const Race = false
