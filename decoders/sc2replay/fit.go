package sc2replay

import "github.com/replayd/replayd/decoders/sc2replay/protocol"

// maxCandidates bounds how many other tables are tried for a build that has none.
const maxCandidates = 8

// fit looks for the table that fits the game events of a build that has none of its own, and makes it the replay's. It
// keeps the nearest older one if none fits better.
func (p *Replay) fit(data []byte) {
	if p.match != protocol.Nearest || len(data) == 0 {
		return
	}
	var scratch Event
	best, ok := p.try(data, p.table, &scratch)
	if ok {
		return
	}
	for _, build := range protocol.Default().Neighbours(int(p.Start.Version.BaseBuild), maxCandidates) {
		table, err := protocol.Default().Table(build)
		if err != nil {
			continue
		}
		read, ok := p.try(data, table, &scratch)
		if read > best || ok {
			best = read
			p.table, p.match = table, protocol.Fitted
		}
		if ok {
			return
		}
	}
}

// try reads all game events with a table. It returns how many bytes it could read, and whether the table fits: every event
// is known, the last one ends where the data does, and none comes after the game's end.
func (p *Replay) try(data []byte, table *protocol.Table, ev *Event) (read int, fits bool) {
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
