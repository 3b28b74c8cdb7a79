// Package sc2replay compares replayd with github.com/icza/s2prot v1.5.2: a test checks that every field of every event, header, details
// and lobby of the corpus in ../shared has the same value in both.
//
//	go test -C bench/sc2replay -run TestSameFields -v
package sc2replay
