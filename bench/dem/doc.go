// Package dem compares replayd's decoder of Source 2 demos with others, side by side in one run:
//
//	go test -bench . -benchtime 3x
//
// It is a module of its own, so that the other decoders are nobody's dependency.
package dem
