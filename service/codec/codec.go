package codec

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/filter"
	"github.com/replayd/replayd/service/source"
)

// Codec is what a format brings to the daemon.
type Codec struct {
	Format decoders.Format
	// Filters says which kinds of events the format has, and what filters can ask of each.
	Filters filter.Format
	// Lacks reports whether a replay can have no event of a kind that the format has, as by its header. Nil where any replay
	// may have events of all kinds.
	Lacks func(r *replaydv1.Replay, kind uint8) bool
	// NewEventList makes an empty message of the type in which the format's events travel: `repeated Event events = 1`
	// and what the events refer to. It is for readers of streams; writers use Batch.
	NewEventList func() proto.Message
	// RandomAccess says that the format cannot be read from front to back: its Input must have At.
	RandomAccess bool
	// Shared says that a live replay is worth decoding once for all who follow it: its batches have no Tail, and its
	// readers fill Marks.
	Shared bool
	// ResolvesPlayers says that Options.ResolvePlayers can be asked for.
	ResolvesPlayers bool
	// Cost returns how much memory a Reader of a replay of that many bytes takes, in bytes: from above for what game programs
	// write, as it is taken before the replay is opened. size is -1 where it is not known yet. What a replay takes beyond
	// that, [Holder] reports.
	Cost func(size int64) int64
	// DescribeCost is the same of Describe, nil where that is Cost.
	DescribeCost func(size int64) int64
	// Lineage returns what the header of r says of its place among the replays of its game server. Nil where the format
	// knows no such thing.
	Lineage func(r *replaydv1.Replay) Lineage
	// Open starts to read a replay. It reads nothing itself.
	Open func(in source.Input, o Options) (Reader, error)
	// Survey decodes a replay from where an earlier survey of it ended, or, with nil, from the beginning, up to its present
	// end, and returns what it found. roster is as in Options. pause is called after each bounded amount of work; an error of
	// it ends the survey, which is returned beside it as far as it came. Nil where Describe finds all there is.
	Survey func(in source.Input, from *Survey, roster func(r *replaydv1.Replay) []byte, pause func() error) (*Survey, error)
	// CarryRoster returns a Survey's Roster with what earlier, that of the replay before it, adds, and whether those
	// before could add still more. earlier may be nil. Nil where the format has no rosters.
	CarryRoster func(roster, earlier []byte) (carried []byte, complete bool)
	// Players returns who is in a roster. Nil where Describe adds the players.
	Players func(roster []byte) []*replaydv1.Player
	// Describe adds to r what is known of the replay without decoding all of it: header, players, map, length. It
	// returns a *decoders.Error for a file that cannot be read that far; what was found before stays in r.
	Describe func(ctx context.Context, in source.Input, r *replaydv1.Replay) error
}

// Lineage is a replay's place among those of its game server.
type Lineage struct {
	// Previous is the identity of the replay that the same server process wrote before; empty for its first one, and where
	// servers of that age do not write it.
	Previous string
	// Server is how the server calls itself, its address included: what a server that is started again usually keeps. It proves
	// nothing: two servers may share it.
	Server string
}

// Survey is what decoding a replay finds that its header does not have. It never changes.
type Survey struct {
	// Offset is up to where the replay was decoded, in bytes of the replay.
	Offset int64
	// LastTick is the replay's clock there.
	LastTick int32
	// Ended: the end that the format asks for was read.
	Ended bool
	// Broken: what follows cannot be decoded.
	Broken bool
	// Names are those of the players, each once; at most MaxNames.
	Names []string
	// Roster is who is there at Offset, for the format itself: see Options.Roster.
	Roster []byte
	// State is what it takes to go on from Offset, for the format itself. Nil where nothing can follow.
	State []byte
}

// MaxNames is how many players' names a survey keeps.
const MaxNames = 1024

// Options say what a Reader is to deliver.
type Options struct {
	// Filter decides which events are delivered; nil delivers all.
	Filter *filter.Filter
	// Start is where delivery starts. The zero value is the beginning.
	Start Start
	// State says that Present will be asked for the state there, for what StateFilter lets through; nil lets all through.
	State       bool
	StateFilter *filter.Filter
	// StateAgain says that it will be asked for again; see feed.Reader.
	StateAgain bool
	// Columns lets events of the kinds that have columns travel so, in the batch's Tail. Other formats' readers do not
	// look at it. It does not go together with Batch.KeepMarks.
	Columns bool
	// RevealSecrets delivers what is otherwise redacted: timeout codes, remote-console arguments and the like.
	RevealSecrets bool
	// ResolvePlayers puts beside the numbers of players who they are. For formats whose Codec.ResolvesPlayers is set.
	ResolvePlayers bool
	// Roster returns who was there where the replay ended that the same server process wrote before r, which has its header:
	// a Survey's Roster. It returns nil where that is not known, or is nil itself.
	Roster func(r *replaydv1.Replay) []byte
	// Checkpoints returns what keeps states of readers of the same file; nil keeps none. A Reader may use it to start in
	// the middle, and may add to it as it goes. It says what the file's identity is (see replayd.v1.Replay), for a file may
	// have got other contents since.
	Checkpoints func(identity string) Checkpoints
}

// Checkpoint is the state of a format's decoder at a place in a replay. Its State is for that format's decoder alone and
// never changes.
type Checkpoint struct {
	Position decoders.Position
	Tick     int32
	State    []byte
	// Sum is the sum of the bytes before the position's offset, from which the state was made.
	Sum decoders.Sum
}

// Checkpoints keeps checkpoints of one replay. It is safe for concurrent use.
type Checkpoints interface {
	// Last returns the last checkpoint for which before is true. before must be true up to some place in the replay and
	// false behind it.
	Last(before func(*Checkpoint) bool) (Checkpoint, bool)
	// Wanted reports whether a checkpoint at that offset would be kept: whether there is none near it.
	Wanted(offset int64) bool
	// Add keeps a checkpoint, which the caller gives away.
	Add(c Checkpoint)
	// Proven reports whether the bytes before a checkpoint are known to be those that it was made from. Otherwise a
	// reader that uses it has to look, and says by Prove or Drop what was found.
	Proven(c *Checkpoint) bool
	// Prove says that the bytes before a checkpoint are those that it was made from.
	Prove(c *Checkpoint)
	// Drop forgets all checkpoints, because the replay is no longer what they were made from.
	Drop()
}

// Start is where delivery starts: at Position, or, when Tick is not nil, at the first event whose tick is at least
// *Tick, or, when Now is set, at the present end of the replay. It does not depend on what the filter lets through.
type Start struct {
	Position decoders.Position
	Tick     *int32
	Now      bool
}

// ErrDone says that no later event of the replay can match the filter.
var ErrDone = errors.New("no later event can match the filter")

// ErrYield says that a Reader did a bounded amount of work and wants to be called again: so that a caller can look at
// its clock, and at whether anybody still wants the result.
var ErrYield = errors.New("work is bounded; call again")

// Reader reads one replay: Header until it succeeds, then Seek until it succeeds, then Fill until it fails.
//
// All three return
//   - ErrYield after a bounded amount of work;
//   - decoders.ErrMore when the bytes present hold no further whole record: call again when there are more;
//   - io.EOF when the replay is over by its own account;
//   - ErrDone, which only Fill does, when there may be more, but nothing that the filter lets through;
//   - a *decoders.Error, final, when the replay cannot be read on;
//   - any other error of the Input as it is.
type Reader interface {
	// Header reads the replay's header and adds what it says to r: the format's own header, and an Identity.
	Header(r *replaydv1.Replay) error
	// Seek moves to where delivery starts. When the replay ends before that, it returns io.EOF there. Position is then
	// Start.Position, if that was asked for and is a place where an event of the replay can start.
	Seek() error
	// Fill decodes and appends to b until b is full; then it returns nil. What was decoded before an error is in b.
	Fill(b *Batch) error
	// Close is called when no more bytes will come after Fill returned ErrMore: it returns nil when the format knows no
	// end of its own and nothing is torn, and a *decoders.Error that wraps decoders.ErrTruncated otherwise.
	Close() error
	// Position is where the next event is, delivered or not, or a place before it with no event in between.
	Position() decoders.Position
	// Sum is the sum of the bytes before Position's Offset. It is 0 where the format's Identity covers all of the replay.
	Sum() decoders.Sum
	// Tick is the replay's clock at Position.
	Tick() int32
	// Filtered is how many events were decoded and filtered out since delivery started.
	Filtered() uint64
	// Summarize adds to the end of a stream what the format has to say there.
	Summarize(end *replaydv1.StreamEnd)
}

// Presenter is a Reader of a format that has a state.
type Presenter interface {
	// Present appends the events of the state at Position to b until b is full; then it returns nil, and io.EOF after the
	// last one. The events are no part of the replay: the position does not move. It is called between Seek and Fill, of a reader
	// that was opened with Options.State.
	Present(b *Batch) error
}

// Holder is a Reader of a format whose replays can be made to take much memory.
type Holder interface {
	// Held is how much memory the Reader holds now, in bytes. It is called between the other methods, and is cheap.
	Held() int64
}

// Pusher is a Reader of something live that can report by itself, in a goroutine of its own, that there is more.
type Pusher interface {
	// Push lets the reader call f whenever Fill would find something new, one call at a time, until f returns false or Recall
	// is called. It spares the user to wait for that, and to be woken. The user must not use the reader meanwhile, f may. f
	// must not block. A reader that cannot push now never calls f.
	Push(f func() (more bool))
	// Recall ends that, and waits for a call that is under way. It may be called without a Push before it.
	Recall()
}

// Mark is what is known of one event of a batch without decoding it again.
type Mark struct {
	filter.Event
	// End is where the event ends in Batch.Events; it begins where the one before it ends.
	End int
	// Next is the reader's Position behind the event, and Sum its sum there.
	Next decoders.Position
	Sum  decoders.Sum
}

// Batch collects the events of one response.
type Batch struct {
	// Events holds the events' wire bytes as entries of the field `repeated Event events = 1`.
	Events []byte
	// Tail holds wire bytes of further fields of the event list, such as the strings that the events refer to. Formats
	// that need it write it anew for every batch.
	Tail []byte
	// Pending is how many bytes more Tail will have when the batch is complete, as far as a format knows before.
	Pending int
	// Count is how many events there are.
	Count int
	// Marks holds a mark for each event when KeepMarks is set.
	Marks     []Mark
	KeepMarks bool
	// Positions holds the position of each event when KeepPositions is set.
	Positions     []decoders.Position
	KeepPositions bool

	// MaxEvents and MaxBytes say when the batch is full.
	MaxEvents int
	MaxBytes  int

	shared bool
	own    []byte // with shared, the memory that Events had
}

// MaxEventBytes is how large a single event may become on the wire; formats cut larger payloads into chunks. With a
// batch's other bytes it stays below the 1 MiB that a response may have.
const MaxEventBytes = 768 << 10

// Full reports whether the batch is full: no further event should be added.
func (b *Batch) Full() bool {
	return b.Count >= b.MaxEvents || len(b.Events)+len(b.Tail)+b.Pending >= b.MaxBytes
}

// Share makes events, which must not change from then on, the contents of an empty batch, without a copy. To append
// more moves them.
func (b *Batch) Share(events []byte, count int) {
	b.shared, b.own = true, b.Events
	b.Events, b.Count = slices.Clip(events), count
}

// Shared reports whether Events is shared: it must not be written to, and its memory not be reused.
func (b *Batch) Shared() bool { return b.shared }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	if b.shared {
		b.Events, b.own, b.shared = b.own, nil, false
	}
	b.Events, b.Tail, b.Marks, b.Positions, b.Count = b.Events[:0], b.Tail[:0], b.Marks[:0], b.Positions[:0], 0
	b.Pending = 0
}

// Added notes an event that was appended: where it is in the replay and, with KeepMarks, what filters ask of it and where
// the reader is behind it.
func (b *Batch) Added(at decoders.Position, e *filter.Event, r Reader) {
	if b.KeepPositions {
		b.Positions = append(b.Positions, at)
	}
	if b.KeepMarks {
		b.Marks = append(b.Marks, Mark{Event: *e, End: len(b.Events), Next: r.Position(), Sum: r.Sum()})
	}
}

// EventListField is the tag of `repeated Event events = 1`.
const EventListField = 0x0a
