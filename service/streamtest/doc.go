// Package streamtest checks that the responses received by clients of StreamEvents keep the guarantees of docs/guarantees.md.
//
// A [Client] records calls. Each call is a [Session], which keeps every response as the bytes received from the network. A
// [History] consists of all sessions of one logical subscription. Each session except the first is resumed with the last
// cursor of the session before it. [Offline] decodes the same replays without any of the daemon's streaming. [Check] compares
// the two and returns every broken guarantee. These are events that are missing, repeated, reordered or changed; gaps in the
// sequence numbers; omissions without an announcement; responses without a cursor; a start that is not first and an end that
// is not last; and progress that goes backwards.
//
// An [Oracle] has all events of one replay. It decides which of them a request must receive, according to the documentation
// of filters and starts. A [Maker] makes random requests. [Oracle.Judge] compares a session with the oracle.
// TestRandomRequests of package service sends such requests with all transports, as uploads, and following growing files:
//
//	go test ./service -run TestRandomRequests                                       # the samples, a few requests
//	go test ./service -run TestRandomRequests -corpus -requests 5000 -timeout 5h    # the corpus, 5,000 of each format
//
// The flag -seed makes other requests, and -only selects the files whose path contains a text. A failure prints the request.
//
// Check does not depend on how a history was recorded. Files may be written byte by byte, daemons killed, and networks cut.
// All such tests use it.
package streamtest
