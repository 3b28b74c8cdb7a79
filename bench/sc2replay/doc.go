// Package sc2replay compares replayd with github.com/icza/s2prot v1.5.2, the fastest other decoder of StarCraft II replays. A test
// checks that every field of every event, header, details and lobby has the same value in both. Benchmarks run both side by
// side.
//
//	cd bench/sc2replay
//	go test -run TestSameFields -v      # needs the corpus in ../shared beside the repository
//	go test -run - -bench . -cpu 1
package sc2replay
