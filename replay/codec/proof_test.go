package codec_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// said keeps what a proof says to a replay's checkpoints.
type said struct {
	codec.Checkpoints
	proven, dropped bool
}

func (s *said) Proven(*codec.Checkpoint) bool { return s.proven }
func (s *said) Prove(*codec.Checkpoint)       { s.proven = true }
func (s *said) Drop()                         { s.dropped = true }

// TestProof: a checkpoint is proven by the bytes before it alone, a part of them at a time. Other bytes, and fewer, drop all checkpoints.
func TestProof(t *testing.T) {
	data := bytes.Repeat([]byte("replay"), 1<<20)
	other := bytes.Clone(data)
	other[len(data)-10]++
	at := codec.Checkpoint{Position: decoders.Position{Offset: int64(len(data)) - 5}, Sum: decoders.Sum(0).Add(data[:len(data)-5])}
	late := bytes.Clone(data)
	late[len(data)-1]++
	for name, test := range map[string]struct {
		data   []byte
		proven bool
	}{
		"the same":            {data, true},
		"other after it":      {late, true},
		"other before it":     {other, false},
		"too short":           {data[:len(data)-6], false},
		"empty":               {nil, false},
		"exactly long enough": {data[:len(data)-5], true},
	} {
		among, yields := &said{}, 0
		p := codec.NewProof(at)
		proven, err := p.Look(source.Input{At: bytes.NewReader(test.data)}, among)
		for ; errors.Is(err, codec.ErrYield) && yields < 9; yields++ {
			proven, err = p.Look(source.Input{At: bytes.NewReader(test.data)}, among)
		}
		if err != nil || proven != test.proven || among.proven != test.proven || among.dropped == test.proven {
			t.Errorf("%s: %v, %v; proven %v, dropped %v", name, proven, err, among.proven, among.dropped)
		}
		if test.proven && yields != 1 {
			t.Errorf("%s: it yields %d times", name, yields)
		}
	}
	if proven, err := codec.NewProof(at).Look(source.Input{}, &said{proven: true}); !proven || err != nil { // nothing is read
		t.Errorf("one that is proven: %v, %v", proven, err)
	}
}
