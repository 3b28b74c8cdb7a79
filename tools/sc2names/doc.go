// Command sc2names writes decoders/sc2replay/names/names.txt: the names of abilities, commands and unit types in the
// balance data of StarCraft II, version by version. Their source is the tables in the sc2reader package (PyPI, MIT
// licence):
//
//	pip download --no-deps --no-binary :none: -d .cache/sc2reader sc2reader==1.9.0
//	unzip -d .cache/sc2reader .cache/sc2reader/sc2reader-1.9.0-*.whl
//	go run ./tools/sc2names -sc2reader .cache/sc2reader/sc2reader -version 1.9.0
//
// It reads these files of the package:
//
//	resources.py              the builds and expansion of each table
//	data/*/*_abilities.csv    the abilities by link, a number of the balance data, one file per table
//	data/*/*_units.csv        the unit types by link
//	data/ability_lookup.csv   the commands of each ability by index
//	data/unit_lookup.csv      the names of unit types in unit_info.json
//	data/unit_info.json       which unit types are workers, army, structures
//
// The tables of neighbouring builds differ in few places. So names.txt stores, for each table, the parts of the
// previous one that it repeats, and how far they have moved. docs/formats/sc2replay.md, "Names", describes the
// notation. The test of this command generates the file again, if the package is available, and compares.
package main
