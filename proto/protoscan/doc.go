// Package protoscan reads the protobuf messages of a stream without unmarshalling them: field by field, with the numbers of the
// fields that make up the envelope of its events. Batches of events are most of a stream, and a program that forwards them,
// prints them or picks some of their events needs no message for each event.
package protoscan
