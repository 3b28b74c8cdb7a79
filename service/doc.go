// Package service is the daemon: it serves decoded events of replays over gRPC.
//
// # Parts
//
// The packages below do not import this one. Each one's documentation has its contract.
//
//	access/      who calls, and what a token may see
//	admission/   how much callers may take, of memory, streams and processor time
//	catalog/     roots, names, listing
//	describe/    the formats that are decoded, and descriptions of replays
//	fault/       errors that say which status clients get
//	feed/        one live replay, decoded once for all followers
//	frame/       responses as ready bytes
//	h2guard/     limits of HTTP/2 connections
//	index/       what is known of the files below the roots
//	opened/      opens the replays of streams: files, files that grow, uploads, successors
//	plain/       the API by plain HTTP
//	scope/       which replays a caller may see
//	stream/      one subscription
//	streamtest/  what a stream promises, for tests
//	subscription/ many replays as one stream
//	succession/  which replay comes after another
//	temporary/   replays that clients have stored
//	watch/       when files and directories may have changed
//
// # Files
//
// Calls of the API, each in a file of its own:
//
//	stream_events.go   StreamEvents
//	decode_replay.go   DecodeReplay: uploads
//	follow_broadcast.go FollowBroadcast
//	create_replay.go   CreateReplay and DeleteReplay: temporary replays
//	list_replays.go    ListReplays
//	get_replay.go      GetReplay, and the views that it shares with ListReplays
//	get_report.go      GetReport
//	watch_replays.go   WatchReplays
//	subscribe_events.go SubscribeEvents
//	server.go          Server, its configuration, and the other calls
//
// Around the handlers:
//
//	daemon.go     the gRPC server: interceptors, limits of the transport, health, shutting down
//	methods.go    runs interceptors at the headers of calls
//	web.go        Connect and gRPC-Web, for browsers
//	body.go       bodies by the web, which are not read before the gate
//	admit.go      the cost of calls, and who is charged
//	deadlines.go  ends calls even if their handlers do not return
//	send.go       sends responses, past the interceptors
//	status.go     errors as statuses
//	maps.go       the maps of games
//	metrics.go    figures for Prometheus
//	guessed.go    counts StarCraft II replays without a table of their own
package service
