// Package dem decodes Source 2 demos: Dota 2 in full, Counter-Strike 2 and Deadlock with it.
//
// A [Decoder] reads a demo from front to back and fills one event after another into a struct that the caller owns; see
// package decoders for that contract. It keeps what it reads on the way, so that events have more than their records: the
// names in the combat log, the whole state of a new entity, the game's clock.
//
//	d := dem.New(file, dem.Options{})
//	for ev, err := range decoders.All(d) {
//		if err != nil {
//			return err
//		}
//		if ev.Kind == dem.KindEntityUpdated {
//			fmt.Println(ev.AtTick, d.Name(ev.EntityUpdated.Class))
//		}
//	}
//
// Most of a demo is updates of entities. A program that needs few of them says so in [Options]: by kinds of events, by
// classes of entities, by fields. What is not wanted is skipped where the file allows it, which is many times faster.
//
// A demo that is still being written is decoded with [Decoder.Next] directly: it returns decoders.ErrMore where the bytes
// end, and goes on once there are more. [Decoder.Seek] and [Decoder.SeekTick] decode up to a place without delivering
// events, and [Decoder.Present] returns the entities that are there then. To share what is compiled once per game build,
// give all decoders one [Schemas].
//
// [ReadInfo] and [ReadIndex] answer without decoding.
//
// # What is where
//
// The [Decoder] has its fields in structs by concern: the records of the file, what is delivered, the game, string tables,
// classes and entities. From the outside in, as the bytes lie (docs/formats/dem.md has the format):
//
//	decoder.go, options.go      the machine that goes from stage to stage, and its options
//	delivery.go, position.go    which events are delivered, and where they are
//	header.go, fileinfo.go      the beginning of a file, and what was known at its end
//	record.go                   what is in each record
//	packet.go, messages.go      the messages of a packet and the order in which they are delivered
//	plain.go, usercmd.go        messages that become events field by field; commands of players
//	chunk.go, names.go          records and messages that are delivered as they are
//	signon.go                   the sign-on part: schema, classes, the server
//	tables.go, modifier.go      string tables, and Dota's modifiers, which are entries of one
//	entities.go                 the messages of entities, entry by entry
//	create.go, update.go        what becomes of an entry: creations, updates, visibility
//	baseline.go, present.go     the states from which entities are created; the present state of one
//	learn.go                    how unknown types are read, and how well a demo could be decoded
//	clock.go, game.go           ticks and Dota's clock; which game it is
//	meaning.go                  what numbers stand for, and where entities are
//	gameevents.go, combatlog.go game events, combat log
//	index.go                    what can be read without decoding
//
// Below it are packages that do not know the Decoder. None imports one that stands above it:
//
//	internal/record       records: the file's header, heads of records, going on behind damage
//	internal/stringtable  string tables and changes of them
//	internal/entity       classes as trees of fields, states of entities, updates
//	internal/infer        how to read types that the decoder does not know
//	internal/schema       send tables compiled to serializers and fields; types, and corrections of old builds
//	internal/value        how values are read
//	internal/fieldpath    which fields an update changes
//	internal/pb           protobuf messages, field by field
//	internal/unpack       snappy and LZSS
//	internal/facts        names of Dota's heroes, items, abilities and so on
//
// # Units
//
// Ticks are the demo's; -1 is before the first. Offsets are bytes of the (decompressed) file. An entity is named by its
// slot and serial number; a handle holds both. Names of classes and fields are numbers of the decoder's own, which stay
// the same for its life; [Decoder.Name] returns the text.
//
// # What goes wrong
//
// A broken frame is an error and final, as everywhere. What goes wrong inside a record is not: the record, message,
// table or update in question is skipped, an event of kind [KindFault] says what it was, and decoding goes on. Games
// change with every patch; a type of field that is not known yet costs the updates that have such a field and no more,
// because the file has the size of each. [Decoder.Stats] counts.
package dem
