// Command same prints what the Go client yields for every replay of a daemon, so that clients/test can compare the
// languages. same.py and same.mjs print the same for theirs:
//
//	same ADDRESS DIRECTORY
//
// DIRECTORY is the daemon's only root. For each replay and each way to read it there is a line: the way, the name, how many
// events came, a hash of them, and how it ended. The ways are rows, columns, an upload, the state at the end (NAME@end), and
// the last 200 events with the state before them and with resolved players, as rows and as columns (NAME@last).
//
// The hash is the SHA-256 of all events in canonical form. That is their JSON, written so that every language can: an
// object is "{", its members sorted by name, each the name's string and the value, and "}"; an array is "[", its
// elements, and "]"; a string is its length in bytes in decimal, ":", and its UTF-8; a number is "#" and its IEEE 754
// double as 16 hexadecimal digits; true, false and null are "t", "f" and "n".
package main
