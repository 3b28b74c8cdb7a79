package demtest

import "slices"

// scene writes a demo tick by tick. It keeps the states of all entities, for key frames.
type scene struct {
	gameOf

	tick    int32
	begun   bool
	spacing int32 // between key frames, in ticks; 0 writes none
	tables  Proto // dumps of the string tables, for key frames
	beings  map[int]*being
	changes map[int]*change // of the present tick, by slot
}

// being is an entity of a scene.
type being struct {
	class  int
	values []Value // by path
}

// change is what happens to an entity in a tick.
type change struct {
	created, deleted bool
	class            int
	values           []Value
}

// merged returns the values of a state after others have changed it.
func merged(values, others []Value) []Value {
	for _, v := range others {
		i, there := slices.BinarySearchFunc(values, v.Path, func(v Value, path []int) int { return slices.Compare(v.Path, path) })
		if there {
			values[i] = v
		} else {
			values = slices.Insert(values, i, v)
		}
	}
	return values
}

func (s *scene) change(slot int) *change {
	c := s.changes[slot]
	if c == nil {
		if s.changes == nil {
			s.changes = map[int]*change{}
		}
		c = &change{}
		s.changes[slot] = c
	}
	return c
}

// create lets an entity come into a slot that has none.
func (s *scene) create(slot, class int, values ...Value) {
	c := s.change(slot)
	c.created, c.class = true, class
	c.values = merged(c.values, values)
}

// update changes an entity.
func (s *scene) update(slot int, values ...Value) {
	c := s.change(slot)
	c.values = merged(c.values, values)
}

// remove lets an entity go that is older than the present tick.
func (s *scene) remove(slot int) { s.change(slot).deleted = true }

// packet writes a packet of the present tick, and a key frame behind it when one is due.
func (s *scene) packet(messages ...Message) {
	e := s.entities()
	if s.beings == nil {
		s.beings = map[int]*being{}
	}
	for _, slot := range sorted(s.changes) {
		switch c := s.changes[slot]; {
		case c.deleted:
			e.Delete(slot)
			delete(s.beings, slot)
		case c.created:
			e.Create(slot, c.class, 1, c.values...)
			s.beings[slot] = &being{c.class, c.values}
		default:
			e.Update(slot, c.values...)
			s.beings[slot].values = merged(s.beings[slot].values, c.values)
		}
	}
	clear(s.changes)
	now := Message{4, Proto(nil).Varint(1, int64(s.tick))}
	s.record(CmdPacket, PackMessages(append([]Message{now, e.Message(s.begun)}, messages...)...))
	s.begun = true
	if s.spacing == 0 || s.tick%s.spacing != 0 {
		return
	}
	whole := s.entities()
	for _, slot := range sorted(s.beings) {
		b := s.beings[slot]
		whole.Create(slot, b.class, 1, b.values...)
	}
	s.record(CmdFullPacket, Proto(nil).Bytes(1, s.tables).Bytes(2, PackMessages(now, whole.Message(false))))
}

// record writes a record of the present tick, compressed where that pays.
func (s *scene) record(command uint32, payload []byte) {
	if len(payload) < 128 {
		s.d.Record(command, s.tick, payload)
	} else {
		s.d.Compressed(command, s.tick, payload)
	}
}

// end writes the end of a recording of some ticks of a game, with a summary of it if there is one.
func (s *scene) end(perSecond float32, game Proto) []byte {
	s.d.Record(CmdStop, s.tick, nil)
	info := Proto(nil).Float(1, float32(s.tick)/perSecond).Varint(2, int64(s.tick)).Varint(3, int64(s.tick))
	if game != nil {
		info = info.Bytes(4, game)
	}
	s.d.Record(CmdFileInfo, s.tick, info)
	return s.d.Bytes()
}

func sorted[T any](of map[int]T) []int {
	slots := make([]int, 0, len(of))
	for slot := range of {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	return slots
}
