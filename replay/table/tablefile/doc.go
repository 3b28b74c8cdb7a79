// Package tablefile writes record batches to files: Parquet, Arrow's IPC file format, CSV and JSON lines. Texts of dictionaries
// are written as texts; Parquet makes dictionaries of its own.
//
// Parquet files are written a row group at a time. Each column makes its pages when their values are there. Pages wait encoded and compressed
// for the end of the row group, in a [Budget] of memory that all open files share, and in files when the budget is used up. The encodings and
// the descriptions are those of parquet-go; its own writer would keep the pages and dictionaries of all columns of a row group in memory.
package tablefile
