// Package protoscan reads the protobuf messages of a stream without unmarshalling them: field by field, and by the numbers of the
// fields that make up the envelope of its events. A batch of events is most of what a stream carries, and whoever forwards it,
// prints it or picks some of its events needs no message of each.
package protoscan
