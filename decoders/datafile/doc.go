// Package datafile decodes datafiles: the container in which Teeworlds and DDNet keep their maps, versions 3 and 4, and
// the map inside, down to the tiles.
//
// A file is decoded in two steps. [Open] reads and checks the container: a header, tables, and items, which are lists of 32-bit
// integers. That costs one read of the file's head and no inflation, so it suits programs that only want to know what
// is there. [File.Events] streams the map as events, in the order of the file: each item as a typed event, followed by the
// data that it refers to, in chunks. Blobs are inflated one at a time, when their turn comes and only if they are
// wanted, through a window of [ChunkSize] bytes: a map of 600 MB costs no more memory than one of 6 KB, apart from its
// items.
//
//	f, err := datafile.Open(r, size, datafile.DefaultLimits)
//	...
//	for ev, err := range decoders.All(f.Events(datafile.Options{})) {
//		if err != nil {
//			return err
//		}
//		if ev.Kind == datafile.KindTileLayer {
//			fmt.Println(ev.TileLayer.Layer, ev.TileLayer.Width, ev.TileLayer.Height)
//		}
//	}
//
// The events are defined by proto/replayd/datafile/v1/events.proto, from which events.gen.go is made; the format is
// described in docs/formats/datafile.md. Package datafiletest makes datafiles for tests.
//
// # What is where
//
//	file.go, limits.go        an open file: its header, items and blobs
//	container.go              what is checked when a file is opened
//	types.go, uuid.go         the types of items: numbers, names, UUIDs
//	layout.go, plan.go        what each item is, and how items and blobs belong together
//	decoder.go, position.go   the decoder from the outside
//	record.go                 which events a record has, one after another
//	items.go, body.go         the events of items, and of their data
//	blob.go, inflate.go       the bytes of a blob, and what if they are damaged
//	tilereader.go, summary.go the tiles of a layer, and how many of each there are
//	tiles.go                  the names of tiles
//	text.go, ints.go          texts and integers as they are stored
//
// # What is refused and what is not
//
// A container that contradicts itself is an [*decoders.Error]. A blob that does not inflate to exactly its declared size
// comes as far as it goes, with [WarningDamagedData]; everything else of the map follows, and its error comes last. The map
// inside is treated with more patience, for real maps of twenty years of editors and mods are odd in many ways: an item
// that does not fit its type comes as a raw item, data that does not fit its item comes as far as it goes with the rest
// raw, and the event says so in its warnings. Nothing is dropped: each blob is carried by some event.
//
// # Units and ownership
//
// Positions are in the file's own units, see events.proto. Everything that an Event points to is valid until the next
// call of Next. A File is safe for concurrent use when its reader is; a Decoder and a Writer are not.
package datafile
