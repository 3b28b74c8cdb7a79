// Package mirror makes files of a stream of package shipment, and serves them as a catalog.Store. The files lie in a private directory, in
// which they grow as the ones beside the game server do: whoever reads or watches them needs to know nothing of the stream.
//
// # What is written
//
// A file is written at its end only: a message whose offset is not the length so far is ignored. So is everything else that a
// sender would not write. A message that was delivered twice changes nothing.
//
// Each source has a share of the bytes and files. A file for which there is no room waits alone: what comes of it meanwhile is left out,
// and read again from the stream when there is room. Whoever follows it waits, too.
//
// A file gets the time of its last write beside the game server, so that it is silent here when it is silent there. A time in the future
// counts as now: the clocks of the machines should agree to a few seconds.
//
// Another generation of a file is another file: it takes the place of the old one at once.
//
// # Where it comes from
//
// After a start, everything is read again from the stream, which has the files of games that are not over. With Options.Keep that
// is only what came since an earlier Mirror of the directory ended, however it did. Until that is done, the Store answers nothing
// but source.ErrStore, because a file that is not there yet may be there in a moment. While NATS is away, the files are there,
// and do not grow. A lost stream is sent again by the shippers that have the files, and compared with the bytes that are here
// already. A generation that begins with the same bytes in a stream that was made anew is the same file.
//
// # The archive
//
// A file that was archived is served from the mirror until the archive has it and nobody reads it here. It keeps its name. The
// archive is listed at its interval, and asked for names that are not known.
package mirror
