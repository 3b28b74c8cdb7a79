package subscription

import (
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/index"
)

// Places is where a subscription stands, for tests.
type Places struct{ places }

// NewPlaces is at the beginning.
func NewPlaces() Places { return Places{places{}} }

func (p Places) at(alias string) *place {
	if p.places[alias] == nil {
		p.places[alias] = &place{}
	}
	return p.places[alias]
}

// Reach notes how far a replay was sent.
func (p Places) Reach(alias string, number uint64, at cursor.Cursor) { p.at(alias).reach(number, at) }

// Close notes that a replay is over.
func (p Places) Close(alias string, number uint64) { p.at(alias).close(number) }

// Leave leaves the replays from one to another one out.
func (p Places) Leave(alias string, from, to uint64) { p.at(alias).leave(span{from, to}) }

// Has reports whether a replay has begun or was left out.
func (p Places) Has(alias string, number uint64) bool { return p.at(alias).passed.has(number) }

// Open returns how far a replay was sent that is not over.
func (p Places) Open(alias string, number uint64) (cursor.Cursor, bool) {
	i, found := p.at(alias).find(number)
	if !found {
		return cursor.Cursor{}, false
	}
	return p.at(alias).open[i].at, true
}

// Token returns the token of the places in some roots.
func (p Places) Token(g index.Generation, tag Tag, aliases ...string) []byte {
	return p.append(nil, headOf(g, tag), aliases)
}

// Parse is the reverse of Token.
func Parse(b []byte, g index.Generation, tag Tag) (Places, error) {
	p, err := parseToken(b, g, tag)
	return Places{p}, err
}

// Call is a call of a named subscription that sends nothing, for tests. Its places have the roots that it begins with.
type Call struct {
	Places

	s *subscription
}

// NewCall begins a call.
func NewCall(n *Named, aliases ...string) Call {
	c := Call{Places{n.begin}, &subscription{Config: Config{Named: n}, places: n.begin, since: places{}}}
	for _, alias := range aliases {
		c.at(alias)
	}
	c.s.note()
	return c
}

// Token returns the token of a response.
func (c Call) Token() ([]byte, error) { return c.s.tokenOf() }

// Held reports whether nothing more may be sent.
func (c Call) Held() bool { return c.s.held }

// Taken reports whether the call was ended.
func (n *Named) Taken() bool {
	select {
	case <-n.taken:
		return true
	default:
		return false
	}
}
