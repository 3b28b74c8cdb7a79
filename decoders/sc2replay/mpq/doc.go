// Package mpq reads the archives that StarCraft II replays are: MoPaQ archives behind a block of user data.
//
// It reads what replays need, completely: user data, archive headers of versions 0 to 3, encrypted and packed hash and
// block tables, files in one piece or in sectors, stored or compressed with zlib or bzip2, sparse, encrypted. It does not
// write, does not patch, and refuses other compressions with an error that names them.
//
// Nothing that an archive declares is believed: tables and files must lie inside the archive, a search visits every slot
// once at most, and decompression stops at the declared size, for which memory is taken as data arrives.
//
// The format is described in docs/formats/sc2replay.md, "Archive". Integers are little-endian. Errors are
// *decoders.Error with offsets in the file. An Archive may be used by several goroutines at once.
package mpq
