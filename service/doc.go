// Package service is the daemon: it serves decoded events of replays over gRPC.
//
// # Parts
//
// The packages below do not import this one. Each one's documentation has its contract.
//
//	access/      who calls, and what a token may see
//	admission/   how much callers may take, of memory, streams and processor time
//	catalog/     roots, names, listing
//	checkpoint/  states of decoders, to start from
//	codec/       the contract of a format: its events as protobuf bytes; registry/ is the one list of formats
//	cursor/      positions in streams, from which clients resume
//	feed/        one live replay, decoded once for all followers
//	filter/      which events a stream delivers
//	frame/       responses as ready bytes
//	h2guard/     limits of HTTP/2 connections
//	index/       what is known of the files below the roots
//	source/      opening bytes: plain, compressed, growing, uploaded
//	plain/       the API by plain HTTP
//	stream/      one subscription
//	streamtest/  what a stream promises, for tests
//	succession/  which replay comes after another
//	temporary/   replays that clients have stored
//	watch/       when files and directories may have changed
//
// # Files
//
// Calls of the API, each in a file of its own:
//
//	stream_events.go   StreamEvents: which replay a request means, and waiting for one that is not there yet
//	decode_replay.go   DecodeReplay: uploads
//	create_replay.go   CreateReplay and DeleteReplay: temporary replays
//	list_replays.go    ListReplays
//	get_replay.go      GetReplay, and the views that it shares with ListReplays
//	watch_replays.go   WatchReplays
//	server.go          Server, its configuration, and the other calls
//
// What streams are made of:
//
//	request.go      a request's fields as the configuration of a subscription
//	subscribe.go    newReplay: the replay of a subscription, and the ownership of its file
//	follower.go     a file that grows
//	feeds.go        the feeds of files that several calls follow
//	chain.go        successors: the next replay of the same game server
//	late_bytes.go   bytes appended to replays after their streams moved on
//	maps.go         the maps of games
//
// Around the handlers:
//
//	daemon.go     the gRPC server: interceptors, limits of the transport, health, shutting down
//	methods.go    runs interceptors at the headers of calls
//	web.go        Connect and gRPC-Web, for browsers
//	body.go       bodies by the web, which are not read before the gate
//	admit.go      the cost of calls, and who is charged
//	memory.go     the memory of decoders
//	deadlines.go  ends calls even if their handlers do not return
//	send.go       sends responses, past the interceptors
//	scope.go      what a caller may see
//	status.go     errors as statuses
//	describe.go   descriptions of replays
//	formats.go    the formats that are decoded
//	enums.go      the API's enums and those of the packages below
//	metrics.go    figures for Prometheus
package service
