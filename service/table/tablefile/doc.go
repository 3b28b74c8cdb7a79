// Package tablefile writes record batches to files: Parquet, Arrow's IPC file format, CSV and JSON lines. Texts of dictionaries
// are written as texts; Parquet makes dictionaries of its own.
//
// Parquet files are written with Arrow's package parquet/file, column by column, so that a row group needs little more memory than
// its record batches. Arrow's pqarrow writes dictionaries of names that differ from batch to batch only after casting them.
package tablefile
