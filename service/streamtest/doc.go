// Package streamtest checks what clients of StreamEvents are promised (docs/guarantees.md) on what they received.
//
// A [Client] records: each call is a [Session], which keeps every response as the bytes that came over the network. A
// [History] is all sessions of one logical subscription. Each but the first is resumed by the last cursor that the one
// before it received. [Offline] decodes the same replays without any of the daemon's streaming. [Check]
// compares the two and returns every broken promise: events lost, twice, in another order or changed;
// sequence numbers that do not count; omissions that nobody announced; responses without a cursor; a start that is not
// first and an end that is not last; progress that goes back.
//
// An [Oracle] knows the whole of one replay and answers which of its events any request must get, by what the
// documentation says of filters and starts. A [Maker] makes random requests; [Oracle.Judge] holds what came to the oracle.
// TestRandomRequests of package service makes them by all transports, as uploads, and following files that grow:
//
//	go test ./service -run TestRandomRequests                                       # the samples, a few requests
//	go test ./service -run TestRandomRequests -corpus -requests 5000 -timeout 5h    # the corpus, 5,000 of each format
//
// -seed makes others, and -only narrows it to files whose path contains a text. A failure prints the request.
//
// How a history came about does not matter to Check: files written byte by byte, daemons killed, networks cut. It is the
// one judge of all such tests.
package streamtest
