package position_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/proto/position"
	"github.com/replayd/replayd/proto/protoscan"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// restore returns the positions of a batch as the comment on EventBatch.offsets says.
func restore(b *replaydv1.EventBatch) (all []decoders.Position) {
	var at decoders.Position
	indexes := b.GetIndexes()
	for _, n := range b.GetOffsets() {
		switch {
		case n > 0:
			at.Offset, at.Index = at.Offset+n, 0
		case n == 0:
			at.Index += 128
		default:
			at.Offset, at.Index, indexes = at.Offset-1-n, at.Index+indexes[0], indexes[1:]
		}
		all = append(all, at)
	}
	return all
}

// step draws the way from one position to the next: usual ones, and ones of any size.
func step(t *rapid.T, at decoders.Position) decoders.Position {
	switch rapid.IntRange(0, 5).Draw(t, "step") {
	case 0:
		at.Index += decoders.Room
	case 1:
		at.Index += rapid.Int64Range(1, 1<<40).Draw(t, "further in the record")
	case 2:
		at.Offset += rapid.Int64Range(1, 1<<40).Draw(t, "far")
		at.Index = rapid.Int64Range(0, 1<<50).Draw(t, "index")
	default:
		at.Offset += rapid.Int64Range(1, 70).Draw(t, "near")
		at.Index = rapid.SampledFrom([]int64{0, 0, 0, 1, 128}).Draw(t, "small index")
	}
	return at
}

// read reads all positions of a reader.
func read(t *rapid.T, r position.Reader) (all []decoders.Position) {
	for {
		offset, index, ok := r.Next()
		if !ok {
			if !r.Done() {
				t.Fatalf("%d positions are read, and there is more", len(all))
			}
			return all
		}
		all = append(all, decoders.Position{Offset: offset, Index: index})
	}
}

// TestList: positions come back from a list, from its fields in any form that protobuf knows, and as the .proto says. A copy of the
// list goes on as the list does.
func TestList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l position.List
		var want []decoders.Position
		at := decoders.Position{Offset: rapid.Int64Range(0, 1<<40).Draw(t, "first"), Index: rapid.SampledFrom([]int64{0, 128, 5}).Draw(t, "of it")}
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			if !rapid.Bool().Draw(t, "near") || !l.AddNear(at.Offset, at.Index) {
				l.Add(at.Offset, at.Index)
			}
			want = append(want, at)
			if rapid.IntRange(0, 3).Draw(t, "a run") == 0 {
				n, length := rapid.IntRange(1, 200).Draw(t, "run"), rapid.Uint8Range(1, position.MaxStep).Draw(t, "length")
				at = step(t, at)
				l.AddRun(at.Offset, at.Index, n, length)
				want = append(want, at)
				for range n - 1 {
					at = decoders.Position{Offset: at.Offset + int64(length)}
					want = append(want, at)
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "copy") == 0 {
				l = *l.Clone()
			}
			at = step(t, at)
		}
		wire := l.Append([]byte{})
		if len(wire) != l.Size() {
			t.Fatalf("%d bytes, the size is %d", len(wire), l.Size())
		}
		var b replaydv1.EventBatch
		if err := proto.Unmarshal(wire, &b); err != nil {
			t.Fatal(err)
		}
		same(t, "by the .proto", restore(&b), want)
		same(t, "from the list", read(t, l.Reader()), want)
		same(t, "from the fields", read(t, fields(t, wire)), want)
		var single []byte // each number in a field of its own
		for _, n := range b.GetOffsets() {
			single = protowire.AppendVarint(protowire.AppendTag(single, protoscan.BatchOffsets, protowire.VarintType), protowire.EncodeZigZag(n))
		}
		for i, n := range b.GetIndexes() {
			if i == 0 {
				single = protowire.AppendTag(single, protoscan.BatchIndexes, protowire.BytesType)
				single = protowire.AppendBytes(single, protowire.AppendVarint(nil, protowire.EncodeZigZag(n)))
				continue
			}
			single = protowire.AppendVarint(protowire.AppendTag(single, protoscan.BatchIndexes, protowire.VarintType), protowire.EncodeZigZag(n))
		}
		same(t, "from single numbers", read(t, fields(t, single)), want)
		if l.Reset(); l.Len() != 0 || l.Size() != 0 {
			t.Fatal("not empty")
		}
	})
}

func fields(t *rapid.T, wire []byte) (r position.Reader) {
	for len(wire) > 0 {
		f, rest, ok := protoscan.Next(wire)
		if !ok || !r.Field(f) {
			t.Fatalf("field %d", f.Number)
		}
		wire = rest
	}
	return r
}

func same(t *rapid.T, what string, got, want []decoders.Position) {
	if len(got) != len(want) {
		t.Fatalf("%s: %d positions, want %d", what, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: position %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestMalformed: what cannot be positions is refused, and nothing follows it.
func TestMalformed(t *testing.T) {
	var r position.Reader
	if r.Field(protoscan.Field{Number: protoscan.BatchOffsets, Type: protowire.Fixed64Type, Value: 2}) {
		t.Error("eight bytes are taken for positions")
	}
	for what, fields := range map[string][2][]byte{"an index is missing": {{1, 2, 2}, nil}, "half an offset": {{0x80}, nil}, "half an index": {{1, 2}, {0x80}}} {
		r := position.Reader{}
		r.Field(protoscan.Field{Number: protoscan.BatchOffsets, Type: protowire.BytesType, Bytes: fields[0]})
		r.Field(protoscan.Field{Number: protoscan.BatchIndexes, Type: protowire.BytesType, Bytes: fields[1]})
		for range 3 {
			if offset, index, ok := r.Next(); ok {
				t.Errorf("%s: %d, %d", what, offset, index)
			}
		}
	}
}

// TestRoom: the step between indexes that is not sent is that of decoders.
func TestRoom(t *testing.T) {
	if position.Room != decoders.Room {
		t.Errorf("%d, want %d", position.Room, decoders.Room)
	}
}

// TestUsual: usual events take a byte each, and no index.
func TestUsual(t *testing.T) {
	var l position.List
	l.Add(1, 0)
	for i := range int64(100) { // a record with three events, and one with one
		for index := range int64(3) {
			l.Add(5+70*i, index*decoders.Room)
		}
		l.Add(5+70*i+7, 0)
	}
	if got := l.Len(); got != 1+400 {
		t.Errorf("%d bytes for 401 events", got)
	}
}

// TestAllocations: once a list has its memory, positions take no more.
func TestAllocations(t *testing.T) {
	var l position.List
	if n := testing.AllocsPerRun(10, func() {
		l.Reset()
		for i := range int64(512) {
			l.Add(i*100, i%3)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzReader: no fields break a reader, and it gives no more positions than there are bytes.
func FuzzReader(f *testing.F) {
	f.Add([]byte{6, 6, 0, 7}, []byte{2})
	f.Add([]byte{7}, []byte{})
	f.Add([]byte{0x80}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, offsets, indexes []byte) {
		var r position.Reader
		r.Field(protoscan.Field{Number: protoscan.BatchOffsets, Type: protowire.BytesType, Bytes: offsets})
		r.Field(protoscan.Field{Number: protoscan.BatchIndexes, Type: protowire.BytesType, Bytes: indexes})
		for n := 0; ; n++ {
			if n > len(offsets) {
				t.Fatal("more positions than bytes")
			}
			if _, _, ok := r.Next(); !ok {
				return
			}
		}
	})
}
