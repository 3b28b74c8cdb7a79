// Package position encodes and decodes the positions of a batch's events, which travel in EventBatch.offsets and
// EventBatch.indexes: mostly one byte for each event.
//
//	list.go    List, which makes the two fields
//	reader.go  Reader, which reads them
package position
