package dem

import (
	"errors"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
)

// Options are which events a decoder delivers. The zero value delivers everything. What is delivered is the same, and at the same
// positions, as without them: they only leave events out.
type Options struct {
	// Kinds reports whether events of a kind are delivered; nil means all. It is asked once for each kind. What no wanted kind
	// needs is not decoded: without the kinds of entities and without ticks, no entity is.
	Kinds func(Kind) bool
	// Classes reports whether entities of a class are decoded and delivered, by its name; nil means all. It is asked once
	// for each class. Updates of the others are skipped without decoding them where the file has their sizes.
	Classes func(class string) bool
	// Fields reports whether a field of entities is delivered; nil means all. It is asked once for each field of each class.
	// An event that has fields, but no wanted one, is not delivered; Narrowed reports whether one lacks some.
	Fields func(class, field string) bool
	// Schemas is where compiled schemas are kept for other decoders; nil means nowhere.
	Schemas *Schemas
	// Yield, when not 0, makes Next return ErrYield after about so many bytes of the file without an event.
	Yield int64
}

// ErrYield says that Next read as much as Options.Yield allows without an event. Call it again.
var ErrYield = errors.New("no event yet")

// Stats are figures of what a decoder did so far.
type Stats struct {
	// Records is how many records of the file were read.
	Records int64
	// Messages is how many messages the packets had, those that were skipped included.
	Messages int64
	// EntityUpdates is how many creations and updates of entities were decoded, and EntitySkips how many were skipped
	// because the class is not wanted.
	EntityUpdates, EntitySkips int64
	// EntityMismatches is how many updates ended elsewhere than announced. It is 0 for a file whose types are all known,
	// and so a measure of how well a file is decoded.
	EntityMismatches int64
	// Fields is how many fields of entities and default states were decoded, and FieldsLost how many of those were left out
	// because how to read them is not known, or what was read cannot be.
	Fields, FieldsLost int64
	// EntityUnknown is how many updates concern an entity that was never created, as after a gap.
	EntityUnknown int64
	// BaselinesMissing is how many entities were created of a class without defaults.
	BaselinesMissing int64
	// Faults is how many faults there were, delivered or not.
	Faults int64
}

// Schemas keeps compiled schemas, so that decoders of files of one game build share them: see Options.Schemas. The zero
// value is empty and ready for use. It keeps the eight that were used last, about 2 MB each. It is safe for concurrent use
// and must not be copied after its first use.
type Schemas struct{ cache schema.Cache }

// Len returns how many schemas are kept.
func (s *Schemas) Len() int { return s.cache.Len() }

// get returns the compiled send tables of a file. A nil s compiles them.
func (s *Schemas) get(data []byte, dotaBuild int) (*schema.Schema, bool) {
	if s == nil {
		return schema.Parse(data, dotaBuild)
	}
	return s.cache.Get(data, dotaBuild)
}
