// Command same prints what this language's client makes of every replay of a daemon, so that clients/test can compare the
// languages. same.py and same.mjs do the same:
//
//	same ADDRESS DIRECTORY
//
// DIRECTORY is the daemon's only root. For each replay and each way to read it (rows, columns, an upload) there is a
// line: the way, the name, how many events came, a hash of them, and how it ended.
//
// The hash is the SHA-256 of all events in canonical form. That is their JSON, written so that every language can: an
// object is "{", its members sorted by name, each the name's string and the value, and "}"; an array is "[", its
// elements, and "]"; a string is its length in bytes in decimal, ":", and its UTF-8; a number is "#" and its IEEE 754
// double as 16 hexadecimal digits; true, false and null are "t", "f" and "n".
package main
