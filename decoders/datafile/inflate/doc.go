// Package inflate unpacks zlib streams, made for those of maps: nearly all of their bytes are runs of the same few, of which a stream has
// a match of two bits for 258 bytes. So a Reader takes equal matches together, copies a run from as far back as it is periodic, and
// sums it by a formula. It gives its own memory away instead of copying to the caller.
//
// The formats are those of RFC 1950 (zlib, with Adler-32) and RFC 1951 (deflate). What is delivered, and which error ends it, is what
// compress/zlib of the standard library does, with which the tests compare. A Reader's memory does not depend on the stream.
package inflate
