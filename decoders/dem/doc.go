// Package dem decodes Source 2 demos: Dota 2 in full, Counter-Strike 2 and Deadlock with it.
//
// A [Decoder] reads a demo from front to back and fills one event after another into a struct that the caller owns; see
// package decoders for that contract. What it learns on the way it keeps, and so can tell more than a record holds: the
// names in the combat log, the whole state of a new entity, the game's clock.
//
//	d := dem.New(file, dem.Options{})
//	var ev dem.Event
//	for {
//		if err := d.Next(&ev); err != nil {
//			break // io.EOF, decoders.ErrMore or an error
//		}
//		if ev.Kind == dem.KindEntityUpdated {
//			fmt.Println(ev.AtTick, d.Name(ev.EntityUpdated.Class))
//		}
//	}
//
// [ReadInfo] and [ReadIndex] answer without decoding.
//
// # What is where
//
// From the outside in, as the bytes lie (docs/formats/dem.md has the format):
//
//	decoder.go, options.go      the machine that goes from stage to stage, and what it is told
//	position.go, fault.go       which events are delivered, and where they are; what went wrong
//	header.go, fileinfo.go      the beginning of a file, and what was known at its end
//	frame.go, record.go         records: their heads, compression, what is in each
//	packet.go, messages.go      the messages of a packet and the order in which they are delivered
//	plain.go, usercmd.go        messages that become events field by field; commands of players
//	chunk.go, names.go          records and messages that are delivered as they are
//	signon.go                   what the sign-on part tells: schema, classes, the server
//	stringtable.go, tables.go   string tables: entries, creations, updates, dumps
//	modifier.go                 the modifiers of Dota, which travel in a string table
//	schema.go, compile.go       send tables compiled to serializers and fields
//	schemas.go                  compiled schemas that decoders share
//	fieldtype.go, patch.go      the types of fields, and what old builds tell wrong of them
//	codec.go                    which way of reading belongs to which type
//	value.go, quantize.go       how values are read
//	path.go, huffman.go         which fields an update brings
//	class.go, entity.go         the fields of a class as a tree, the state of an entity
//	change.go                   the changes that an update brings to a state
//	entities.go                 the messages of entities, entry by entry
//	create.go, update.go        what becomes of an entry: creations, updates, visibility
//	baseline.go                 the states from which entities are created
//	memory.go                   what the states of all entities may take together
//	present.go                  the present state of an entity, for those who come late
//	types.go, probe.go, learn.go  what is found out of types that nobody knows
//	guess.go                    updates that have such, and what is lost of updates
//	resync.go                   where records go on behind damage
//	clock.go, game.go           ticks and Dota's clock; which game it is
//	gameevents.go, combatlog.go game events, combat log
//	index.go                    what can be told without decoding
//	wire.go, lzss.go            protobuf and an old compression, by hand
//
// # Units
//
// Ticks are the demo's; -1 is before the first. Offsets are bytes of the (decompressed) file. An entity is named by its
// slot and serial number; a handle holds both. Names of classes and fields are numbers of the decoder's own, which stay
// the same for its life; [Decoder.Name] tells the text.
//
// # What goes wrong
//
// A broken frame is an error and final, as everywhere. What goes wrong inside a record is not: the record, message,
// table or update in question is skipped, an event of kind [KindFault] tells what it was, and decoding goes on. Games
// change with every patch; a type of field that nobody knows yet costs the updates that have such a field and no more,
// because the file tells where each ends. [Decoder.Stats] counts.
package dem
