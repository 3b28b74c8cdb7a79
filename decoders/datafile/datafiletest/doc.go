// Package datafiletest writes datafiles for tests and benchmarks: [Writer] the container out of items and blobs,
// [MapWriter] a map out of the events that a decoder delivers. It shares nothing with the decoder but its events.
package datafiletest
