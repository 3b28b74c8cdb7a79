package index

import (
	"bytes"
	"sync"
	"unique"

	"github.com/klauspost/compress/s2"

	"github.com/replayd/replayd/replay/codec"
)

// Survey holds what decoding a replay has found. It is immutable.
type Survey struct {
	// Offset, LastTick, Ended and Broken are those of a codec.Survey.
	Offset   int64
	names    []unique.Handle[string]
	in       *block // has, from at on, the texts that are seldom asked for: roster, participants and state
	at       uint32
	LastTick int32
	Ended    bool
	Broken   bool
	// Continues is true if the survey has a state.
	Continues bool
	hasRoster bool
}

// seldomTexts is how many texts of a survey are seldom asked for.
const seldomTexts = 3

func newSurvey(s *codec.Survey) *Survey {
	var b []byte
	for _, text := range [seldomTexts][]byte{s.Roster, s.Participants, s.State} {
		b = appendText(b, string(text))
	}
	return &Survey{
		Offset: s.Offset, names: shared(s.Names), in: &block{bytes: bytes.Clone(b)}, LastTick: s.LastTick, Ended: s.Ended, Broken: s.Broken, Continues: s.State != nil, hasRoster: len(s.Roster) > 0,
	}
}

// shared returns names of players, which repeat, as what takes half the memory even if each was there once.
func shared(names []string) []unique.Handle[string] {
	list := make([]unique.Handle[string], len(names))
	for i, name := range names {
		list[i] = unique.Make(name)
	}
	return list
}

// Names returns the players' names, each once.
func (s *Survey) Names() []string {
	var list []string
	for _, name := range s.names {
		list = append(list, name.Value())
	}
	return list
}

// Whole returns the survey with all that it found, or nil without a survey.
func (s *Survey) Whole() *codec.Survey {
	if s == nil {
		return nil
	}
	r := stored{b: s.rest()}
	whole := &codec.Survey{Offset: s.Offset, LastTick: s.LastTick, Ended: s.Ended, Broken: s.Broken, Names: s.Names()}
	whole.Roster, whole.Participants, whole.State = r.bytes(r.uint()), r.bytes(r.uint()), r.bytes(r.uint())
	if !s.hasRoster {
		whole.Roster = nil
	}
	if !s.Continues {
		whole.State = nil
	}
	return whole
}

// rest returns the stored form of the texts that are seldom asked for.
func (s *Survey) rest() []byte {
	if s.in == nil {
		return nil
	}
	all := s.in.all()[s.at:]
	r := stored{b: all}
	for range seldomTexts {
		r.bytes(r.uint())
	}
	return all[:len(all)-len(r.b)]
}

// block holds texts of some surveys.
type block struct {
	mu     sync.Mutex
	bytes  []byte
	packed bool // the bytes are compressed
}

func (b *block) all() []byte {
	b.mu.Lock()
	all, packed := b.bytes, b.packed
	b.mu.Unlock()
	if packed {
		all, _ = s2.Decode(nil, all) // never fails
	}
	return all
}

// perBlock is how many bytes a block has, unless one survey has more.
const perBlock = 16 << 10

// seldom packs texts of surveys that are complete: one in a hundred may ever be asked for, and names occur in many games. A block lives as
// long as one of its surveys, and texts of a growing replay, which change, are in none.
type seldom struct{ open *block }

// keep packs the texts of a survey that nobody else has yet. It must not be called concurrently.
func (k *seldom) keep(s *Survey) {
	if s.Continues {
		return
	}
	rest := s.rest()
	if b := k.open; b != nil && len(b.bytes)+len(rest) > perBlock {
		packed := bytes.Clone(s2.EncodeBetter(nil, b.bytes))
		b.mu.Lock()
		b.bytes, b.packed = packed, true
		b.mu.Unlock()
		k.open = nil
	}
	if k.open == nil {
		k.open = &block{bytes: make([]byte, 0, perBlock)}
	}
	b := k.open
	b.mu.Lock()
	defer b.mu.Unlock()
	s.in, s.at = b, uint32(len(b.bytes))
	b.bytes = append(b.bytes, rest...)
}
