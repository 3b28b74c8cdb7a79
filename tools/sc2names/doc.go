// Command sc2names writes decoders/sc2replay/names/names.txt, the names of abilities, commands and unit types in the balance
// data of StarCraft II, version by version, from the tables that the sc2reader package carries (PyPI, MIT licence):
//
//	pip download --no-deps --no-binary :none: -d .cache/sc2reader sc2reader==1.9.0
//	unzip -d .cache/sc2reader .cache/sc2reader/sc2reader-1.9.0-*.whl
//	go run ./tools/sc2names -sc2reader .cache/sc2reader/sc2reader -version 1.9.0
//
// What it reads there:
//
//	resources.py              which table serves which builds, and of which expansion
//	data/*/*_abilities.csv    the abilities by link, a number of the balance data, in one file for each table
//	data/*/*_units.csv        the unit types by link
//	data/ability_lookup.csv   the commands of each ability by index
//	data/unit_lookup.csv      the names by which unit_info.json knows unit types
//	data/unit_info.json       which unit types are workers, army, structures
//
// The tables of neighbouring builds differ in few places. Here each one names the parts of the one before that it
// repeats, and where they have moved to: docs/formats/sc2replay.md, "Names", describes the notation. The test of this command
// writes the file anew, if it finds the package, and compares.
package main
