package codectest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	optionsv1 "github.com/replayd/replayd/proto/replayd/options/v1"
)

// Events says how a format's events are written. E is the event struct that its decoder fills.
type Events[E any] struct {
	// Append appends an event as protobuf wire bytes.
	Append func(b []byte, ev *E) []byte
	// Message makes an empty message of the events' protobuf type.
	Message func() proto.Message
}

// kinds returns the alternatives of the oneof that makes an event what it is. A kind's number is its index plus one.
func (e Events[E]) kinds() protoreflect.FieldDescriptors {
	return e.Message().ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
}

// TestKinds checks events of every kind: without any value, with random ones, and with extreme ones.
func (e Events[E]) TestKinds(t *testing.T) {
	kinds := e.kinds()
	for i := range kinds.Len() {
		t.Run(string(kinds.Get(i).Name()), func(t *testing.T) {
			e.Check(t, e.Fill(i+1, nil))
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range 200 {
				seed := make([]byte, random.IntN(512))
				for j := range seed {
					seed[j] = byte(random.Uint32())
				}
				e.Check(t, e.Fill(i+1, seed))
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

// Fill makes an event of a kind whose values follow from the seed; those for which it does not suffice are zero. All
// the other kinds' fields are filled too, as those of an event struct are that was used before.
func (e Events[E]) Fill(kind int, seed []byte) *E {
	ev := new(E)
	f := filler{seed: seed}
	v := reflect.ValueOf(ev).Elem()
	v.FieldByName("Kind").SetUint(uint64(kind))
	message := e.Message().ProtoReflect().Descriptor()
	if kind > 0 { // first, where the seed still has something
		fd := e.kinds().Get(kind - 1)
		f.message(field(v, fd), fd.Message(), 0)
	}
	for i := range message.Fields().Len() {
		fd := message.Fields().Get(i)
		switch {
		case realOneof(fd) == nil:
			f.field(v, fd, 0)
		case kind == 0 || fd != e.kinds().Get(kind-1):
			f.message(field(v, fd), fd.Message(), 0)
		}
	}
	return ev
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

// field returns the field of a struct that the generator makes for a field of a message.
func field(v reflect.Value, fd protoreflect.FieldDescriptor) reflect.Value {
	return named(v, camel(string(fd.Name())))
}

func named(v reflect.Value, name string) reflect.Value {
	f := v.FieldByName(name)
	if !f.IsValid() {
		panic(fmt.Sprintf("%v has no field %s", v.Type(), name)) // the test's own fault
	}
	return f
}

// camel returns the Go name of a protobuf name: client_id is ClientId.
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

// choice returns the field that says which alternative of a oneof holds.
func choice(v reflect.Value, o protoreflect.OneofDescriptor) reflect.Value {
	if o.Name() == "kind" && v.FieldByName("Kind").IsValid() {
		return named(v, "Kind")
	}
	return named(v, camel(string(o.Name()))+"Case")
}

// optional tells whether the struct says of a field that it is there.
func optional(fd protoreflect.FieldDescriptor) bool {
	if fd.IsList() || realOneof(fd) != nil {
		return false
	}
	return fd.HasOptionalKeyword() && !hasAbsent(fd) || fd.Message() != nil
}

// hasAbsent reports whether a number in the struct says that there is nothing.
func hasAbsent(fd protoreflect.FieldDescriptor) bool {
	return proto.HasExtension(fd.Options(), optionsv1.E_Absent)
}

// absent is that number.
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
