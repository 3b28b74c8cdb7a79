package sc2replay

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"unsafe"

	"github.com/replayd/replayd/decoders/sc2replay/bzip2"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
	"github.com/replayd/replayd/decoders/sc2replay/wire"
)

// The archive's tables are at its end, so a replay that was cut has none. But members are stored one after another, and
// nearly all are bzip2 streams, whose end is marked. Decoding a member with a layout identifies it: only the right
// layout ends exactly at the end of the data.

// packedMember is the beginning of a member that was packed in one piece with bzip2: the method, and the beginning of a
// stream with the block size that all replays use.
var packedMember = []byte("\x10BZh91AY&SY")

// Limits on salvaging.
const (
	maxSalvaged = 16 << 20 // bytes of a file that are searched
	maxStreams  = 64       // streams that are unpacked
	maxUnpacked = 32 << 20 // bytes of all of them
	bzip2Held   = 6 << 20  // an upper bound of the memory for unpacking besides

	// Small files may unpack to so many bytes, or so many times their size. Replays unpack to ten times.
	leastUnpacked = 1 << 20
	unpackedRatio = 32
)

// salvage searches for members without the archive's tables. It takes memory before using it, and gives back what it does not
// keep.
func (p *Replay) salvage(r io.ReaderAt, size int64, take func(bytes int64) error) error {
	length := min(size, maxSalvaged)
	left := int(min(leastUnpacked+unpackedRatio*length, maxUnpacked))
	// Streams are unpacked to the same place one after another, and useful ones are copied.
	used := length + int64(left) + bzip2Held
	if err := take(used); err != nil {
		return err
	}
	defer func() { _ = take(-used) }() // giving back never fails
	file, unpacked := make([]byte, length), make([]byte, 0, left)
	n, err := r.ReadAt(file, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	p.salvaged = map[string][]byte{}
	rest := file[:n]
	for range maxStreams {
		at := bytes.Index(rest, packedMember)
		if at < 0 || left <= 0 {
			break
		}
		rest = rest[at+1:]
		data, packed, err := bzip2.AppendFirst(unpacked, rest, left)
		left -= len(data)
		if err != nil {
			continue
		}
		rest = rest[packed:]
		if name := p.recognise(data); name != "" && p.salvaged[name] == nil {
			if err := take(int64(len(data))); err != nil {
				return err
			}
			p.salvaged[name] = append(make([]byte, 0, len(data)), data...)
		}
	}
	return nil
}

// recognise returns the name of the member with this data, or "" for a member that is not needed.
func (p *Replay) recognise(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	switch wire.Tag(data[0]) {
	case wire.TagStruct:
		if p.isDetails(data) {
			return memberDetails
		}
	case wire.TagChoice:
		if p.isStream(protocol.Tracker, data) {
			return memberTracker
		}
	}
	if len(data) <= maxSmall {
		if lobby, _, fits := lobbyOf(data, p.table); fits && len(lobby.LobbyState.Slots) > 0 {
			return memberInitData
		}
	}
	switch {
	case p.isStream(protocol.Game, data):
		return memberGame
	case p.isStream(protocol.Message, data):
		return memberMessage
	}
	return ""
}

func (p *Replay) isDetails(data []byte) bool {
	plan, err := rootPlan(p.table.Details, reflect.TypeFor[Details]())
	if err != nil || len(data) > maxSmall {
		return false
	}
	var d Details
	v := wire.NewVersioned(data)
	plan.fillVersioned(&v, unsafe.Pointer(&d))
	return !v.Failed() && v.Done() && len(d.Title) > 0
}

// isStream reports whether data is an event stream of the given kind. All events must be known, the last one must end
// where the data ends, and none may come after the game's end. Chat messages must not be empty, because zeros
// would decode to them.
func (p *Replay) isStream(id protocol.Stream, data []byte) bool {
	if p.table.IDBits[id] == 0 {
		return false
	}
	var s stream
	var ev Event
	s.open(id, "", p.table, &contents{data: data, found: true}, layouts{})
	for s.ready {
		user, ok := s.read(&ev)
		if !ok || user > noUser || int64(s.last) > int64(p.Start.ElapsedGameLoops) {
			return false
		}
		if ev.Kind == KindChat && len(ev.Chat.Text) == 0 {
			return false
		}
	}
	return s.err == nil
}
