// Package arrowipc makes Arrow of the tables of package table: schemas, record batches whose buffers are the columns' own, and
// the messages of Arrow's IPC stream format.
package arrowipc
