// Package datafiletest writes datafiles for tests and benchmarks. [Writer] writes the container, from items and blobs.
// [MapWriter] writes a map, from the events that a decoder delivers. The package shares nothing with the decoder but
// its events.
package datafiletest
