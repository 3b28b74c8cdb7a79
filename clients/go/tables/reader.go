// Package tables reads the events of a replay as record batches of Apache Arrow, with a column for each field. It is a package of
// its own, so that programs without tables do not contain the Arrow library.
//
//	reader, err := tables.NewReader(ctx, client, "player_diff", &replaydv1.StreamEventsRequest{Replay: name})
//	if err != nil {
//		return err
//	}
//	defer reader.Release()
//	for reader.Next() {
//		x := reader.RecordBatch().Column(6).(*array.Int32)
//		...
//	}
//	return reader.Err()
//
// docs/events lists each kind's columns, docs/tables.md those that all tables have.
package tables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/proto"

	replayd "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Reader reads the events of one kind of a replay. It implements [array.RecordReader], so that arrow-go's writers and tables
// accept it.
//
// A Reader has one reference when it is made, and its last [Reader.Release] ends the stream. It belongs to one goroutine.
type Reader struct {
	kind   string
	stream *replayd.Stream
	next   func() (*replayd.Batch, error, bool)
	stop   func()
	refs   atomic.Int64

	wire   []byte // the message with the schema, which the daemon sends once
	schema *arrow.Schema
	record arrow.RecordBatch
	ahead  bool // record was read to learn the schema, and Next has not returned it yet
	state  bool
	cursor []byte
	err    error
}

var _ array.RecordReader = (*Reader)(nil)

// NewReader returns a reader of the events of one kind, such as "player_diff". The request is copied. It selects the replay, where
// to start, whether to follow it, and which of the events to read; its include filters must have no kinds, and its encoding is
// ignored. Like all streams, it is resumed if the connection breaks; see [replayd.Stream].
//
// It makes no call yet: errors of the daemon are those of [Reader.Err].
func NewReader(ctx context.Context, c *replayd.Client, kind string, req *replaydv1.StreamEventsRequest) (*Reader, error) {
	of, err := request(kind, req)
	if err != nil {
		return nil, err
	}
	return newReader(kind, c.Stream(ctx, of)), nil
}

// NewUploadReader is like [NewReader], for a replay that is uploaded from r; see [replayd.Client.Decode].
func NewUploadReader(ctx context.Context, c *replayd.Client, kind string, r io.Reader, req *replaydv1.StreamEventsRequest) (*Reader, error) {
	of, err := request(kind, req)
	if err != nil {
		return nil, err
	}
	return newReader(kind, c.Decode(ctx, r, of)), nil
}

// request returns a copy of a request that asks for tables of one kind.
func request(kind string, req *replaydv1.StreamEventsRequest) (*replaydv1.StreamEventsRequest, error) {
	of := &replaydv1.StreamEventsRequest{}
	if req != nil {
		of = proto.CloneOf(req)
	}
	of.Encoding = replaydv1.Encoding_ENCODING_ARROW
	if of.GetNarrowColumns() {
		return nil, errors.New("replayd: narrow_columns is not possible here: all record batches of a reader have one schema")
	}
	if len(of.GetInclude()) == 0 {
		of.Include = replayd.Kinds(kind)
		return of, nil
	}
	for i, filter := range of.GetInclude() {
		if len(filter.GetKinds()) > 0 {
			return nil, fmt.Errorf("replayd: include[%d] has kinds, but the kind is given beside it: %s", i, kind)
		}
		filter.Kinds = []string{kind}
	}
	return of, nil
}

func newReader(kind string, s *replayd.Stream) *Reader {
	r := &Reader{kind: kind, stream: s}
	r.next, r.stop = iter.Pull2(s.Batches())
	r.refs.Store(1)
	return r
}

// Retain adds a reference.
func (r *Reader) Retain() { r.refs.Add(1) }

// Release removes a reference. The last one releases the current record batch and ends the stream.
func (r *Reader) Release() {
	if r.refs.Add(-1) == 0 {
		r.drop()
		r.stop()
	}
}

// Schema returns the columns. Before the first Next it waits for the first record batch, which may take long for a live replay.
// It returns nil if there was none, because of an error, or because the daemon is too old to send the schema of a kind without
// events.
func (r *Reader) Schema() *arrow.Schema {
	if r.schema == nil && !r.ahead && r.err == nil {
		r.ahead = r.advance()
	}
	return r.schema
}

// Next goes to the next record batch, which has at least one row. It returns false at the end and after an error.
func (r *Reader) Next() bool {
	if r.ahead {
		r.ahead = false
		return true
	}
	return r.advance()
}

// RecordBatch returns the current record batch. It is valid until the next call of Next, or until the reader is released; to use
// it longer, Retain it, and Release it afterwards. It is nil before the first Next and after the last.
func (r *Reader) RecordBatch() arrow.RecordBatch {
	if r.ahead {
		return nil
	}
	return r.record
}

// Record is the old name of [Reader.RecordBatch], which [array.RecordReader] still has.
func (r *Reader) Record() arrow.RecordBatch { return r.RecordBatch() }

// Err returns why Next returned false: nil at the end of the replay, otherwise mostly a [*replayd.Error].
func (r *Reader) Err() error { return r.err }

// Cursor resumes exactly after the current record batch: a request with it as its start reads the rows after it. Store it together
// with the results of the rows.
func (r *Reader) Cursor() []byte { return r.cursor }

// IsState reports that the rows of the current record batch describe the state at the start position (Start.with_state). They
// have no offset and index.
func (r *Reader) IsState() bool { return r.state }

// Stream returns the stream that is read: which replay it is, whether it follows, how it ended. It must not be looped over.
func (r *Reader) Stream() *replayd.Stream { return r.stream }

func (r *Reader) drop() {
	if r.record != nil {
		r.record.Release()
		r.record = nil
	}
}

// advance reads the next record batch with rows.
func (r *Reader) advance() bool {
	r.drop()
	for r.err == nil {
		batch, err, ok := r.next()
		if !ok {
			return false
		}
		if r.err = err; err != nil {
			return false
		}
		for _, t := range batch.Tables() {
			if t.GetKind() != r.kind {
				continue
			}
			if r.err = r.read(t); r.err != nil {
				return false
			}
			if r.record.NumRows() > 0 {
				r.state, r.cursor = batch.State, batch.Cursor
				return true
			}
			r.drop() // it only has the schema
		}
	}
	return false
}

// read sets the record batch to a table's.
func (r *Reader) read(t *replaydv1.Table) error {
	if schema := t.GetSchema(); len(schema) > 0 {
		r.wire = schema
	}
	source, err := ipc.NewReader(io.MultiReader(bytes.NewReader(r.wire), bytes.NewReader(t.GetData())))
	if err != nil {
		return fmt.Errorf("replayd: table %s: %w", r.kind, err)
	}
	defer source.Release()
	if r.schema == nil {
		r.schema = source.Schema()
	}
	if !r.schema.Equal(source.Schema()) {
		return fmt.Errorf("replayd: table %s: other columns than before", r.kind)
	}
	record, err := source.Read()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("replayd: table %s: %w", r.kind, err)
	}
	record.Retain()
	r.record = record
	return nil
}
