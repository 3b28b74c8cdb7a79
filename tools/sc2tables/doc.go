// Command sc2tables writes decoders/sc2replay/protocol/protocol.txt: the protocol tables of StarCraft II in the
// notation of docs/formats/sc2replay.md ("Protocol tables"). Its source is the tables that Blizzard publishes and that
// github.com/icza/s2prot/build contains as data.
//
//	cd tools/sc2tables && go run . -o ../../decoders/sc2replay/protocol/protocol.txt
//
// It is a separate module, so that only this tool depends on s2prot. Its test checks every base build that s2prot has:
// each layout that replayd would use must equal the published one.
//
// The published tables repeat everything for every build. Here each layout is written once, with the first table that
// has it. An event's line is valid from its base build until the next line of the same event.
package main
