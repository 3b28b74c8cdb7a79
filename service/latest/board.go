package latest

import (
	"encoding/binary"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/protoappend"
	"github.com/replayd/replayd/service/access"
)

// The fields of a WatchedReplay.
const (
	watchedReplay      protowire.Number = 1
	watchedDescription protowire.Number = 2
	watchedTick        protowire.Number = 3
	watchedUnfinished  protowire.Number = 4
	watchedAge         protowire.Number = 5
	watchedWhole       protowire.Number = 6
	watchedRemoved     protowire.Number = 10
	watchedEnd         protowire.Number = 11
	watchedFailure     protowire.Number = 12
)

// board is the latest state of one game for all calls that watch it. It is safe for concurrent use.
type board struct {
	key    key
	format decoders.Format
	wish   *Wish
	grant  *access.Grant
	users  int    // guarded by Boards.mu
	stop   func() // ends the goroutine

	mu          sync.Mutex
	state       state
	read        time.Time        // when the bytes were read that the state follows from
	list        protowire.Number // the field of a WatchedReplay for the players
	description []byte           // the field description, encoded; nil until it is known
	described   int              // counts the descriptions
	end         replaydv1.EndReason
	failure     *replaydv1.SubscriptionFailure
	failures    int // counts the failures
	cached      map[uint64][]byte
}

// maxCached limits the clients' versions of which the difference to the present state is kept. Nearly all clients have the same one.
const maxCached = 8

// seen is what a client knows of a board.
type seen struct {
	version   uint64
	described int
	failures  int
	over      bool
}

// update stores a state. now is when it was read.
func (b *board) update(tick int32, unfinished bool, s *samples, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state.set(tick, unfinished, s) {
		b.read = now
		clear(b.cached)
	}
	b.failure = nil
}

// describe stores the description of the game. list is the field for its players.
func (b *board) describe(r *replaydv1.Replay, list protowire.Number) error {
	encoded, err := proto.Marshal(r)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.description = protowire.AppendBytes(protowire.AppendTag(nil, watchedDescription, protowire.BytesType), encoded)
	b.list = list
	b.described++
	return nil
}

// fail stores why the game cannot be read.
func (b *board) fail(f *replaydv1.SubscriptionFailure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = f
	b.failures++
}

// finish stores why no more of the game follows.
func (b *board) finish(reason replaydv1.EndReason) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end = reason
}

// over returns why no more of the game follows. failed says that it cannot be read.
func (b *board) over() (reason replaydv1.EndReason, failed, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	failed = b.failure != nil && !b.failure.GetRetried()
	return b.end, failed, failed || b.end != 0
}

// append appends a response's entry about the board with a number, if it has something new for a client, and notes what the client knows
// then. Of a game that was gone before it was read there is nothing. whole asks for all players.
func (b *board) append(to []byte, number uint32, know *seen, whole bool, now time.Time) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fresh := b.state.version > know.version
	described, failed := b.described > know.described, b.failure != nil && b.failures > know.failures
	over := (b.end != 0 || b.failure != nil && !b.failure.GetRetried()) && !know.over
	if over && isGone(b.end) && b.described == 0 && b.failures == 0 {
		know.over = true
		return to, false
	}
	if !fresh && !described && !failed && !over {
		return to, false
	}
	var room [64]byte
	own := room[:0] // what is the client's own
	own = protowire.AppendVarint(protowire.AppendTag(own, watchedReplay, protowire.VarintType), uint64(number))
	var description, changes []byte
	if described {
		description, know.described = b.description, b.described
	}
	if fresh {
		from := know.version
		if whole {
			from = 0
		}
		changes = b.since(from)
		age := decoders.Time(max(now.Sub(b.read), 0).Microseconds()) // a Duration has the fields of a Timestamp
		var encoded [2 * (1 + binary.MaxVarintLen64)]byte
		own = protowire.AppendBytes(protowire.AppendTag(own, watchedAge, protowire.BytesType), protoappend.Time(encoded[:0], age))
		know.version = b.state.version
	}
	if failed {
		own = appendMessage(own, watchedFailure, b.failure)
		know.failures = b.failures
	}
	if over {
		own = protowire.AppendVarint(protowire.AppendTag(own, watchedEnd, protowire.VarintType), uint64(b.end))
		know.over = true
	}
	to = protowire.AppendTag(to, responseReplays, protowire.BytesType)
	to = protowire.AppendVarint(to, uint64(len(own)+len(description)+len(changes)))
	return append(append(append(to, own...), description...), changes...), true
}

// since returns the fields for a client that has a version. The board must be locked.
func (b *board) since(version uint64) []byte {
	if known := b.cached[version]; known != nil {
		return known
	}
	fields := b.state.append(nil, b.list, version)
	if len(b.cached) < maxCached {
		if b.cached == nil {
			b.cached = map[uint64][]byte{}
		}
		b.cached[version] = fields
	}
	return fields
}

// appendMessage appends a field with a message that has no bytes that could make it fail.
func appendMessage(b []byte, field protowire.Number, m proto.Message) []byte {
	encoded, _ := proto.Marshal(m)
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), encoded)
}

// listOf returns the field of a WatchedReplay for the players of a format, 0 if there is none.
func listOf(list proto.Message) protowire.Number {
	want := list.ProtoReflect().Descriptor().FullName()
	fields := (*replaydv1.WatchedReplay)(nil).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if field := fields.Get(i); field.Message() != nil && field.Message().FullName() == want {
			return field.Number()
		}
	}
	return 0
}
