// Package stream is one subscription: it finds the start position, fills batches, sends heartbeats, follows a file that
// grows, and ends. It knows neither files nor gRPC: it reads a source.Input and sends frames to a function.
//
// It keeps the promises of docs/guarantees.md: events in order, without gaps and duplicates, progress reported, memory
// bounded by a few batches. Everything runs in the caller's goroutine, but for pushes (see push.go).
package stream
