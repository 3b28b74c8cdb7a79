//go:build !race

package streamtest

// Race says that the race detector is at work: everything takes some ten times as long, and tests that only decode much do
// less of it.
const Race = false
