// Package names has the names of the abilities, their commands and the unit types of StarCraft II. Replays contain only
// links: indices into the balance data of one version of the game. names.txt has the names for these.
//
// Some links have no name: links in builds newer than the newest table, in replays without a known expansion, and links
// and commands that a table lacks. Maps and mods may add their own unit types and abilities. Their links follow the
// game's links and have no names either.
//
// tools/sc2names writes names.txt. A Table does not change and is safe for concurrent use.
package names
