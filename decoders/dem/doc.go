// Package dem decodes Source 2 demos. It decodes Dota 2 in full, and also Counter-Strike 2 and Deadlock.
//
// A [Decoder] reads a demo from front to back and fills one event after another into a struct that the caller owns. Package
// decoders describes that contract. The decoder keeps state while it reads, so an event can have more than its record: the
// names in the combat log, the whole state of a new entity, the time on the game's clock.
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
// Most of a demo is updates of entities. A program that needs few of them selects events in [Options]: by kinds of events,
// by classes of entities, by fields. The decoder skips the rest where the file allows it, which is many times faster.
//
// To decode a demo that is still being written, call [Decoder.Next] directly. It returns decoders.ErrMore at the end of the
// bytes, and continues when the file has grown. [Decoder.Seek] and [Decoder.SeekTick] decode up to a place without
// delivering events. [Decoder.Present] then returns the entities that exist there. Decoders that are given the same
// [Schemas] share the compiled schema of a game build.
//
// [Decoder.Snapshot] returns all that a decoder knows between two records, and [Resume] a decoder that continues there. So a
// program can start in the middle of a demo that it has decoded once, and decode parts of it at once.
//
// [ReadInfo] and [Index] read parts of a demo without decoding the rest.
//
// # Source files
//
// The [Decoder] has its fields in structs by concern: the records of the file, the delivery of events, the game, string
// tables, classes and entities. The files are listed in the order of the format's layers, from the outermost to the
// innermost (docs/formats/dem.md describes the format):
//
//	decoder.go, options.go      the state machine and its stages, and its options
//	delivery.go, position.go    which events are delivered, and where they are
//	header.go, fileinfo.go      the beginning of a file, and the summary at its end
//	record.go                   the contents of each record
//	packet.go, messages.go      the messages of a packet and the order in which they are delivered
//	typed.go, kindset.go        which messages become events of kinds of their own, by game; sets of kinds
//	plain.go, citadel.go        such messages, field by field: those of the engine and of Dota, and of Deadlock
//	counterstrike.go, voice.go  those of Counter-Strike 2; speech
//	summary.go                  the results of a match
//	usercmd.go, userinput.go    commands of players, with their input
//	chunk.go                    records and messages that are delivered undecoded
//	signon.go                   the sign-on part: schema, classes, the server
//	tables.go, modifier.go      string tables, and Dota's modifiers, which are entries of one
//	entities.go                 the messages of entities, entry by entry
//	create.go, update.go        the kinds of entries: creations, updates, visibility
//	baseline.go, present.go     the states from which entities are created; the present state of one
//	learn.go                    how unknown types are read, and how well a demo could be decoded
//	clock.go, game.go           ticks and Dota's clock; which game the demo is of
//	meaning.go                  what numbers stand for, and where entities are
//	gameevents.go, combatlog.go game events, combat log
//	fieldtype.go                what the schema says of fields
//	sample.go, player.go        the present states of entities, and of players
//	conclude.go, round.go       facts, and the rounds from which some are concluded
//	grenade.go, announce.go     facts of grenades, and of runes, smokes and the like
//	ward.go, draft.go           facts of wards and of the draft in Dota 2
//	deadlock.go                 facts of Deadlock
//	past.go                     what is remembered of facts
//	index.go                    Index and ReadInfo
//	snapshot.go                 the state between two records, and decoders that continue there
//
// The Decoder uses these packages, which do not depend on it. None imports a package that is listed above it:
//
//	internal/record       records: the file's header, heads of records, resynchronization after damage
//	internal/stringtable  string tables and changes of them
//	internal/entity       classes as trees of fields, states of entities, updates
//	internal/infer        how to read types that the decoder does not know
//	internal/schema       send tables compiled to serializers and fields; types, and corrections of old builds
//	internal/value        how values are read
//	internal/fieldpath    which fields an update changes
//	internal/lexicon      the numbers, names and fields of the games' messages
//	internal/pb           protobuf messages, field by field
//	internal/unpack       snappy and LZSS
//	internal/share        parts that snapshots have in common
//	internal/facts        names of Dota's heroes, items, abilities and so on
//
// # Units
//
// Ticks are the demo's; -1 is before the first. Offsets are in bytes of the (decompressed) file. An entity is identified by
// its slot and serial number; a handle holds both. Names of classes and fields are numbers that the decoder assigns. They
// stay the same for its life; [Decoder.Name] returns the text.
//
// # Errors and faults
//
// A broken frame is a final error, as in all decoders. A problem inside a record is not an error. The decoder skips the
// record, message, table or update, delivers an event of kind [KindFault] that describes the problem, and continues. Games
// change with every patch. A field of a type that the decoder does not know yet affects only the updates with such a field,
// because the file has the size of each update. [Decoder.Stats] has the counts.
package dem
