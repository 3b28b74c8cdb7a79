// Package sc2test writes StarCraft II replays, for tests only. It writes MPQ archives of every kind that package mpq
// reads, values in both encodings by the layout of any table, and whole small replays. It wrote the files of
// testdata/sc2replay.
package sc2test
