// Package service is the daemon: it serves decoded events of replays over gRPC.
//
//	catalog/    roots, names, listing
//	source/     opening bytes: plain, compressed, growing
//	watch/      when files and directories may have changed
//	codec/      a format's events as protobuf wire bytes
//	filter/     which events a stream delivers
//	cursor/     where a stream goes on
//	checkpoint/ states of decoders, to start from
//	stream/     one subscription
//	feed/       one live replay, shared by all who follow it
//	frame/      responses as ready bytes
//	eventjson/  events as JSON lines, for people
//
// Here are the handlers (server.go), how requests become subscriptions (request.go), how errors become statuses
// (status.go), and what stands around the handlers: interceptors, limits, health, reflection, shutting down (daemon.go).
package service
