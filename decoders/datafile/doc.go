// Package datafile decodes datafiles, the container of Teeworlds and DDNet maps, versions 3 and 4, and the map inside,
// down to the tiles.
//
// A file is decoded in two steps. [Open] reads and checks the container: a header, tables, and items, which are lists
// of 32-bit integers. That takes one read of the beginning of the file and inflates nothing, so it is cheap.
// [File.Events] decodes the map as events, in the order of the file. Each item is a typed event, followed by the data
// that it refers to, in chunks. Blobs are inflated one at a time, when they are reached, and only if the filter
// delivers them. They pass through a window of fixed size. So a map of 600 MB takes no more memory than one of 6
// KB, apart from its items.
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
// The events are defined in proto/replayd/datafile/v1/events.proto, from which events.gen.go is generated. The format
// is described in docs/formats/datafile.md. Package datafiletest writes datafiles for tests.
//
// # Source files
//
//	file.go, limits.go        an open file: its header, items and blobs
//	container.go              the checks when a file is opened
//	types.go, uuid.go         the types of items: numbers, names, UUIDs
//	layout.go, plan.go        the layout of each item, and which blobs belong to it
//	decoder.go, position.go   the decoder's methods
//	record.go                 the events of each record
//	items.go, body.go         the events of items, and of their data
//	blob.go, inflate.go       the bytes of a blob, and damaged blobs; package inflate unpacks them
//	tilereader.go, summary.go the tiles of a layer, and the count of each tile
//	tiles.go                  the names of tiles
//	text.go, ints.go          stored texts and integers
//
// # Errors and warnings
//
// A container that contradicts itself gives an [*decoders.Error]. A blob that does not inflate to exactly its declared
// size is delivered as far as it can be read, with [WarningDamagedData]. The rest of the map follows, and the blob's
// error comes last.
//
// The map inside is decoded more leniently, because twenty years of editors and mods have written many odd maps. An
// item that does not fit its type becomes a raw item. Data that does not fit its item is delivered as far as it fits,
// and the rest as raw data. Such events have warnings. Nothing is dropped: some event carries each blob.
//
// # Units and ownership
//
// Positions are in the file's own units, see events.proto. Everything that an Event refers to is valid until the next
// call of Next. A File is safe for concurrent use if its reader is. A Decoder is not.
package datafile
