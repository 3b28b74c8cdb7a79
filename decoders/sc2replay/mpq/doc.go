// Package mpq reads the archives of StarCraft II replays: MoPaQ archives behind a block of user data.
//
// It supports everything that replays use: user data, archive headers of versions 0 to 3, and encrypted and packed hash
// and block tables. Members may be in one piece or in sectors, stored or compressed with zlib or bzip2, sparse, and
// encrypted. It cannot write archives or apply patches. Other compressions give an error that names them.
//
// Declared values are not trusted. Tables and members must lie inside the archive. A search visits every slot at most
// once. Decompression stops at the declared size, and allocates memory only as data arrives.
//
// The format is described in docs/formats/sc2replay.md, "Archive". Integers are little-endian. Errors are
// *decoders.Error with offsets in the file. An Archive is safe for concurrent use.
package mpq
