// Package arrow compares the cost of encoding the columns of ENCODING_COLUMNS and record batches of Apache Arrow. read.py compares
// the cost of decoding.
//
//	PYTHONPATH=clients/python/src .cache/python/bin/python bench/arrow/read.py bin/replayd RECORDING .cache/responses
//	RESPONSES=$PWD/.cache/responses go test -C bench/arrow -bench .
package arrow
