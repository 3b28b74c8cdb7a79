// Package shipment carries growing files over NATS JetStream: the form in which their bytes lie in a stream, and what both ends do with
// it. Package ship puts the files of a directory into a stream, and package mirror makes files of them again.
//
// # What is stored
//
// A stream has two subjects for each file: PREFIX.SOURCE.PATH.tail and .body. The prefix is the name of the stream with dots instead of hyphens. The
// source is the name of the machine or the directory that the files come from. The path is one token: see [Subject]. A [Message] has
// bytes of the file and the offset at which they are, and never more than [MaxChunk] of them.
//
// Each message names the message of its subject that it follows (Nats-Expected-Last-Subject-Sequence). So nothing is ever there twice
// or out of order, whoever sends, and however often: after an answer that did not come, a sender looks at the last message of
// the subject and goes on behind it. One message of a file is on its way at a time, because the next one has to name its
// sequence number.
//
// The last bytes of a file are in its [Tail], in messages as small as the writes beside the game server. Since each takes some hundred
// bytes in addition, a sender now and then puts the same bytes into one large message of the [Body] and purges the tail. In the order of the
// stream, the messages of a file have all of its bytes, some of them twice.
//
// # States
//
// What became of a file is in a stream of its own ([StatesStream]), under PREFIX.SOURCE.PATH.state, of which the last message stays. Room is
// reserved for it. So a file can leave a stream that is full. A state may be read before the bytes that it speaks of, or after them: it
// holds for its generation alone, and unless the file is longer.
//
// # Generations
//
// A [Generation] identifies the file that has the path. It has a hash of the first bytes, by which a sender that was started again
// recognises the file, and a number that no other generation has, so that a file that was cut and written anew is told
// apart. A message at offset 0 with another generation begins another file at the path. What is in the subject before that is of no use
// any more, and is purged.
//
// # The end of a file
//
// A message of the kind [Finished] has the length and the SHA-256 of the whole file. [Archived] says that the same bytes are in a
// bucket, under SOURCE/PATH, also if the stream did not have all of it; the bytes are purged. [Removed] says that the file is
// gone. [Archived] and [Removed] are purged when nobody needs them any more.
//
// Everything in a stream may come from anybody who may publish there: [Decode] and [ParseSubject] refuse what a sender would not write.
package shipment
