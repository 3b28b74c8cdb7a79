// Command sc2tables writes decoders/sc2replay/protocol/protocol.txt, the protocol tables of StarCraft II in the notation
// of docs/formats/sc2replay.md ("Protocol tables"), from the tables that Blizzard publishes and
// github.com/icza/s2prot/build carries as data.
//
//	cd tools/sc2tables && go run . -o ../../decoders/sc2replay/protocol/protocol.txt
//
// It is a module of its own so that nothing but this tool depends on s2prot. Its test proves that, for every base build
// which s2prot knows, each layout that replayd would use equals the published one.
//
// The published tables repeat everything for every build. Here each layout stands once, with the first table that has
// it: an event's line is valid from its base build until the next line of the same event.
package main
