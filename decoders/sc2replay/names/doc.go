// Package names knows what the abilities, their commands and the unit types of StarCraft II are called. Replays have only
// their links: indices into the balance data of one version of the game, of which names.txt has the names.
//
// What is not known has no name: builds that are newer than the newest table, expansions that a replay does not name,
// links and commands that a table lacks. Maps and mods may bring unit types and abilities of their own, whose links lie
// behind those of the game; they have no names either.
//
// tools/sc2names writes names.txt. A Table does not change and may be shared.
package names
