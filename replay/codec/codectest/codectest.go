package codectest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	optionsv1 "github.com/replayd/replayd/proto/replayd/options/v1"
)

// Events describes how a format's events are written. E is the event struct that its decoder fills.
type Events[E any] struct {
	// Append appends an event as protobuf wire bytes.
	Append func(b []byte, ev *E) []byte
	// Message returns an empty message of the events' protobuf type.
	Message func() proto.Message
}

// kinds returns the fields of an event's oneof "kind". A kind's number is its index plus one.
func (e Events[E]) kinds() protoreflect.FieldDescriptors {
	return e.Message().ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
}

// TestKinds checks events of every kind: without any value, with random values, and with extreme values.
func (e Events[E]) TestKinds(t *testing.T) {
	kinds := e.kinds()
	for i := range kinds.Len() {
		t.Run(string(kinds.Get(i).Name()), func(t *testing.T) {
			e.Check(t, e.Fill(i+1, nil))
			random := rand.New(rand.NewPCG(1, uint64(i)))
			used := new(E) // an event struct that was used for all other kinds before
			e.fillOthers(used, i+1, randomSeed(random, 64<<10))
			for range 200 {
				ev := *used
				e.fillKind(&ev, i+1, randomSeed(random, random.IntN(512)))
				e.Check(t, &ev)
			}
		})
	}
	t.Run("none", func(t *testing.T) { e.Check(t, e.Fill(0, []byte("some values"))) })
}

// Fuzz checks events of arbitrary kinds with arbitrary values.
func (e Events[E]) Fuzz(f *testing.F) {
	kinds := e.kinds().Len()
	for i := range kinds {
		f.Add(uint8(i+1), bytes.Repeat([]byte{0xff, 0x01, 0x80, byte(i), 0x07}, 40))
	}
	f.Fuzz(func(t *testing.T, kind uint8, seed []byte) { e.Check(t, e.Fill(int(kind)%(kinds+1), seed)) })
}

// Fill returns an event of a kind with values derived from the seed. Values beyond the end of the seed are zero. The fields of
// all other kinds are filled too, as in an event struct that was used before.
func (e Events[E]) Fill(kind int, seed []byte) *E {
	ev := new(E)
	rest := e.fillKind(ev, kind, seed) // first, while the seed has bytes
	e.fillOthers(ev, kind, rest)
	return ev
}

// fillKind makes ev an event of a kind. It sets the fields of that kind and the fields that all kinds have. It returns the
// unused rest of the seed.
func (e Events[E]) fillKind(ev *E, kind int, seed []byte) []byte {
	f := filler{seed: seed}
	v := reflect.ValueOf(ev).Elem()
	v.FieldByName("Kind").SetUint(uint64(kind))
	if kind > 0 {
		fd := e.kinds().Get(kind - 1)
		f.message(field(v, fd), fd.Message(), 0)
	}
	fields := e.Message().ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if fd := fields.Get(i); realOneof(fd) == nil {
			f.field(v, fd, 0)
		}
	}
	return f.seed
}

// fillOthers sets the fields of all kinds except one.
func (e Events[E]) fillOthers(ev *E, kind int, seed []byte) {
	f := filler{seed: seed}
	v := reflect.ValueOf(ev).Elem()
	kinds := e.kinds()
	for i := range kinds.Len() {
		if fd := kinds.Get(i); i+1 != kind {
			f.message(field(v, fd), fd.Message(), 0)
		}
	}
}

func randomSeed(random *rand.Rand, n int) []byte {
	seed := make([]byte, n)
	for i := range seed {
		seed[i] = byte(random.Uint32())
	}
	return seed
}

// Check fails the test unless the appender's bytes of an event are a message with the event's values, in exactly the
// bytes that protobuf writes for it.
func (e Events[E]) Check(tb testing.TB, ev *E) {
	tb.Helper()
	prefix := []byte("what is there already")
	got := e.Append(prefix, ev)
	if !bytes.HasPrefix(got, prefix) {
		tb.Fatal("the bytes before the event were changed")
	}
	got = got[len(prefix):]
	m := e.Message()
	if err := proto.Unmarshal(got, m); err != nil {
		tb.Fatalf("%v\nevent: %+v\nbytes: % x", err, ev, got)
	}
	want, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		tb.Fatalf("the bytes differ from protobuf's\nevent: %+v\n got: % x\nwant: % x", ev, got, want)
	}
	if err := equal(reflect.ValueOf(ev).Elem(), m.ProtoReflect()); err != nil {
		tb.Fatalf("%v\nevent: %+v\nmessage: %v", err, ev, m)
	}
}

// field returns the struct field that the generator makes for a message field.
func field(v reflect.Value, fd protoreflect.FieldDescriptor) reflect.Value {
	return named(v, camel(string(fd.Name())))
}

func named(v reflect.Value, name string) reflect.Value {
	key := structField{v.Type(), name}
	if index, ok := indexes.Load(key); ok {
		return v.FieldByIndex(index.([]int))
	}
	f, ok := v.Type().FieldByName(name)
	if !ok {
		panic(fmt.Sprintf("%v has no field %s", v.Type(), name)) // an error in the test
	}
	indexes.Store(key, f.Index)
	return v.FieldByIndex(f.Index)
}

// indexes caches the indexes of struct fields, because reflect searches for them and an event struct may have a hundred.
var indexes sync.Map // of []int, by structField

type structField struct {
	of   reflect.Type
	name string
}

// camel returns the Go name of a protobuf name: ClientId for client_id.
func camel(name string) string {
	var b []byte
	up := true
	for _, c := range []byte(name) {
		switch {
		case c == '_':
			up = true
		case up && 'a' <= c && c <= 'z':
			b = append(b, c-'a'+'A')
			up = false
		default:
			b = append(b, c)
			up = false
		}
	}
	return string(b)
}

// choice returns the struct field that selects the alternative of a oneof.
func choice(v reflect.Value, o protoreflect.OneofDescriptor) reflect.Value {
	if o.Name() == "kind" && v.FieldByName("Kind").IsValid() {
		return named(v, "Kind")
	}
	return named(v, camel(string(o.Name()))+"Case")
}

// optional reports whether the struct has a flag for the presence of a field.
func optional(fd protoreflect.FieldDescriptor) bool {
	if fd.IsList() || realOneof(fd) != nil {
		return false
	}
	return fd.HasOptionalKeyword() && !hasAbsent(fd) || fd.Message() != nil
}

// hasAbsent reports whether a number in the struct marks the field as absent.
func hasAbsent(fd protoreflect.FieldDescriptor) bool {
	return proto.HasExtension(fd.Options(), optionsv1.E_Absent)
}

// absent returns the number that marks the field as absent.
func absent(fd protoreflect.FieldDescriptor) int64 {
	number, _ := proto.GetExtension(fd.Options(), optionsv1.E_Absent).(int32)
	return int64(number)
}

func realOneof(fd protoreflect.FieldDescriptor) protoreflect.OneofDescriptor {
	if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() {
		return o
	}
	return nil
}
