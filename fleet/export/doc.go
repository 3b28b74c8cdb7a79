// Package export writes the tables of a replay: one file for each kind, one with the row of the replay, and last a manifest. A replay
// with a manifest is complete. Files without a manifest are from an unfinished export; the next export replaces them.
//
// Files are drafts in a local directory until the replay has been read to its end. Then they go to their [Place], a directory or a
// part of a bucket, each at once or not at all. The bytes depend on the replay, its name, the selection and the program's version.
// So an export that was killed is repeated, and two that run at the same time write the same.
package export
