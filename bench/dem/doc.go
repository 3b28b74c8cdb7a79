// Package dem compares replayd's decoder of Source 2 demos with others, side by side in one run:
//
//	go test -bench . -benchtime 3x
//
// It is a separate module, so that replayd does not depend on the other decoders.
package dem
