package dem

import (
	"fmt"
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// maxTold limits the text of a fault about unknown fields, in bytes.
const maxTold = 512

// metUnknown notes a field of the present element that the reader passes over. A known field with another wire type is a fault,
// at most one for each element. Wholly unknown fields share a fault for each element, if Options ask for it.
func (o *delivery) metUnknown(u pb.Unknown) {
	switch {
	case u.Changed && o.place.changed:
	case u.Changed:
		o.place.changed = true
		kind := FaultKindMessage
		if o.place.ordinal == 0 {
			kind = FaultKindRecord
		}
		o.fault(Fault{Kind: kind, MessageId: o.place.message, Detail: fmt.Appendf(nil,
			"message: field %d of %s has another wire type than is known, %d, and is left out", u.Num, u.Message, u.Type)})
	case o.fields:
		o.tellUnknown(u)
	}
}

// tellUnknown adds a field to the fault about the unknown fields of the present element.
func (o *delivery) tellUnknown(u pb.Unknown) {
	at := o.at
	defer func() { o.at = at }()
	if !o.want(KindFault, slotFields) {
		return
	}
	field := fmt.Sprintf("%s.%d (wire type %d)", u.Message, u.Num, u.Type)
	for i := range o.faults {
		if f := &o.faults[i]; f.index == o.at {
			if len(f.Detail)+len(field) < maxTold {
				f.Detail = append(append(f.Detail, ", "...), field...)
			}
			return
		}
	}
	told := pendingFault{index: o.at, Fault: Fault{
		Kind: FaultKindUnknownField, MessageId: o.place.message, Offset: o.offset, Detail: []byte("unknown fields are left out: " + field),
	}}
	// It precedes the element's other faults, one of which may exist already.
	i := len(o.faults)
	for i > 0 && o.faults[i-1].index > told.index {
		i--
	}
	o.faults = slices.Insert(o.faults, i, told)
}
