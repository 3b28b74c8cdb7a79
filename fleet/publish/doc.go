// Package publish puts the events of replays into NATS JetStream, once each, for consumers without gRPC.
//
// A [Publisher] is a client of a daemon. Each replay has one subject, and a message has a run of its events; the headers of a
// message say which. docs/messages.md describes subjects, headers and payloads for consumers.
//
// # Once
//
// Every message is published on the condition that its subject's last message is the one that the publisher knows. If
// another publisher was faster, or an acknowledgement was lost, the condition fails or the outcome is unknown. Then the
// publisher reads the last message of the subject, whose headers say where to go on: at its cursor, after its last event. So
// it does not matter how often publishers are killed, how many there are, or for how long NATS remembers ids.
//
// All publishers of a subject must select the same events. The last message has a hash of the selection; another selection is
// refused with [ErrSelection].
//
// # Names
//
// The subject of a replay has its identity before its name. So a replay that is renamed goes on under the subject of its first
// message, and a file that replaces another one has another subject.
//
// # Waiting
//
// If NATS or the daemon is away, a publisher waits for it, for as long as it takes. A replay has one response of the daemon and
// one message in memory; the daemon's flow control holds back the rest.
package publish
