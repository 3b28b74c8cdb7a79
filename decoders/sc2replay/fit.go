package sc2replay

import "github.com/replayd/replayd/decoders/sc2replay/protocol"

// maxCandidates is the number of other tables to try for a build without a table.
const maxCandidates = 8

// fit finds the table that fits the game events of a build without a table, and makes it the replay's table. If none
// fits better, it keeps the nearest older one.
func (p *Replay) fit(data []byte) {
	if p.match != protocol.Nearest || len(data) == 0 {
		return
	}
	var scratch Event
	best, ok := p.tryTable(data, p.table, &scratch)
	if ok {
		return
	}
	for _, build := range protocol.Default().Neighbours(int(p.Start.Version.BaseBuild), maxCandidates) {
		table, err := protocol.Default().Table(build)
		if err != nil {
			continue
		}
		read, ok := p.tryTable(data, table, &scratch)
		if read > best || ok {
			best = read
			p.table, p.match = table, protocol.Fitted
		}
		if ok {
			return
		}
	}
}

// tryTable reads all game events with a table. It returns the number of bytes that it could read, and whether the table
// fits. A table fits if every event is known, the last one ends where the data ends, and none comes after the game's
// end.
func (p *Replay) tryTable(data []byte, table *protocol.Table, ev *Event) (read int, fits bool) {
	var s stream
	s.open(protocol.Game, memberGame, table, &contents{data: data, found: true})
	for s.ready {
		if _, ok := s.read(ev); !ok {
			break
		}
		if int64(s.last) > int64(p.Start.ElapsedGameLoops) && p.Start.ElapsedGameLoops > 0 {
			return 0, false
		}
	}
	return s.start, s.err == nil
}
