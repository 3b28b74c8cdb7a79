// Package sc2test writes StarCraft II replays, for tests only: MPQ archives of every kind that package mpq reads, values in
// both encodings by the layout of any table, and whole small replays made of those. The files of testdata/sc2replay are its
// work.
package sc2test
