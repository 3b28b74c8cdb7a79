// Package archive keeps the tables of many replays: one Apache Iceberg table for each kind of each format, with the rows of all
// replays, which engines read without this program.
//
// Exports are staged: one file for each replay, below [export.StagedDir]. [Archive.Merge] writes their rows to files of Parquet and
// commits them. Any number of processes may stage; one at a time merges, which holds a lease.
//
// The log decides what the archive has: a record for each commit, with a number, which is put only if there is none of that number. So
// of two processes that believe to have the lease one fails, and a process that was killed has committed all of its
// rows or none. Everything that engines read follows from the log alone: whoever merges next writes what is missing of it, the same
// bytes. A record names all files of its commit; other files are from commits that failed, and are removed after a record
// has made sure that they can no longer be committed.
//
// A replay that is staged with other contents replaces its rows. They stay in their files, and a file of deleted positions
// says so. A commit that rewrites moves rows to other files, without those that are deleted; a table then has other files and other manifests, and
// the old ones stay as long as was promised.
package archive
