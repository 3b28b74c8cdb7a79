// Package demtest writes Source 2 demos for tests and benchmarks: bit streams, protobuf messages, records, packets,
// string tables, schemas and entities. The code is plain and not written for speed. The package also makes long demos:
// matches with a ledger of what happened, and real demos whose packets repeat. It shares no code with the decoder.
package demtest
