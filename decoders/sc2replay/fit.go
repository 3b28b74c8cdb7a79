package sc2replay

import (
	"fmt"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// maxCandidates is the number of other tables to try for a build without a table.
const maxCandidates = 8

// fit finds the table that fits the game events of a build without a table, and makes it the replay's table. If none
// fits better, it keeps the nearest older one. It returns how far the events can be read with a table that does not fit.
func (p *Replay) fit(data []byte) (doubt *doubt) {
	if p.match != protocol.Nearest {
		return nil
	}
	var scratch Event
	doubt = p.tryTable(protocol.Game, data, p.table, &scratch)
	if doubt == nil {
		return nil
	}
	for _, build := range p.data.tables.Neighbours(int(p.Start.Version.BaseBuild), maxCandidates) {
		table, err := p.data.tables.Table(build)
		if err != nil {
			continue
		}
		other := p.tryTable(protocol.Game, data, table, &scratch)
		if other == nil || other.from > doubt.from {
			doubt = other
			p.table, p.match = table, protocol.Fitted
		}
		if other == nil {
			return nil
		}
	}
	return doubt
}

// doubtIn returns why the replay's table, if it is another build's, does not fit a stream, or nil.
func (p *Replay) doubtIn(id protocol.Stream, data []byte) *doubt {
	if p.match < protocol.Nearest {
		return nil
	}
	return p.tryTable(id, data, p.table, new(Event))
}

// doubt says why another build's table does not fit a stream. Data before the place that shows it may be wrong as well: if the
// number of an event has moved, the table gives another kind, often with the same layout.
type doubt struct {
	// from is the start of the event before the unreadable one. That event may be wrong already: it ended at the wrong place, so
	// layouts differ there at the latest.
	from int
	// err is the error of the unreadable event, or nil if all are readable, but some come after the game's end.
	err *decoders.Error
}

// tryTable reads all events of a bit-packed stream with a table. It returns nil if the table fits: if every event is known, the
// last one ends where the data ends, and none comes after the game's end.
func (p *Replay) tryTable(id protocol.Stream, data []byte, table *protocol.Table, ev *Event) *doubt {
	var s stream
	s.open(id, streamMembers[id], table, &contents{data: data, found: true}, p.layouts(table))
	length := int64(p.Start.ElapsedGameLoops)
	last, late := 0, -1
	for s.ready {
		start := s.start
		if _, ok := s.read(ev); !ok {
			break
		}
		if late < 0 && length > 0 && int64(s.last) > length {
			late = start
		}
		last = start
	}
	switch {
	case s.err != nil:
		return &doubt{last, s.err}
	case late >= 0:
		return &doubt{from: late}
	}
	return nil
}

// layouts describes, for errors, the table that a stream is read with.
type layouts struct {
	text string // empty where nobody reads the error
	own  bool   // it is the base build's own
}

// layouts returns which table a replay is decoded with.
func (p *Replay) layouts(table *protocol.Table) layouts {
	base := p.Start.Version.BaseBuild
	if p.match < protocol.Nearest {
		return layouts{fmt.Sprintf("base build %d, table %d", base, table.Build), true}
	}
	return layouts{text: fmt.Sprintf("base build %d has no table of its own, and table %d does not fit", base, table.Build)}
}

// strange returns the error for something that the table lacks. With another build's table the error is kind, because the build
// may have it. With the build's own table it is damage.
func (l layouts) strange(kind error) error {
	if l.own {
		return decoders.ErrCorrupt
	}
	return kind
}
