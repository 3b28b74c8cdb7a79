// Package arrow compares columns, as ENCODING_COLUMNS has them, with record batches of Apache Arrow: what it takes to encode
// them. read.py has the other side.
//
//	PYTHONPATH=clients/python/src .cache/python/bin/python bench/arrow/read.py bin/replayd RECORDING .cache/responses
//	RESPONSES=$PWD/.cache/responses go test -C bench/arrow -bench .
package arrow
