package dem

import "github.com/replayd/replayd/decoders/dem/internal/record"

// NextTick returns the tick of the next record if its head is there. Call it from Options.Record, or when Next has returned ErrYield:
// the decoder is between two records then. If the tick is a later one than Tick, the entities are as they are at the end of Tick. The record
// that ends a demo has the tick of the last packet, which it ends, and counts as one of a later tick.
func (d *Decoder) NextTick() (tick int32, ok bool) {
	if d.in.Err != nil || d.stage != stageFrame {
		return 0, false
	}
	head, err := d.in.Peek()
	if tick = head.Tick; err == nil && head.Command == record.CmdStop {
		tick = max(tick, d.Tick()+1)
	}
	return tick, err == nil
}

// Sample fills ev with a SampleEntity that has the present state of the entity in a slot, at a tick. ok is false when the slot is empty,
// and when Options leave out the entity. The position does not move.
func (d *Decoder) Sample(tick int32, index int, ev *Event) (ok bool) {
	if !d.Present(index, ev) {
		return false
	}
	from := &ev.EntityEntered
	ev.AtTick, ev.Kind = tick, KindSampleEntity
	ev.SampleEntity = SampleEntity{Index: from.Index, Class: from.Class, Serial: from.Serial, Fields: from.Fields, OutOfView: from.OutOfView}
	return true
}
