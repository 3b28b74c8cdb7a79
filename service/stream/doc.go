// Package stream is one subscription: it finds the start position, fills batches, sends heartbeats, follows a file that
// grows, and ends. It knows neither files nor gRPC: it reads a source.Input and sends frames to a function.
//
// Its promises are those of docs/guarantees.md: ordered, without gaps and duplicates, progress announced, memory bounded
// by a few batches. Everything runs in the caller's goroutine.
package stream
