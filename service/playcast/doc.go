// Package playcast follows HTTP broadcasts of running matches, as Counter-Strike 2 and Deadlock servers and their relays serve them to
// spectators, and writes each as a demo that grows. Whoever serves the directory serves the match: there is nothing else to know about it.
//
// A [Match] is one broadcast, by its URL. Its files are in a directory of their own:
//
//	2026-11-25T20-15-01Z.dem    the match from the fragment at which the Match came
//	2026-11-25T20-31-40Z.dem    the same match after a hole: the relay had dropped fragments before they could be read
//	.2026-11-25T20-31-40Z.dem.previous    the identity of the file before it: see catalog.Catalog.Previous
//	.playcast.json              where the Match is, for the next start
//	.playcast.lock              held by the process that writes
//
// Only the record Stop, or a game that was silent for [Match.Silence], ends a broadcast. A relay that is away, overloaded or restarted is
// asked again for as long as it takes. Bytes of a file are never written twice nor taken back: a killed process fetches the last
// fragment again and continues where the file ends. When that fragment is gone, the file ends there, without Stop, and the next one
// begins. So it does when somebody removes the file.
//
// A relay is asked at most once in [Match.Pace], also while the Match catches up. What is read is bounded in size and time. Nothing is
// reached that the operator did not name: redirects lead to paths below the URL alone, and addresses of private networks need
// [Match.Networks], unless the URL itself has the address.
//
// Protocol: sync (JSON) names a fragment; then start, full and delta of it, and delta of each that follows. 404 and 405 mean not yet, or
// no more. (The reference relay and two recorded broadcasts; docs/formats/dem.md has the form of the bodies.)
package playcast
