// Package sc2replay holds what compares replayd with github.com/icza/s2prot v1.5.2, the fastest other decoder of StarCraft
// II replays: a test that every field of every event, header, details and lobby has the same value in both, and benchmarks
// of the two side by side.
//
//	cd bench/sc2replay
//	go test -run TestSameFields -v      # needs the corpus in ../shared beside the repository
//	go test -run - -bench . -cpu 1
package sc2replay
