// Package service is the daemon: it serves decoded events of replays over gRPC.
//
// # Parts
//
// The packages below do not know this one. Each says in its own doc.go what it promises.
//
//	access/      who calls, and what a token may see
//	admission/   how much callers may take, of memory, streams and processor time
//	catalog/     roots, names, listing
//	checkpoint/  states of decoders, to start from
//	codec/       what a format must bring: its events as protobuf bytes; registry/ is the one list of formats
//	cursor/      where a stream goes on
//	feed/        one live replay, shared by all who follow it
//	filter/      which events a stream delivers
//	frame/       responses as ready bytes
//	h2guard/     limits of HTTP/2 connections
//	index/       what is known of the files below the roots
//	source/      opening bytes: plain, compressed, growing, uploaded
//	plain/       the API by plain HTTP
//	stream/      one subscription
//	streamtest/  what a stream promises, for tests
//	succession/  which replay comes after another
//	watch/       when files and directories may have changed
//
// # Files
//
// Calls of the API, each in a file of its own:
//
//	stream_events.go   StreamEvents: which replay a request means, and waiting for one that is not there yet
//	decode_replay.go   DecodeReplay: uploads
//	list_replays.go    ListReplays
//	get_replay.go      GetReplay, and the views that it shares with ListReplays
//	watch_replays.go   WatchReplays
//	server.go          Server, its configuration, and the other calls
//
// What streams are made of:
//
//	request.go      what a request says of a subscription
//	subscribe.go    what is streamed: newReplay builds it, and owns the file
//	follower.go     a file that grows
//	feeds.go        the feeds of files that several calls follow
//	chain.go        one replay after another
//	late_bytes.go   what is written to replays that chains have left
//	maps.go         the maps of games
//
// What stands around the handlers:
//
//	daemon.go     the gRPC server: interceptors, limits of the transport, health, shutting down
//	web.go        Connect and gRPC-Web, for browsers
//	admit.go      what calls cost, and who pays
//	deadlines.go  calls end, whatever their handlers do
//	send.go       responses, past the interceptors
//	scope.go      what a caller may see
//	status.go     errors as statuses
//	describe.go   descriptions of replays
//	formats.go    the formats that are decoded
//	enums.go      the API's enums and those of the packages below
//	metrics.go    figures for Prometheus
package service
