package dem

import (
	"errors"
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/facts"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
)

// Options selects the events that a decoder delivers. The zero value delivers everything. Options only leave events out:
// the events that are delivered are the same, and at the same positions, as without them.
type Options struct {
	// Kinds reports whether events of a kind are delivered; nil means all but facts. It is called once for each kind. The decoder does
	// not decode data that no selected kind needs: without the kinds of entities and without ticks, it decodes no entity.
	Kinds func(Kind) bool
	// Classes reports whether entities of the class with this name are decoded and delivered; nil means all. It is called
	// once for each class. Updates of other classes are skipped without decoding them where the file has their sizes.
	Classes func(class string) bool
	// Fields reports whether a field of entities is delivered; nil means all. It is called once for each field of each class.
	// An event that has fields, but no selected one, is not delivered. Narrowed reports whether an event lacks some fields.
	Fields func(class, field string) bool
	// Types reports whether events of a type are delivered; nil means all. It is called for messages that become a combat_log, a
	// chat_event, an order or a game_event, before they are decoded. number is the number of the type, and name is its name; the
	// name of a CombatLogType is always nil, and other names are nil when they are unknown.
	Types func(kind Kind, number int32, name []byte) bool
	// UnknownFields adds faults of FaultKindUnknownField, one for each part of the demo that has fields that the decoder does not know.
	// Kinds must select KindFault. Health counts such fields in any case.
	UnknownFields bool
	// Schemas keeps compiled schemas for other decoders. Nil disables sharing.
	Schemas *Schemas
	// Record, when not nil, is called before each record is read. Snapshot may be called from it. When it returns true, Next returns
	// ErrYield before it reads the record, and calls it again then.
	Record func() (pause bool)
	// Yield, when not 0, makes Next return ErrYield after about so many bytes of the file without an event.
	Yield int64
}

// ErrYield means that Next has read as much as Options.Yield allows without an event, or that Options.Record paused it. Call Next
// again.
var ErrYield = errors.New("no event yet")

// Stats holds counts of what a decoder has read so far.
type Stats struct {
	// Records is how many records of the file were read.
	Records int64
	// Messages is how many messages the packets had, including skipped ones.
	Messages int64
	// EntityUpdates is how many creations and updates of entities were decoded. EntitySkips is how many were skipped because
	// Options.Classes leaves out the class, or Options.Fields all that they change.
	EntityUpdates, EntitySkips int64
	// EntityMismatches is the number of updates that ended at another bit than announced. It is 0 for a file with only known
	// types, and so measures how well a file is decoded.
	EntityMismatches int64
	// Fields is how many fields of entities and default states were decoded. FieldsLost is how many of those were left out
	// because the decoder does not know how to read them, or because the value that it read is impossible.
	Fields, FieldsLost int64
	// EntityUnknown is how many updates concern an entity that was never created, as after a gap.
	EntityUnknown int64
	// BaselinesMissing is how many entities were created from a class without defaults.
	BaselinesMissing int64
	// Faults is how many faults occurred, delivered or not.
	Faults int64
}

// Schemas caches compiled schemas, so that decoders of files of one game build share them: see Options.Schemas. The zero
// value is empty and ready for use. It keeps the eight most recently used schemas, about 2 MB each, for each the names of its classes, and the
// fields and default states of a few of them, at most 3 MB, and what was inferred about unknown types in the last files. It is safe for concurrent use and must
// not be copied after its first use.
type Schemas struct {
	cache   schema.Cache
	lessons lessons
}

// Len returns the number of schemas in the cache.
func (s *Schemas) Len() int { return s.cache.Len() }

// get returns the compiled send tables of a file. A nil s compiles them.
func (s *Schemas) get(data []byte, dotaBuild int) (*schema.Schema, bool) {
	if s == nil {
		return schema.Parse(data, dotaBuild)
	}
	return s.cache.Get(data, dotaBuild)
}

// ChatEventTypes returns the names that ChatEvent.TypeName can have, in alphabetical order.
func ChatEventTypes() []string {
	names := append(facts.Announcements.Names(), facts.CitadelAnnouncements.Names()...)
	slices.Sort(names)
	return names
}

// OrderTypes returns the names that Order.TypeName can have, in alphabetical order.
func OrderTypes() []string { return facts.Orders.Names() }
