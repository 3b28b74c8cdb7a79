// Package opened opens the replays that streams need: files as they are, files that grow, and what clients send.
//
// [Opener.Open] and [Opener.Upload] turn a request into the configuration of a stream, which then owns everything that was opened.
// [Alone] does so without a daemon.
//
//	opened.go   the three kinds of replays, and who owns their files, memory and followers
//	request.go  a request's fields as the configuration of a stream
//	wanted.go   what a request selects of a replay
//	find.go     which replay a request means, and waiting for one that is not there yet
//	memory.go   the memory of decoders
//	growing.go  a file that grows
//	feeds.go    the feeds of files that several calls follow
//	chain.go    successors: the next replay of the same game server
//	leaving.go  leaves a file that grows as soon as another replay begins
//	left.go     bytes appended to replays after their streams moved on
package opened
