// Package tablefile writes record batches to files: Parquet, Arrow's IPC file format, CSV and JSON lines. Texts of dictionaries
// are written as texts; Parquet makes dictionaries of its own.
//
// Parquet files are written with Arrow's package parquet/file, a row group at a time and column by column. Rows wait compressed until
// then, in a [Budget] of memory that all open files share. When the budget is used up, they wait in files. Arrow's pqarrow writes dictionaries of
// names that differ from batch to batch only after casting them.
package tablefile
