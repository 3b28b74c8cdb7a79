package sc2test

import (
	"encoding/binary"
	"slices"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// Event is an event to write.
type Event struct {
	Loop  int
	User  int // 16 means no user
	Name  string
	Value S
}

// Replay is a replay to write.
type Replay struct {
	// Table is the base build whose layouts are used. BaseBuild, if not 0, is the header's base build instead.
	Table, BaseBuild int
	// Tables has the layouts of BaseBuild, if not nil, which are used instead of Table's.
	Tables *protocol.Set
	// Build is the header's build. 0 means the base build.
	Build int
	// Version is the game's version: major, minor, revision.
	Version [3]int
	// Beta writes the bit-packed header of 2010.
	Beta                   bool
	Loops                  int
	Details, InitData      S
	Attributes             []Attribute
	Metadata               string
	Game, Message, Tracker []Event
	// More lists further members.
	More []Member
	// Archive holds the options of the archive. Bytes adds the members.
	Archive Archive
	// Method is the compression method of members.
	Method byte
	// Signature is the header's signature. Empty means StarCraft II's.
	Signature string
	// Without lists members to omit.
	Without []string
	// NoSums omits the member with the checksums of the others.
	NoSums bool
}

// Attribute is an attribute to write.
type Attribute struct {
	ID, Scope int
	Value     string
}

// Bytes returns the replay.
func (r *Replay) Bytes() []byte {
	table, err := protocol.Default().Table(r.Table)
	if err != nil {
		panic(err)
	}
	base := r.BaseBuild
	if r.Tables != nil {
		if table, err = r.Tables.Table(base); err != nil {
			panic(err)
		}
	}
	if base == 0 {
		base = r.Table
	}
	signature := r.Signature
	if signature == "" {
		signature = "StarCraft II replay\x1b11"
	}
	build := r.Build
	if build == 0 {
		build = base
	}
	header := S{
		"signature": signature,
		"version": S{
			"flags": 1, "major": r.Version[0], "minor": r.Version[1], "revision": r.Version[2], "build": build, "baseBuild": base,
		},
		"type": 2, "elapsedGameLoops": r.Loops, "useScaledTime": r.Version[0] >= 3, "dataBuildNum": base,
	}
	a := r.Archive
	a.Members, a.Sums = nil, !r.NoSums
	if r.Beta {
		var w PackedWriter
		w.Value(table.Header, header)
		a.UserData = w.Buf
	} else {
		a.UserData = AppendVersioned(nil, table.Header, header)
	}
	add := func(name string, data []byte) {
		if data != nil && !slices.Contains(r.Without, name) {
			a.Members = append(a.Members, Member{Name: name, Data: data, Method: r.Method})
		}
	}
	if r.Details != nil {
		add("replay.details", AppendVersioned(nil, table.Details, r.Details))
	}
	if r.InitData != nil {
		var w PackedWriter
		w.Value(table.InitData, r.InitData)
		name := "replay.initData"
		if r.Beta {
			name = "replay.info"
		}
		add(name, w.Buf)
	}
	if r.Attributes != nil {
		add("replay.attributes.events", attributes(base, r.Attributes))
	}
	if r.Metadata != "" {
		add("replay.gamemetadata.json", []byte(r.Metadata))
	}
	add("replay.game.events", Stream(table, protocol.Game, r.Game))
	add("replay.message.events", Stream(table, protocol.Message, r.Message))
	if table.IDBits[protocol.Tracker] != 0 {
		add("replay.tracker.events", Stream(table, protocol.Tracker, r.Tracker))
	}
	a.Members = append(a.Members, r.More...)
	var list []byte
	for _, m := range a.Members {
		list = append(list, m.Name+"\r\n"...)
	}
	add("(listfile)", list)
	return a.Bytes()
}

// Stream returns an event stream.
func Stream(table *protocol.Table, s protocol.Stream, events []Event) []byte {
	var w PackedWriter
	p := []byte{}
	loop := 0
	for _, e := range events {
		i := slices.IndexFunc(table.Events(s), func(t *protocol.Event) bool { return t != nil && t.Name == e.Name })
		if i < 0 {
			panic("sc2test: no event " + e.Name)
		}
		t := table.Events(s)[i]
		delta := e.Loop - loop
		loop = e.Loop
		if s == protocol.Tracker {
			p = AppendInt(append(p, 3, 0, 9), int64(uint32(delta))) // wraps around when it goes back
			p = AppendInt(append(p, 9), int64(t.ID))
			p = AppendVersioned(p, t.Type, e.Value)
			continue
		}
		w.Delta(uint32(delta))
		w.Bits(uint64(e.User), 5)
		w.Bits(uint64(t.ID), int(table.IDBits[s]))
		w.Value(t.Type, e.Value)
		w.Align()
	}
	if s == protocol.Tracker {
		return p
	}
	return append([]byte{}, w.Buf...)
}

// Delta writes the number of gameloops since the last event.
func (w *PackedWriter) Delta(n uint32) {
	for i, width := range []int{6, 14, 22, 32} {
		if width == 32 || n < 1<<width {
			w.Bits(uint64(i), 2)
			w.Bits(uint64(n), width)
			return
		}
	}
}

func attributes(base int, list []Attribute) []byte {
	le := binary.LittleEndian
	var p []byte
	if base >= 17326 {
		p = append(p, 0)
	}
	p = le.AppendUint32(p, 999)
	p = le.AppendUint32(p, uint32(len(list)))
	for _, a := range list {
		p = le.AppendUint32(p, 999)
		p = le.AppendUint32(p, uint32(a.ID))
		p = append(p, byte(a.Scope))
		var v [4]byte
		copy(v[:], a.Value)
		slices.Reverse(v[:])
		p = append(p, v[:]...)
	}
	return p
}
