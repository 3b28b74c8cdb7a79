package dem

import (
	"unicode/utf8"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/protoappend"
)

// stringsField is the tag of `repeated string strings = 2` of EventList.
const stringsField = 0x12

// namer knows what its numbers stand for.
type namer interface{ Name(number uint32) string }

// stringTable numbers the names that a batch's events refer to.
type stringTable struct {
	batch  uint32   // the number of the batch, from 1
	count  uint32   // the number of names in this batch
	seen   []uint32 // by the namer's number: the last batch with the name
	number []uint32 // by the namer's number: the name's number in that batch
}

// begin starts a batch.
func (t *stringTable) begin() {
	t.batch++
	t.count = 0
}

// add returns the number of a name in the batch, and appends the name to the batch if it is new.
func (t *stringTable) add(b *codec.Batch, d namer, id uint32) uint32 {
	if int(id) < len(t.seen) && t.seen[id] == t.batch {
		return t.number[id]
	}
	return t.addNew(b, d, id)
}

func (t *stringTable) addNew(b *codec.Batch, d namer, id uint32) uint32 {
	for int(id) >= len(t.seen) {
		t.seen = append(t.seen, 0)
		t.number = append(t.number, 0)
	}
	name := d.Name(id)
	b.Tail = append(b.Tail, stringsField)
	if utf8.ValidString(name) {
		b.Tail = protoappend.Varint(b.Tail, uint64(len(name)))
		b.Tail = append(b.Tail, name...)
	} else {
		b.Tail = protoappend.String(b.Tail, []byte(name))
	}
	t.seen[id], t.number[id] = t.batch, t.count
	t.count++
	return t.number[id]
}

// refer replaces the decoder's numbers of names in an event by the batch's numbers.
func (t *stringTable) refer(b *codec.Batch, d *dem.Decoder, ev *dem.Event) {
	switch ev.Kind {
	case dem.KindEntityUpdated:
		ev.EntityUpdated.Class = t.add(b, d, ev.EntityUpdated.Class)
		t.referFields(b, d, ev.EntityUpdated.Fields)
	case dem.KindEntityCreated:
		ev.EntityCreated.Class = t.add(b, d, ev.EntityCreated.Class)
		t.referFields(b, d, ev.EntityCreated.Fields)
	case dem.KindEntityEntered:
		ev.EntityEntered.Class = t.add(b, d, ev.EntityEntered.Class)
		t.referFields(b, d, ev.EntityEntered.Fields)
	case dem.KindSampleEntity:
		ev.SampleEntity.Class = t.add(b, d, ev.SampleEntity.Class)
		t.referFields(b, d, ev.SampleEntity.Fields)
	case dem.KindEntityLeft:
		ev.EntityLeft.Class = t.add(b, d, ev.EntityLeft.Class)
	case dem.KindEntityDeleted:
		ev.EntityDeleted.Class = t.add(b, d, ev.EntityDeleted.Class)
	case dem.KindFault:
		if ev.Fault.HasClass {
			ev.Fault.Class = t.add(b, d, ev.Fault.Class)
		}
		if ev.Fault.HasField {
			ev.Fault.Field = t.add(b, d, ev.Fault.Field)
		}
	default: // no names
	}
}

func (t *stringTable) referFields(b *codec.Batch, d *dem.Decoder, fields []dem.FieldValue) {
	for i := range fields {
		fields[i].Field = t.add(b, d, fields[i].Field)
	}
}
