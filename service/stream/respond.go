package stream

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/proto/protoscan"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/service/frame"
)

// batchBytes is the size at which a batch is full. One more event of the largest size still fits below MaxResponseBytes.
const batchBytes = 128 << 10

// TableBytes returns the largest size at which a batch of tables of some kinds may be full. If one more row is known to fit, or readers
// leave what does not, such a batch nearly fills a response. Clients gain by long arrays.
func TableBytes(c *codec.Codec, l *table.Layout, has func(kind uint8) bool) int {
	row := codec.UsualRowBytes
	for k := 1; k < len(l.Format.Kinds) && !c.LeavesRows; k++ {
		switch _, known := l.MaxRow(uint8(k)); {
		case known || !has(uint8(k)):
		case c.MaxRow == 0:
			return DefaultTableBytes
		default:
			row = codec.UsualRowBytes + c.MaxRow
		}
	}
	const bits = maxTables / 33 // that mark missing values: one for at least four bytes
	return maxTables - bits - row
}

// tables is the pool of the memory of encoded tables.
var tables = frame.NewPool(DefaultTableBytes)

// buffers is the pool of the batches' memory.
var buffers = frame.NewPool(batchBytes / 2)

// borrowBuffer empties the batch and gives it memory from the pool.
func (s *stream) borrowBuffer() {
	if s.batch.Tables != nil {
		s.batch.Reset()
		return
	}
	if s.events == nil {
		s.events = buffers.Get(0)
	}
	s.batch.Reset()
	s.batch.Events = (*s.events)[:0]
}

// returnBuffer returns the memory of an empty batch to the pool, and frees the memory of large tables.
func (s *stream) returnBuffer() {
	if s.batch.Tables != nil && s.batch.Count == 0 {
		s.batch.Tables.Trim()
	}
	if s.events != nil && s.batch.Count == 0 {
		*s.events = s.batch.Events
		buffers.Put(s.events)
		s.events, s.batch.Events = nil, nil
	}
}

// flush sends the batch if it has events.
func (s *stream) flush() error {
	if s.batch.Count == 0 {
		return nil
	}
	var encoded mem.Buffer
	columns := s.batch.Tables != nil && s.passesColumns()
	if s.batch.Tables != nil && !columns {
		var err error
		if encoded, err = s.encodeTables(protoscan.BatchTables); err != nil {
			return err
		}
	}
	first := s.at.Sequence
	s.sent += uint64(s.batch.Count)
	s.at.Sequence += uint64(s.batch.Count)
	s.reach()
	if columns {
		defer s.batch.Reset()
		return s.transmit(s.outbox.Columns(s.batch.Tables, s.cursorBytes()))
	}
	if encoded != nil {
		s.batch.Reset()
		return s.transmit(s.outbox.Tables(frame.Head{First: first, Next: s.at.Sequence}, s.cursorBytes(), encoded))
	}
	head := frame.Head{First: first, Next: s.at.Sequence, List: s.list, Size: len(s.batch.Events) + len(s.batch.Tail)}
	list, parts := s.parts(make([]mem.Buffer, 0, 1))
	f := s.outbox.Batch(head, s.cursorBytes(), list, parts...)
	s.batch.Reset()
	if s.events == nil { // its memory belongs to the frame now
		s.batch.Events = nil
	}
	return s.transmit(f)
}

// sendEmptyTables sends a table without rows of each kind that the filters name and that had no table yet, so that a client knows
// its columns. A stream that starts from a cursor sends none: a client that is cut off after each batch and resumes would not
// reach the end.
func (s *stream) sendEmptyTables() error {
	if s.batch.Tables == nil || s.Start.Cursor != nil || s.passesColumns() {
		return nil
	}
	for kind := 1; kind < len(s.replay.Tables.Layout.Format.Kinds); {
		b := tables.Get(0)
		for ; kind < len(s.replay.Tables.Layout.Format.Kinds) && len(*b) < DefaultTableBytes; kind++ {
			if !s.replay.Options.Filter.Named(uint8(kind)) {
				continue
			}
			*b = s.replay.Tables.Encoder.AppendEmpty(*b, protoscan.BatchTables, s.batch.Tables, uint8(kind))
		}
		if len(*b) == 0 {
			tables.Put(b)
			return nil
		}
		head := frame.Head{First: s.at.Sequence, Next: s.at.Sequence}
		if err := s.transmit(s.outbox.Tables(head, s.cursorBytes(), tables.Buffer(b))); err != nil {
			return err
		}
	}
	return nil
}

// passesColumns reports whether the present replay's columns are passed on as they are.
func (s *stream) passesColumns() bool {
	return s.replay.Tables != nil && s.replay.Tables.Encoder == nil
}

// encodeTables encodes the tables of the batch as entries of a field of a response.
func (s *stream) encodeTables(field protowire.Number) (mem.Buffer, error) {
	b := tables.Get(0)
	*b = s.replay.Tables.Encoder.Append(*b, field, s.batch.Tables)
	if n := len(*b); n > maxTables {
		tables.Put(b)
		return nil, decoders.Errorf(s.replay.Codec.Format, s.at.Position.Offset, s.at.Tick, "table", decoders.ErrLimit,
			"%d events take %d bytes as tables", s.batch.Count, n)
	}
	return tables.Buffer(b), nil
}

// maxTables is the largest size of the tables in a response. It leaves room for the envelope.
const maxTables = MaxResponseBytes - 4<<10

// smallBatch is the size in bytes up to which a batch is copied out of the pool's buffer, so that a small batch that waits for
// the network does not hold a large buffer.
const smallBatch = 4 << 10

// parts returns the batch's bytes to be sent: those of the event list that others may have, too, and the rest with the fields of its
// positions, appended to a slice.
func (s *stream) parts(to []mem.Buffer) (list []byte, more []mem.Buffer) {
	b := &s.batch
	if b.Wire() != nil {
		return b.Wire(), to
	}
	if b.Shared() {
		rest := append(make([]byte, 0, len(b.Tail)+b.Places.Size()), b.Tail...)
		return b.Events, append(to, mem.SliceBuffer(b.Places.Append(rest)))
	}
	b.Events = b.Places.Append(append(b.Events, b.Tail...))
	if s.events == nil {
		return b.Events, to
	}
	*s.events = b.Events
	if n := len(b.Events); n <= smallBatch {
		return append(make([]byte, 0, n), b.Events...), to
	}
	part := buffers.Buffer(s.events)
	s.events = nil
	return nil, append(to, part)
}

// respond sends a response without events.
func (s *stream) respond(r *replaydv1.StreamEventsResponse) error {
	f, err := s.outbox.Of(r, s.cursorBytes())
	if err != nil {
		return err
	}
	return s.transmit(f)
}

func (s *stream) transmit(f *frame.Frame) error {
	if err := s.sender(f); err != nil {
		return &sendError{err}
	}
	if !s.outbox.Empty() {
		s.ahead = true
	}
	s.lastSent = time.Now()
	return nil
}

// cursorBytes returns the cursor after everything that was sent, nil while the replay's identity is not known. It is valid until
// the next call.
func (s *stream) cursorBytes() []byte {
	if s.at.Replay == 0 {
		return nil
	}
	return s.at.Append(s.cursor[:0])
}

// heartbeat sends a heartbeat if one is due. It sends none before the start, which is always first, and none before the
// status that announces a successor.
func (s *stream) heartbeat() error {
	if !s.entered || time.Since(s.lastSent) < s.Heartbeat {
		return nil
	}
	// The cursor must not pass events that wait in the batch, nor a gap that was not sent yet.
	if s.batch.Count == 0 && !s.dropping {
		s.reach()
	}
	present := s.onDisk()
	if s.replay.Follower != nil {
		size, _ := s.replay.Follower.Look()
		present = known(size)
	}
	return s.respond(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Heartbeat{
		Heartbeat: &replaydv1.Heartbeat{
			BytesRead: s.reader.Position().Offset, BytesPresent: present, Tick: s.reader.Tick(),
		},
	}})
}

// onDisk returns the replay's size on disk for a heartbeat, nil if it is not known.
func (s *stream) onDisk() *int64 { return known(s.replay.Present) }

// known returns a pointer to a size, or nil if it is negative, which means not known.
func known(size int64) *int64 {
	if size < 0 {
		return nil
	}
	return &size
}

// heartbeatWithin sends a heartbeat in the middle of a read, if one is due. The reader must not be asked for its position then.
func (s *stream) heartbeatWithin() error {
	if !s.entered || time.Since(s.lastSent) < s.Heartbeat {
		return nil
	}
	return s.respond(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Heartbeat{
		Heartbeat: &replaydv1.Heartbeat{
			BytesRead: s.at.Position.Offset, BytesPresent: s.onDisk(), Tick: s.at.Tick,
		},
	}})
}

// heartbeatPeriod is the period to which heartbeats of all streams are rounded up. A daemon with a thousand idle streams then
// wakes a few times a second for all of them, and each connection gets the heartbeats of its streams in one write.
const heartbeatPeriod = 250 * time.Millisecond

// untilHeartbeat returns how long until a heartbeat may be due.
func (s *stream) untilHeartbeat() time.Duration {
	now := time.Now()
	due := s.lastSent.Add(s.Heartbeat)
	if !due.After(now) { // nothing was sent yet, or no heartbeat could be sent
		due = now.Add(s.Heartbeat / 2)
	}
	return due.Sub(now) + untilNext(due, heartbeatPeriod)%heartbeatPeriod
}

// untilNext returns the time from at to the next multiple of period, which is the same for all streams of the daemon.
func untilNext(at time.Time, period time.Duration) time.Duration {
	return period - time.Duration(at.UnixNano())%period
}

// catchUp tells the client, once, that it has all events so far.
func (s *stream) catchUp() error {
	if s.caughtUp || !s.entered || s.lagging || !s.replay.Live {
		return nil
	}
	s.caughtUp = true
	s.reach()
	return s.respond(followStatus(replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP))
}

func followStatus(to replaydv1.FollowState) *replaydv1.StreamEventsResponse {
	return &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_FollowStatus{
		FollowStatus: &replaydv1.FollowStatus{State: to},
	}}
}

// end sends the end of the stream.
func (s *stream) end(how outcome) error {
	reason, detail, err := s.reason(how)
	if err != nil {
		return err
	}
	end := &replaydv1.StreamEnd{Reason: reason, Detail: detail, EventsSent: s.sent, EventsFiltered: s.filtered}
	if s.entered { // otherwise the client does not know the replay
		s.reach()
		if how != drained {
			if err := s.sendEmptyTables(); err != nil {
				return err
			}
		}
		end.EventsFiltered += s.reader.Filtered()
		s.reader.Summarize(end)
	}
	end.BytesRead, end.LastTick = s.at.Position.Offset, s.at.Tick
	return s.respond(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_End{End: end}})
}

// reason returns why the present replay ended. It returns an error instead if the client wants one (Strict), or if the file could
// not be read.
func (s *stream) reason(how outcome) (reason replaydv1.EndReason, detail string, err error) {
	switch how {
	case drained:
		return replaydv1.EndReason_END_REASON_SERVER_DRAINING, "", nil
	case passed:
		return replaydv1.EndReason_END_REASON_RANGE_DONE, "", nil
	case over:
		return replaydv1.EndReason_END_REASON_FINISHED, "", nil
	default:
	}
	if errors.Is(s.lost, source.ErrIO) {
		return 0, "", s.lost
	}
	if s.gone && errors.Is(s.lost, source.ErrReplaced) {
		return replaydv1.EndReason_END_REASON_REPLACED, s.lost.Error(), nil
	}
	if s.gone {
		return replaydv1.EndReason_END_REASON_REMOVED, s.lost.Error(), nil
	}
	torn := s.reader.Close()
	if torn != nil && !errors.Is(torn, decoders.ErrTruncated) {
		return 0, "", torn
	}
	for _, lost := range []struct {
		err    error
		reason replaydv1.EndReason
	}{
		{source.ErrShrunk, replaydv1.EndReason_END_REASON_SHRUNK},
		{source.ErrReplaced, replaydv1.EndReason_END_REASON_REPLACED},
		{source.ErrRemoved, replaydv1.EndReason_END_REASON_REMOVED},
	} {
		if errors.Is(s.lost, lost.err) {
			return lost.reason, s.lost.Error(), nil
		}
	}
	switch {
	case s.lost != nil && !errors.Is(s.lost, ErrSucceeded) && !errors.Is(s.lost, ErrComplete):
		return 0, "", s.lost
	case torn == nil:
		return replaydv1.EndReason_END_REASON_FINISHED, "", nil
	}
	if left, ok := errors.AsType[*LeftError](s.lost); ok {
		torn = fmt.Errorf("%w; %w", torn, left)
	}
	if s.Strict {
		return 0, "", torn
	}
	return replaydv1.EndReason_END_REASON_TRUNCATED, torn.Error(), nil
}
