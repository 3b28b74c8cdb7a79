// Package demtest writes Source 2 demos for tests and benchmarks: bit streams, protobuf messages, records, packets,
// string tables, schemas and entities, each plainly and with no thought of speed. It also makes long demos by repeating
// the packets of a real one. It shares no code with the decoder.
package demtest
