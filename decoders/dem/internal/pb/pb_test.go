package pb_test

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// TestReader: each wire type is read, and what a field is not reads as nothing.
func TestReader(t *testing.T) {
	m := pb.NewReader(demtest.Proto(nil).Varint(1, -3).Sint(2, -5).Fixed32(3, 7).Float(4, 1.5).Fixed64(5, 1<<60).Text(6, "text").Varint(1<<29-1, 1))
	type field struct {
		num   int
		typ   byte
		int32 int32
		raw   string
	}
	var got []field
	for m.Next() {
		f := field{m.Num, m.Type, m.Int32(), string(m.Raw)}
		switch m.Num {
		case 2:
			f.int32 = m.Sint32()
		case 4:
			f.int32 = int32(2 * m.Float32())
		case 5:
			f.int32 = int32(m.Val >> 59)
		}
		got = append(got, f)
	}
	want := []field{
		{1, pb.Varint, -3, ""}, {2, pb.Varint, -5, ""}, {3, pb.Fixed32, 7, ""}, {4, pb.Fixed32, 3, ""}, {5, pb.Fixed64, 2, ""},
		{6, pb.Bytes, 0, "text"}, {1<<29 - 1, pb.Varint, 1, ""},
	}
	if m.Bad || !reflect.DeepEqual(got, want) {
		t.Errorf("%v (bad: %v), not %v", got, m.Bad, want)
	}
}

// TestDifferences: differences may have fields that are reset, which have no value, and are read like messages otherwise.
func TestDifferences(t *testing.T) {
	m := pb.Differences(demtest.Proto{1<<3 | 7}.Varint(2, 300).Text(3, "text"))
	var got []string
	for m.Next() {
		got = append(got, fmt.Sprintf("%d %d %d%s", m.Num, m.Type, m.Val, m.Raw))
	}
	if m.Bad || strings.Join(got, ", ") != "1 7 0, 2 0 300, 3 2 0text" {
		t.Errorf("%q (bad: %v)", got, m.Bad)
	}
	for _, rest := range [][]byte{{2<<3 | 6}, {0<<3 | 7}, {2<<3 | 2, 3, 1}} {
		if m = pb.Differences(rest); m.Next() || !m.Bad {
			t.Errorf("%x is read", rest)
		}
	}
}

// TestTo: a reader that is moved to the fields with a number meets the fields that another meets among all, counts the same unknown ones,
// and finds the same messages bad.
func TestTo(t *testing.T) {
	shape := &pb.Shape{Name: "M"}
	shape.Add(1, pb.Field{Type: pb.Varint})
	shape.Add(2, pb.Field{Type: pb.Bytes})
	shape.Add(3, pb.Field{Type: pb.Fixed32})
	shape.Add(4, pb.Field{Type: pb.Varint, Repeated: true})
	shape.Add(5, pb.Field{Type: pb.Fixed64})
	rapid.Check(t, func(t *rapid.T) {
		var b demtest.Proto
		for range rapid.IntRange(0, 6).Draw(t, "fields") {
			num := rapid.SampledFrom([]int{1, 2, 3, 4, 5, 6, 20}).Draw(t, "number")
			switch rapid.IntRange(0, 5).Draw(t, "type") {
			case 0:
				b = b.Varint(num, rapid.Int64().Draw(t, "value"))
			case 1:
				b = b.Bytes(num, make([]byte, rapid.SampledFrom([]int{0, 1, 127, 128}).Draw(t, "size")))
			case 2:
				b = b.Fixed32(num, 7)
			case 3:
				b = b.Fixed64(num, 7)
			case 4:
				b = append(b, rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "anything")...)
			case 5:
				b = append(append(b, byte(num<<3)), bytes.Repeat([]byte{0xff}, 9)...)
				b = append(b, rapid.SampledFrom([]byte{1, 2, 0x7f, 0xff}).Draw(t, "last"), 1)
			}
		}
		b = b[:rapid.IntRange(0, len(b)).Draw(t, "cut")]
		for _, shape := range []*pb.Shape{nil, shape} {
			for num := range 7 {
				var all, some pb.Log
				m, n := pb.Read(b, shape, &all), pb.Read(b, shape, &some)
				var want, got []string
				for m.Next() {
					if m.Num == num {
						want = append(want, fmt.Sprint(m.Type, m.Val, string(m.Raw)))
					}
				}
				for n.To(num) {
					got = append(got, fmt.Sprint(n.Type, n.Val, string(n.Raw)))
				}
				if !slices.Equal(got, want) || m.Bad != n.Bad || !reflect.DeepEqual(all.Counts, some.Counts) {
					t.Fatalf("%x, fields %d: %v (bad: %v, unknown: %v), not %v (bad: %v, unknown: %v)", b, num, got, n.Bad, some.Counts, want, m.Bad, all.Counts)
				}
			}
		}
	})
}

// TestWithin: the fields of a message in a message are read, and if they end early, the outer one is bad.
func TestWithin(t *testing.T) {
	for _, torn := range []bool{false, true} {
		inner := demtest.Proto(nil).Varint(1, 5)
		if torn {
			inner = append(inner, 2<<3)
		}
		m := pb.NewReader(demtest.Proto(nil).Bytes(3, inner))
		m.Next()
		n := 0
		for q := m.Message(); m.Within(&q); {
			n += int(q.Val)
		}
		if n != 5 || m.Bad != torn {
			t.Errorf("torn %v: %d, bad: %v", torn, n, m.Bad)
		}
	}
}

// TestTorn: a message that ends inside a field, or has what no message has, is bad, and the fields before are read.
func TestTorn(t *testing.T) {
	good := demtest.Proto(nil).Varint(1, 300)
	for name, rest := range map[string][]byte{
		"tag": {0x80}, "varint": {2 << 3, 0x80}, "64 bits": {2<<3 | 1, 1, 2, 3, 4, 5, 6, 7}, "32 bits": {2<<3 | 5, 1, 2, 3}, "length": {2<<3 | 2, 0x80},
		"bytes": {2<<3 | 2, 3, 1, 2}, "group": {2<<3 | 3}, "end of a group": {2<<3 | 4}, "type 6": {2<<3 | 6}, "type 7": {2<<3 | 7}, "number 0": {0, 0},
		"too large a number": {0x80, 0x80, 0x80, 0x80, 0x20, 0}, "too long a varint": append([]byte{2 << 3}, bytes.Repeat([]byte{0xff}, 11)...),
	} {
		m, n := pb.NewReader(slices.Concat(good, rest)), 0
		for m.Next() {
			n++
		}
		if !m.Bad || n != 1 || pb.IsMessage(slices.Concat(good, rest)) {
			t.Errorf("%s: %d fields, bad: %v", name, n, m.Bad)
		}
	}
	if !pb.IsMessage(good) || pb.IsMessage(nil) {
		t.Error("what is a message and what is none")
	}
}

// TestNumbers: lists of numbers are read in both forms, up to a limit.
func TestNumbers(t *testing.T) {
	packed := demtest.Proto(nil).Bytes(1, []byte{1, 2, 0xac, 2}).Varint(1, 4)
	var got []int32
	m := pb.NewReader(packed)
	for m.Next() {
		got = m.AppendInt32s(got)
	}
	if !slices.Equal(got, []int32{1, 2, 300, 4}) || m.Bad {
		t.Errorf("%v, bad: %v", got, m.Bad)
	}
	for name, message := range map[string][]byte{
		"torn": demtest.Proto(nil).Bytes(1, []byte{1, 0x80}), "packed": demtest.Proto(nil).Bytes(1, make([]byte, 1<<16+1)),
		"one by one": bytes.Repeat(demtest.Proto(nil).Varint(1, 0), 1<<16+1),
	} {
		var got []uint32
		m := pb.NewReader(message)
		for m.Next() {
			got = m.AppendUint32s(got)
		}
		if !m.Bad || len(got) > 1<<16 {
			t.Errorf("%s: %d numbers, bad: %v", name, len(got), m.Bad)
		}
	}
	if v, n := pb.Uvarint([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}); v != math.MaxUint64 || n != 10 {
		t.Errorf("%d of %d bytes", v, n)
	}
}

// shapes returns the shape of a message with a number, a list of numbers, text, and a message of the same shape.
func shapes() *pb.Shape {
	s := &pb.Shape{Name: "Outer"}
	s.Add(1, pb.Field{Type: pb.Varint})
	s.Add(2, pb.Field{Type: pb.Varint, Repeated: true})
	s.Add(4, pb.Field{Type: pb.Bytes, Text: true})
	s.Add(5, pb.Field{Type: pb.Bytes, Of: s})
	return s
}

// TestShape: a reader that knows a message passes over other fields, and counts them, also in messages of the message.
func TestShape(t *testing.T) {
	inner := demtest.Proto(nil).Varint(1, 7).Varint(9, 1).Fixed32(1, 2)
	message := demtest.Proto(nil).Varint(1, 1).Varint(3, 1).Bytes(2, []byte{1}).Varint(2, 1).Fixed64(4, 1).Varint(1000, 1).Varint(3, 2).Bytes(5, inner)
	var met []pb.Unknown
	log := pb.Log{Met: func(u pb.Unknown) { met = append(met, u) }}
	m := pb.Read(message, shapes(), &log)
	var nums []int
	for m.Next() {
		if nums = append(nums, m.Num); m.Num == 5 {
			for q := m.Message(); q.Next(); {
				nums = append(nums, -q.Num)
			}
		}
	}
	if !slices.Equal(nums, []int{1, 2, 2, 5, -1}) || m.Bad {
		t.Errorf("fields %v, bad: %v", nums, m.Bad)
	}
	want := map[pb.Unknown]int64{
		{Message: "Outer", Num: 3}: 2, {Message: "Outer", Num: 1000}: 1, {Message: "Outer", Num: 9}: 1,
		{Message: "Outer", Num: 4, Type: pb.Fixed64, Changed: true}: 1, {Message: "Outer", Num: 1, Type: pb.Fixed32, Changed: true}: 1,
	}
	if !reflect.DeepEqual(log.Counts, want) || len(met) != 6 {
		t.Errorf("%v, met %d", log.Counts, len(met))
	}
	if fields := log.Fields(); fields[0].Num != 1 || fields[4].Num != 1000 {
		t.Errorf("in the order %v", fields)
	}
}

// TestParts: of a message that is read in parts, everything is counted once, however it is read, and however deep it is.
func TestParts(t *testing.T) {
	message := demtest.Proto(nil).Varint(3, 1)
	for range 20 {
		message = demtest.Proto(nil).Bytes(5, message).Varint(3, 1)
	}
	var log pb.Log
	m := pb.ReadParts(message, shapes(), &log)
	for range 2 {
		for q := m; q.Next(); {
			for in := q.Message(); in.Next(); {
			}
		}
	}
	if n := log.Counts[pb.Unknown{Message: "Outer", Num: 3}]; n != 9 { // the outer ones: nothing of a game is deeper
		t.Errorf("counted %d times", n)
	}
	large := bytes.Repeat([]byte{5<<3 | 2, 0x80, 0x80, 0x80, 0x08}, 1<<16) // messages in messages, each torn
	if m := pb.ReadParts(large, shapes(), &log); m.Next() || !m.Bad {
		t.Error("a torn message is read")
	}
}

// TestLog: a log tells 1,024 fields apart, and how often others were met.
func TestLog(t *testing.T) {
	var log, sum pb.Log
	for n := range 1030 {
		log.Add(pb.Unknown{Message: "m", Num: n}, 2)
	}
	log.Add(pb.Unknown{Message: "m", Num: 5}, 1)
	if len(log.Counts) != 1024 || log.More != 12 || log.Counts[pb.Unknown{Message: "m", Num: 5}] != 3 {
		t.Errorf("%d fields, %d more", len(log.Counts), log.More)
	}
	copied := log.Copy()
	sum.AddAll(&log)
	sum.AddAll(&copied)
	log.Add(pb.Unknown{Message: "m", Num: 5}, 1)
	if sum.More != 24 || sum.Counts[pb.Unknown{Message: "m", Num: 5}] != 6 || copied.Counts[pb.Unknown{Message: "m", Num: 5}] != 3 {
		t.Errorf("sums %d, %d, %d", sum.More, sum.Counts[pb.Unknown{Message: "m", Num: 5}], copied.Counts[pb.Unknown{Message: "m", Num: 5}])
	}
	(*pb.Log)(nil).Add(pb.Unknown{}, 1) // counts nothing
}
