package codec

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/proto/position"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
)

// Codec is the implementation of a format for the daemon.
type Codec struct {
	Format decoders.Format
	// Filters lists the format's kinds of events and the conditions that apply to each kind.
	Filters filter.Format
	// Lacks reports whether, judging by its header, replay r cannot have events of a kind of the format. Nil if every replay
	// may have events of all kinds.
	Lacks func(r *replaydv1.Replay, kind uint8) bool
	// NewEventList returns an empty message of the format's EventList type. It has `repeated Event events = 1` and the values
	// that the events refer to. Readers of streams use it; writers use Batch.
	NewEventList func() proto.Message
	// FactsVersion changes whenever the facts of the format do. 0 stands for a format without facts.
	FactsVersion uint32
	// Tables describes the tables of the format's kinds.
	Tables *table.Format
	// LeavesRows is true if a reader leaves a row that is large for the next batch, if the batch has no room for it: see UsualRowBytes.
	LeavesRows bool
	// MaxRow is the size of the largest row of a reader that leaves none, 0 if it is not known. What is around it in a message has at most
	// UsualRowBytes.
	MaxRow int
	// RandomAccess is true if the format cannot be read from front to back: its Input must have At.
	RandomAccess bool
	// Shared is true if one decoder serves all followers of a live replay. Readers then fill Marks.
	Shared bool
	// Selector returns what selects the events of a follower with a filter from those of a reader that delivers all, nil if the follower
	// has to decode for itself. The function is nil for a Shared format whose events refer to no names, and have neither types nor
	// classes: their Marks suffice.
	Selector func(f *filter.Filter) Selector
	// ResolvesPlayers is true if readers support Options.ResolvePlayers.
	ResolvesPlayers bool
	// Cost returns an upper bound, in bytes, of the memory that a Reader needs for a replay of size bytes as games write them.
	// It is charged before the replay is opened. size is -1 if it is not known yet. A Reader that may need more is a Holder.
	Cost func(size int64) int64
	// DescribeCost is the same bound for Describe. Nil if Cost holds for Describe, too.
	DescribeCost func(size int64) int64
	// Spacing is the least distance between two checkpoints, in bytes of the replay. 0 stands for checkpoint.Spacing.
	Spacing int64
	// Lineage returns the replay's place among those of its game server, from the header of r. Nil if headers do not have it.
	Lineage func(r *replaydv1.Replay) Lineage
	// Noted reports whether the replay before one may stand beside its file: see catalog.Catalog.Previous. Headers cannot say it.
	Noted bool
	// Open returns a Reader of the replay. Open itself reads nothing.
	Open func(in source.Input, o Options) (Reader, error)
	// Survey decodes a replay up to its present end and returns what it found. It starts where the survey from ended, or at
	// the beginning if from is nil. roster is as in Options. Survey calls pause after each bounded amount of work; an error
	// of pause ends the survey, and is returned with the survey so far. Nil if Describe already returns all of a survey's facts.
	Survey func(in source.Input, from *Survey, roster func(r *replaydv1.Replay) []byte, pause func() error) (*Survey, error)
	// CarryRoster completes a Survey's Roster from that of the previous replay, which may be nil. complete reports whether
	// even earlier rosters could add nothing. Nil if a roster of the format is complete by itself, or if it has none.
	CarryRoster func(roster, earlier []byte) (carried []byte, complete bool)
	// Players sets the players of r to those in a roster, and their tick if the roster has one. Nil if Describe finds all players that a
	// file has.
	Players func(r *replaydv1.Replay, roster []byte)
	// Widen returns tables that differ from Tables in one: in place of the fields of entities as a list it has a column for each field that
	// f selects of the kind. of has the classes and fields that the request names; without fields all are meant. What cannot be a column is a
	// *filter.FieldError. Widen reads the beginning of the input, and returns an input for what follows. Readers append rows of the table if
	// its layout is that of Options.Tables. Nil if the format has no such table.
	Widen func(in source.Input, f *filter.Filter, of *replaydv1.DemFilter) (source.Input, *table.Format, error)
	// Participants adds to r the participants in a Survey's Participants, completed from the roster of the previous replay, which
	// may be nil. Nil if the format has none.
	Participants func(r *replaydv1.Replay, participants, earlier []byte, secrets *Secrets)
	// Report fills in a report's tick, end, damage and game from the events up to a tick, and the fields of its Replay that
	// Describe fills in. It fails if the header cannot be read, and with the errors of the Input and of Pause.
	Report func(ctx context.Context, in source.Input, o ReportOptions, report *replaydv1.Report) error
	// Describe fills in the fields of r that do not need the whole replay to be decoded: header, players, map, length. It
	// returns a *decoders.Error if the file is damaged; fields that were found before the damage stay set.
	Describe func(ctx context.Context, in source.Input, r *replaydv1.Replay) error
}

// Succeeded reports whether replays of the format may have successors.
func (c *Codec) Succeeded() bool { return c.Lineage != nil || c.Noted }

// AddPlayers adds the players that a survey found to a description whose header names none, where surveys find those of the whole replay.
// s may be nil.
func (c *Codec) AddPlayers(r *replaydv1.Replay, s *Survey) {
	if c.Players == nil || c.CarryRoster != nil || s == nil || len(r.GetPlayers()) > 0 {
		return
	}
	c.Players(r, s.Roster)
	r.Lineup = Lineup(r.GetPlayers())
}

// Lineage is a replay's place among those of its game server.
type Lineage struct {
	// Previous is the identity of the replay that the same server process wrote before this one. It is empty for the first
	// one, and if the server is too old to write it.
	Previous string
	// Server is the server's name and address, which usually stay the same when the server restarts. They are no proof: two
	// servers may share them.
	Server string
}

// Survey holds the facts of a replay that only decoding finds. It is immutable.
type Survey struct {
	// Offset is how far the replay was decoded, in bytes of the replay.
	Offset int64
	// LastTick is the replay's clock at Offset.
	LastTick int32
	// Ended is true if the replay's own end was read.
	Ended bool
	// Length and TicksPerSecond are known only for formats whose files tell them at the end. 0 means not known.
	Length         time.Duration
	TicksPerSecond float64
	// Broken is true if the bytes after Offset cannot be decoded.
	Broken bool
	// Names are the players' names, each once; at most MaxNames.
	Names []string
	// Roster holds the players at Offset, or where else the format looks for them, in the format's own encoding: see Options.Roster.
	Roster []byte
	// Participants holds everybody who took part up to Offset, in the format's own encoding. It has secrets.
	Participants []byte
	// State is the decoder's state at Offset, in the format's own encoding. Nil if nothing can follow.
	State []byte
}

// MaxNames limits the players' names in a survey.
const MaxNames = 1024

// Options configure what a Reader delivers.
type Options struct {
	// Filter decides which events are delivered; nil delivers all.
	Filter *filter.Filter
	// Start is where delivery starts. The zero value is the beginning.
	Start Start
	// State announces that Present will be called for the state at Start. StateFilter selects what it delivers; nil delivers
	// everything.
	State       bool
	StateFilter *filter.Filter
	// Where decides, by what is in them, which of the events that Filter delivers are delivered. Nil delivers all. It needs a Filter,
	// and does not apply to a state.
	Where Where
	// StateAgain announces that Present may be called again after Fill; see feed.Reader.
	StateAgain bool
	// Tables, if it is not nil, is an empty set of the format's tables. The reader appends events to it instead of to
	// Batch.Events, and sets its Refs and TicksPerSecond before it does. It excludes Batch.KeepMarks.
	Tables *table.Set
	// Secrets says what is delivered of timeout codes, remote-console arguments and the like.
	Secrets Secrets
	// ResolvePlayers adds the players' names and the like to events that have only their numbers. Only for formats whose
	// Codec.ResolvesPlayers is true.
	ResolvePlayers bool
	// Roster returns the Survey.Roster of the replay that the same server process wrote before r, nil if it is not known. r
	// has its header. Roster may be nil.
	Roster func(r *replaydv1.Replay) []byte
	// Map calls use with the map file of the game of a replay, of which r has the header, and returns its error. Without the map it returns
	// an error that wraps ErrNoMap. Map may be nil.
	Map func(r *replaydv1.Replay, use func(file io.ReaderAt, size int64) error) error
	// Checkpoints returns the checkpoints of the file while it has that identity (see replayd.v1.Replay): the file may have
	// other contents by now. A Reader may start from a checkpoint and may add more. Nil keeps none.
	Checkpoints func(identity string) Checkpoints
	// Ahead runs step again and again in a goroutine of the caller's, and done after the last step. A step takes some
	// milliseconds. Ahead goes on while step returns true, a processor is idle, and the caller still uses the Reader. A nil Ahead
	// means that nothing is read ahead.
	Ahead func(step func() (more bool), done func())
}

// ReportOptions configure a report.
type ReportOptions struct {
	// Tick is the last tick that counts; nil stands for the present end.
	Tick *int32
	// Secrets and Roster are as in Options.
	Secrets Secrets
	Roster  func(r *replaydv1.Replay) []byte
	// Checkpoints is as in Options. A report may start from one.
	Checkpoints func(identity string) Checkpoints
	// Pause is called after each bounded amount of work. held is the memory beyond Cost that the work holds, or most of it. An
	// error of Pause ends the work.
	Pause func(held int64) error
}

// Checkpoint is the state of a format's decoder at a place in a replay. State is in the format's own encoding, and is
// immutable.
type Checkpoint struct {
	Position decoders.Position
	Tick     int32
	State    []byte
	// Shared replaces State in formats whose states have memory in common.
	Shared Shared
	// Sum is the sum of the bytes before the position's offset. The state was made from these bytes.
	Sum decoders.Sum
}

// Shared is a state that has memory in common with other states. It is immutable and safe for concurrent use.
type Shared interface {
	// Hold counts a holder of the state. It returns how many bytes the state adds to the memory of all held states.
	Hold() int
	// Release undoes Hold. It returns how many bytes the held states take less.
	Release() int
}

// Checkpoints keeps checkpoints of one replay. It is safe for concurrent use.
type Checkpoints interface {
	// Last returns the last checkpoint for which before is true. before must be true up to some position in the replay and
	// false after it.
	Last(before func(*Checkpoint) bool) (Checkpoint, bool)
	// After returns the first checkpoint whose offset is larger than the given one.
	After(offset int64) (Checkpoint, bool)
	// Wanted reports whether Add would keep a checkpoint at that offset: whether none is near it.
	Wanted(offset int64) bool
	// Add keeps a checkpoint and takes ownership of it.
	Add(c Checkpoint)
	// Proven reports whether the bytes before a checkpoint are known to be those that it was made from. If not, a Reader must
	// compare them before it uses the checkpoint, and then call Prove or Drop.
	Proven(c *Checkpoint) bool
	// Prove records that the bytes before a checkpoint are those that it was made from.
	Prove(c *Checkpoint)
	// Drop removes all checkpoints: the replay has changed since they were made.
	Drop()
}

// Start is where delivery starts: at Position; or, if Tick is not nil, at the first event whose tick is at least *Tick; or, if
// Now is true, at the present end of the replay. Filters do not change it.
type Start struct {
	Position decoders.Position
	Tick     *int32
	Now      bool
}

// ErrNoMap means that the map of a game is not there, or, in the refusal of a request, that a replay may have the events that are wanted, but
// they cannot be told without it.
var ErrNoMap = errors.New("the map of the game is not there")

// ErrDone means that no later event of the replay can match the filter.
var ErrDone = errors.New("no later event can match the filter")

// ErrYield means that a Reader has done a bounded amount of work, about a millisecond's, and must be called again. In between the
// caller can send a heartbeat, check whether the call was cancelled, or let others use the processor.
var ErrYield = errors.New("work is bounded; call again")

// Reader reads one replay: Header until it succeeds, then Seek until it succeeds, then Fill until it fails.
//
// All three return
//   - ErrYield after a bounded amount of work;
//   - decoders.ErrMore when the bytes present hold no further whole record: call again when there are more;
//   - io.EOF when the replay's own end was read;
//   - ErrDone, only from Fill, when no later event can match the filter;
//   - a *decoders.Error, final, when the rest of the replay cannot be read;
//   - any other error of the Input, unchanged.
type Reader interface {
	// Header reads the replay's header and stores it in r, with the replay's identity.
	Header(r *replaydv1.Replay) error
	// Seek moves to where delivery starts. If the replay ends before that, Seek returns io.EOF. Position is then
	// Start.Position, if that was given and an event of the replay can start there.
	Seek() error
	// Fill decodes and appends to b until b is full; then it returns nil. Events decoded before an error are in b.
	Fill(b *Batch) error
	// Close is called when Fill returned ErrMore and no more bytes will be written. It returns nil if the format has no end
	// of its own and no record is torn. Otherwise it returns a *decoders.Error that wraps decoders.ErrTruncated.
	Close() error
	// Position returns the position of the next event, delivered or not, or an earlier position with no event in between.
	Position() decoders.Position
	// Sum returns the sum of the bytes before Position's Offset. It is 0 if the format's identity covers the whole replay.
	Sum() decoders.Sum
	// Tick returns the replay's clock at Position.
	Tick() int32
	// Filtered returns how many events were decoded and filtered out since delivery started.
	Filtered() uint64
	// Summarize adds the format's own summary to the end of a stream.
	Summarize(end *replaydv1.StreamEnd)
}

// Presenter is a Reader of a format that has a state.
type Presenter interface {
	// Present appends events to b that describe the state at Position. It returns nil when b is full, and io.EOF after the
	// last event of the state. These events are not part of the replay: the position does not move. Present is called
	// between Seek and Fill, on a reader that was opened with Options.State.
	Present(b *Batch) error
}

// Standing is a Reader of a format with samples, opened with a filter that selects some.
type Standing interface {
	// Sampled returns the last tick whose samples were delivered, and false before the first one. It may have had no samples.
	Sampled() (tick int32, ok bool)
	// Stand appends to b what the samples of the tick at Position are, if the tick ends there. It is called after Seek, or after Fill
	// has returned an error, and delivers nothing: the samples come again when the tick is complete.
	Stand(b *Batch)
}

// Holder is a Reader whose memory depends on the contents of the replay, so that a hostile file can make it large.
type Holder interface {
	// Held returns how much memory the Reader holds now, in bytes. It is cheap, and is called between the other methods.
	Held() int64
}

// Leaver is a Reader that is told when it is left, so that it gives back memory that it has asked for, or leaves it to others.
type Leaver interface {
	// Leave is the last call.
	Leave()
}

// Pusher is a Reader of a live replay that calls a function when there are new events, in a goroutine of its own. The caller
// then need not wait and be woken.
type Pusher interface {
	// Push makes the reader call f whenever Fill would find new events, until f returns false or Recall is called. With a delay
	// it calls f at most once in that time on average, and leaves no event waiting for longer. Calls of f never overlap, and f
	// must not block. From Push to Recall only f may use the reader. It reports whether the reader can push now; otherwise it
	// never calls f.
	Push(delay time.Duration, f func() (more bool)) bool
	// Recall ends Push, and waits for a running call of f. It may be called without Push.
	Recall()
}

// Mark holds the values of one event of a batch that filters and cursors need, so that nobody needs to decode the event again.
type Mark struct {
	filter.Event
	// End is where the event ends in Batch.Events; it begins where the previous one ends.
	End int
	// At is the event's position.
	At decoders.Position
	// Next is the reader's Position after the event, and Sum is its sum there.
	Next decoders.Position
	Sum  decoders.Sum
}

// Batch collects the events of one response.
type Batch struct {
	// Events holds the events' wire bytes as entries of the field `repeated Event events = 1`.
	Events []byte
	// Tail holds wire bytes of further fields of the event list, such as the strings that the events refer to. Formats
	// that need it write it again for every batch.
	Tail []byte
	// Tables is the reader's Options.Tables. It holds the events instead of Events and Tail.
	Tables *table.Set
	// Count is how many events there are.
	Count int
	// Marks holds a mark for each event when KeepMarks is set.
	Marks     []Mark
	KeepMarks bool
	// Places holds the position of each event in Events. Events of a state have none.
	Places position.List

	// The batch is full when it has MaxEvents events or MaxBytes bytes.
	MaxEvents int
	MaxBytes  int

	ended  bool // a row was left for the next batch
	shared bool
	own    []byte         // if shared: the memory that Events had before
	wire   []byte         // Events and the fields of their positions, if both are shared; otherwise nil
	places *position.List // the positions in wire
}

// MaxEventBytes limits the size of one event on the wire; formats cut larger payloads into chunks. Together with a batch's
// other bytes it stays below the 1 MiB that a response may have.
const MaxEventBytes = 768 << 10

// UsualRowBytes is the size up to which a row fits into a batch of tables that is not full. A Sequential leaves a larger one for the next
// batch unless it fits, too, or is the first. Facts, samples and rows of a state are no larger.
const UsualRowBytes = 64 << 10

// Full reports whether the batch is full: no further event should be added.
func (b *Batch) Full() bool {
	return b.ended || b.Count >= b.MaxEvents || len(b.Events)+len(b.Tail)+b.Places.Len() >= b.MaxBytes || b.Tables != nil && b.Tables.Size() >= b.MaxBytes
}

// Share makes events the contents of an empty batch, without a copy. The caller then adds their positions to Places. events must not
// be modified from then on. Appending to the batch copies them.
func (b *Batch) Share(events []byte, count int) {
	b.shared, b.own = true, b.Events
	b.Events, b.Count = slices.Clip(events), count
}

// ShareAll is Share for events whose positions are encoded, too: wire is the events followed by what places.Append appends. Neither
// must be modified from then on.
func (b *Batch) ShareAll(wire []byte, places *position.List, count int) {
	b.Share(wire[:len(wire)-places.Size()], count)
	b.wire, b.places = wire, places
}

// Shared reports whether Events is shared. A caller must not write to shared Events, nor reuse their memory.
func (b *Batch) Shared() bool { return b.shared }

// Wire returns Events followed by the fields of their positions if both are shared, and otherwise nil.
func (b *Batch) Wire() []byte { return b.wire }

// Own copies shared contents, so that events can be appended to the batch.
func (b *Batch) Own() {
	if b.places != nil {
		b.Places.Set(b.places)
		b.wire, b.places = nil, nil
	}
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	if b.shared {
		b.Events, b.own, b.wire, b.places, b.shared = b.own, nil, nil, nil, false
	}
	b.Events, b.Tail, b.Marks, b.Count, b.ended = b.Events[:0], b.Tail[:0], b.Marks[:0], 0, false
	b.Places.Reset()
	if b.Tables != nil {
		b.Tables.Reset()
	}
}

// Placed is the part of a Reader that Batch.Mark calls.
type Placed interface {
	Position() decoders.Position
	Sum() decoders.Sum
}

// Place records the position of an event that was appended to Events. Tables have positions as columns.
func (b *Batch) Place(at decoders.Position) {
	if b.Tables == nil {
		b.Places.Add(at.Offset, at.Index)
	}
}

// Mark keeps the properties and the position of an event that was appended, and the reader's position after it, if KeepMarks is set.
func (b *Batch) Mark(e *filter.Event, at decoders.Position, r Placed) {
	if b.KeepMarks {
		b.Marks = append(b.Marks, Mark{Event: *e, End: len(b.Events), At: at, Next: r.Position(), Sum: r.Sum()})
	}
}

// EventListField is the tag of `repeated Event events = 1`.
const EventListField = 0x0a
