package replayd

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/replayd/replayd/proto/eventjson"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// format describes the events of a format, so that they can be parsed without unmarshalling. It comes from the .proto and is
// immutable.
type format struct {
	name    string // of its field in EventBatch
	list    protoreflect.MessageType
	event   protoreflect.MessageType
	printer *eventjson.Printer

	tick    protowire.Number // number of the tick's field in Event, or 0
	tickTag byte             // its tag if that is one byte, or 0
	kinds   map[protowire.Number]*kind
	small   [32]*kind        // the entries of kinds with numbers below 32
	strings protowire.Number // number of the field for strings in EventList, or 0
}

// kind is a kind of events.
type kind struct {
	name    string
	number  protowire.Number // of the field in Event
	message protoreflect.MessageType
	fast    fast
}

func (f *format) kind(n protowire.Number) *kind {
	if n >= 0 && int(n) < len(f.small) {
		return f.small[n]
	}
	return f.kinds[n]
}

// formats returns all formats by the number of their field in EventBatch.
var formats = sync.OnceValue(func() map[protowire.Number]*format {
	known := map[protowire.Number]*format{}
	batch := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor()
	lists := batch.Oneofs().ByName("events").Fields()
	for i := range lists.Len() {
		if f, ok := newFormat(lists.Get(i)); ok {
			known[lists.Get(i).Number()] = f
		}
	}
	return known
})

// stateFormats returns the formats that have a state, by the number of their field in StateBatch.
var stateFormats = sync.OnceValue(func() map[protowire.Number]*format {
	known := map[protowire.Number]*format{}
	lists := (*replaydv1.StateBatch)(nil).ProtoReflect().Descriptor().Oneofs().ByName("events").Fields()
	for i := range lists.Len() {
		for _, f := range formats() {
			if f.name == string(lists.Get(i).Name()) {
				known[lists.Get(i).Number()] = f
			}
		}
	}
	return known
})

func newFormat(list protoreflect.FieldDescriptor) (*format, bool) {
	events := list.Message().Fields().ByName("events")
	if events == nil || events.Message() == nil {
		return nil, false
	}
	f := &format{
		name: string(list.Name()), list: messageType(list.Message()), event: messageType(events.Message()),
		printer: eventjson.New(list.Message()),
		kinds:   map[protowire.Number]*kind{},
	}
	fields := events.Message().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch oneof := field.ContainingOneof(); {
		case oneof != nil && oneof.Name() == "kind" && field.Message() != nil:
			k := &kind{
				name: string(field.Name()), number: field.Number(), message: messageType(field.Message()), fast: fastOf(field.Message().FullName()),
			}
			f.kinds[k.number] = k
			if int(k.number) < len(f.small) {
				f.small[k.number] = k
			}
		case field.Name() == "at_tick":
			f.tick = field.Number()
			if tag := protowire.EncodeTag(f.tick, protowire.VarintType); tag < 0x80 {
				f.tickTag = byte(tag)
			}
		}
	}
	others := list.Message().Fields()
	for i := range others.Len() {
		if field := others.Get(i); field.Name() == "strings" {
			f.strings = field.Number()
		}
	}
	return f, true
}

// messageType returns the generated Go type of a message. It is always registered, because the service's generated package
// imports those of the formats.
func messageType(d protoreflect.MessageDescriptor) protoreflect.MessageType {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		return nil
	}
	return t
}
