// Package physics plays a DDNet game again from the recording of its inputs, and proves each tick by the recorded positions.
//
//	tiles, err := physics.NewMap(width, height) // and Set for each tile
//	...
//	world := physics.New(header, tiles, func(r *physics.Result) {
//		fmt.Println(r.Tick, r.ClientID, r.Mark)
//	})
//	for ev, err := range decoders.All(d) {
//		...
//		world.Apply(ev)
//	}
//	world.Close()
//
// A recording has where each character is in each tick, to the unit, but neither velocities nor hooks. The server rounds both after
// each tick, to whole units and to 1/256, so what is calculated with its rules in float32 does not drift: it is equal, or something
// else was at work. The server is taken to be compiled for a processor with SSE and without fused instructions, as DDNet's and
// Debian's are.
//
// A [Result] says for each character and tick whether it is [Proven], [Corrected] or [Unknown]. After a correction the character is
// where the recording has it, but its velocity, hook and jumps are not known until the game shows them: a wall takes a
// velocity, the ground gives jumps, a key that is released ends a hook. A velocity is known, too, when many places have confirmed it.
//
// What is known of a [Character] is compared with the snapshots of DDNet 16.4 and 20.1.1 (bench/teehistorian): of 20.1.1 nothing that is
// proven differs.
//
// Some things are chosen by the recording, as far as they lead exactly to it: which of the inputs of one tick was in effect, where
// recordings do not tell; which exit a teleporter chose; shots, which older servers made as soon as an input arrived, and who hit whom
// with a hammer; whom the server forgot in a tick in which a character left its team.
//
// Not calculated are teleporters of what is shot, weapons that teleport, what shoots and pulls in maps, switches of a team that was
// empty meanwhile, and what most commands do. Where these may be at work a deviation has that [Cause]; a deviation without a cause
// contradicts the game's rules.
//
//	map.go                     the tiles
//	world.go, command.go       the game, event by event
//	core.go, steer.go, hook.go, move.go  how characters move; vec.go has the arithmetic, tuning.go the numbers
//	pass.go, speedup.go, switches.go  what tiles do
//	weapons.go, shots.go       what weapons do, and what flies
//	character.go, facts.go     how things stand, for those who ask, and what happens
//	snapshot.go                the whole state as bytes
//	check.go, trust.go         the comparison with the recording, and what it proves
//	explain.go, late.go        what may have happened in a tick, and when inputs came into effect: the other states of a character
package physics
