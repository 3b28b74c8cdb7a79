// Command same prints a summary of the events that the Go client yields for every replay of a daemon. same.py and same.mjs
// print the same for their languages, and clients/test compares the output:
//
//	same ADDRESS DIRECTORY
//
// DIRECTORY is the daemon's only root. The output has a line for each replay and each way to read it. A line contains the way,
// the name, the number of events, a hash of the events, and the reason of the end. The ways are rows, columns, an upload, the
// state at the end (NAME@end), and the last 200 events with the state before them (NAME@last). The last way is used for rows
// and for columns, and resolves the players of teehistorian files.
//
// The hash is the SHA-256 of all events in canonical form. The canonical form encodes their JSON so that every language can
// write it:
//
//   - An object is "{", its members sorted by name, and "}". A member is its name as a string, and its value.
//   - An array is "[", its elements, and "]".
//   - A string is its length in bytes in decimal, ":", and its UTF-8.
//   - A number is "#" and its IEEE 754 double as 16 hexadecimal digits.
//   - true, false and null are "t", "f" and "n".
//
// These read requests from the standard input, one JSON line each, {"address": "HOST:PORT", "request": StreamEventsRequest}, and print the
// events of each as JSON lines, and behind them {"end": REASON}, which is empty unless the stream failed. The test of random requests
// (service/random_programs_test.go) makes its requests by them, too:
//
//	each.py
//	each.mjs
//
// facts.golden has the facts of some files: of each kind their number, and a hash of all in canonical form, without their sequence
// numbers; of the samples also the first one. A test writes and checks it. These compare the facts that the Python and the TypeScript client
// receive of uploads of the files, and page/test/facts.test.js does it for the page:
//
//	same.py ADDRESS DIRECTORY facts.golden
//	same.mjs ADDRESS DIRECTORY facts.golden
//
// DIRECTORY is the repository. Files of the corpus are left out where it is not available.
package main
