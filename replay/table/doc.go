// Package table collects events as columns, one table for each kind of events. It knows neither formats nor Arrow: generated
// code (replay/codec/<format>/tables.gen.go) describes the tables and appends a decoder's structs to them, and
// replay/table/arrowipc makes Arrow record batches of the columns without copying them.
//
// The columns of a table are one slice in preorder: a column of structs is followed by the columns of its fields, and a column
// of lists by the column of its elements. So the generated code appends to columns by constant indices, and nothing is boxed.
package table
