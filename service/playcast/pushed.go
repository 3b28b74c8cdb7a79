package playcast

import (
	"context"
	"crypto/sha256"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/replayd/replayd/decoders/dem/broadcast"
)

const (
	// keptFragments and keptBytes are how much of a match is kept for readers: what most of them lag behind, and more.
	keptFragments = 24
	keptBytes     = 32 << 20
	// behind is how many fragments sync is behind the newest one, so that caches do not keep that a fragment is not there, and so that
	// players have some to go on with.
	behind = 7
	// ahead is how many fragments may come before one that is missing until it counts as lost.
	ahead = 3
	// maxFlips is how many tokens are remembered whose match is over.
	maxFlips = 16
)

// piece is a body that was pushed.
type piece struct {
	part     broadcast.Part
	fragment int
	tick     int32 // the first one of a full, and the one behind the last one of a delta
	data     []byte
	shown    time.Time // from when on readers get it
	came     time.Time
}

// match is what is kept of a match that is pushed.
type match struct {
	token  string
	place  place   // what the server says of itself
	bodies []piece // start first, the others by fragment and part
	newest int     // the newest fragment of which a delta is there
	heard  time.Time
	over   bool // the server has said so
	from   int  // the files have what is before this fragment
}

// pushed is a game server that pushes, as a source.
type pushed struct {
	name   string
	secret [sha256.Size]byte

	mu      sync.Mutex
	now     *match // nil before the first one
	before  *match // the match before it, of which files may lack the end
	flipped []string
	changed chan struct{} // closed when something came
	taken   time.Time     // when the body came that the files got last
}

// begin takes the start of a match. flipped reports whether it is another match.
func (p *pushed) begin(token string, b piece, at place) (code int, flipped bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case slices.Contains(p.flipped, token):
		return http.StatusGone, false // late: its successor has begun
	case p.now != nil && p.now.token == token:
		p.now.heard = time.Now() // servers send it again and again
		return http.StatusOK, false
	}
	if p.now != nil {
		p.flipped = append(p.flipped, p.now.token)
		p.flipped = p.flipped[max(0, len(p.flipped)-maxFlips):]
	}
	at.Protocol, at.SignupFragment, at.TokenRedirect = protocol, b.fragment, token
	p.before, p.now = p.now, &match{token: token, place: at, bodies: []piece{b}, newest: -1, heard: time.Now()}
	p.tell()
	return http.StatusOK, true
}

// add takes another body of a match.
func (p *pushed) add(token string, b piece, final bool) (code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.now
	switch {
	case slices.Contains(p.flipped, token):
		return http.StatusGone
	case m == nil || m.token != token:
		return http.StatusResetContent // asks for start
	}
	m.heard = time.Now()
	i, found := slices.BinarySearchFunc(m.bodies[1:], b, func(a, b piece) int {
		if a.fragment != b.fragment {
			return a.fragment - b.fragment
		}
		return int(a.part) - int(b.part)
	})
	if found {
		return http.StatusOK // sent twice
	}
	m.bodies = slices.Insert(m.bodies, 1+i, b)
	if b.part == broadcast.Delta {
		m.newest = max(m.newest, b.fragment)
	}
	m.over = m.over || final
	m.forget()
	p.tell()
	return http.StatusOK
}

// forget drops the oldest fragments beyond what is kept.
func (m *match) forget() {
	size := 0
	for _, b := range m.bodies {
		size += len(b.data)
	}
	for len(m.bodies) > 2 && (size > keptBytes || m.bodies[1].fragment <= m.bodies[len(m.bodies)-1].fragment-keptFragments) {
		size -= len(m.bodies[1].data)
		m.bodies = slices.Delete(m.bodies, 1, 2)
	}
}

// tell wakes those who wait. p must be locked.
func (p *pushed) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// of returns a match by its token, or the present one. p must be locked.
func (p *pushed) of(token string) *match {
	for _, m := range []*match{p.now, p.before} {
		if m != nil && (token == "" || m.token == token) {
			return m
		}
	}
	return nil
}

// piece returns a body, or nil.
func (m *match) piece(fragment int, part broadcast.Part) *piece {
	for i := range m.bodies {
		if b := &m.bodies[i]; b.part == part && (b.fragment == fragment || part == broadcast.Start) {
			return b
		}
	}
	return nil
}

// shown returns a body that readers may have at a time, or nil.
func (m *match) shown(fragment int, part broadcast.Part, at time.Time) *piece {
	if b := m.piece(fragment, part); b != nil && !b.shown.After(at) {
		return b
	}
	return nil
}

// data returns the bytes of a body that readers may have at a time, or nil.
func (p *pushed) data(token string, fragment int, part broadcast.Part, at time.Time) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.of(token); m != nil {
		if b := m.shown(fragment, part, at); b != nil {
			return b.data
		}
	}
	return nil
}

// shown returns what sync says to readers, and the status of the answer. from is the number of a fragment, or empty.
func (p *pushed) shown(token, from string) (place, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, now := p.of(token), time.Now()
	if m == nil {
		return place{}, http.StatusNotFound
	}
	var whole []*piece // the fulls of fragments that are complete
	for i := range m.bodies {
		if b := &m.bodies[i]; b.part == broadcast.Full && !b.shown.After(now) && m.shown(b.fragment, broadcast.Delta, now) != nil {
			whole = append(whole, b)
		}
	}
	if len(whole) == 0 {
		return place{}, http.StatusMethodNotAllowed
	}
	choice := whole[max(0, len(whole)-1-behind)]
	if n, err := strconv.Atoi(from); err == nil {
		i := slices.IndexFunc(whole, func(b *piece) bool { return b.fragment >= n })
		if i < 0 {
			return place{}, http.StatusMethodNotAllowed
		}
		choice = whole[i]
	}
	at := m.place
	at.Fragment, at.ReceiveAge, at.RTDelay = choice.fragment, now.Sub(m.heard).Seconds(), now.Sub(choice.shown).Seconds()
	at.Tick, at.EndTick = choice.tick, m.piece(choice.fragment, broadcast.Delta).tick
	at.MaxTick = m.piece(whole[len(whole)-1].fragment, broadcast.Delta).tick
	if token != "" {
		at.TokenRedirect = "" // else it is given, so that nobody reads on in another match
	}
	return at, http.StatusOK
}

// joined returns where a file can begin: at the oldest full behind which nothing is missing, and which no file has. ok is false if there is
// none, and changed is closed when something comes.
func (p *pushed) joined(from next) (at place, ok bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.now
	if m == nil || len(m.bodies) < 2 {
		return place{}, false, p.changed
	}
	at = m.place
	at.SignupFragment = 0 // a server that is asked for it sends the same start in another fragment
	at.ReceiveAge = time.Since(m.heard).Seconds()
	begin := m.from
	if m.token == from.token {
		begin = max(begin, from.fragment)
	}
	oldest, last := m.bodies[1].fragment, m.bodies[len(m.bodies)-1].fragment
	for n := last; n >= max(oldest, begin) && (n > m.newest || m.piece(n, broadcast.Delta) != nil); n-- {
		if m.piece(n, broadcast.Full) != nil {
			at.Fragment, ok = n, true
		}
	}
	return at, ok, p.changed
}

// fragment implements source. It waits for the body for as long as a fragment takes.
func (p *pushed) fragment(ctx context.Context, token string, number int, part broadcast.Part) ([]byte, error) {
	timer := time.NewTimer(p.interval())
	defer timer.Stop()
	for {
		data, changed, err := p.have(token, number, part)
		if data != nil || err != nil {
			return data, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return nil, errAbsent
		case <-changed:
		}
	}
}

// interval returns how long a fragment takes.
func (p *pushed) interval() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil {
		return defaultInterval
	}
	return p.now.place.interval()
}

// have returns a body, or what is closed when something comes, or why the body will not come.
func (p *pushed) have(token string, number int, part broadcast.Part) ([]byte, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.of(token)
	switch {
	case p.now == nil:
		return nil, p.changed, nil // the daemon was started again, and the server has not come back yet
	case m == nil:
		return nil, nil, errNew
	}
	if b := m.piece(number, part); b != nil {
		p.taken = b.came
		return b.data, nil, nil
	}
	switch {
	case m.newest >= number+ahead, len(m.bodies) > 1 && m.bodies[1].fragment > number+1:
		return nil, nil, errHole
	case m != p.now:
		return nil, nil, errNew
	case m.over && m.newest < number:
		return nil, nil, errSilent // it has said that this was the last one, and the record Stop was not in it
	}
	return nil, p.changed, nil
}

// another implements source.
func (p *pushed) another(ctx context.Context, token string, next int) bool {
	for {
		p.mu.Lock()
		m, changed := p.now, p.changed
		more := m != nil && (m.token != token || m.newest >= next)
		if more && m.token == token {
			m.from = next
		}
		p.mu.Unlock()
		if more {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

// lag implements source. The daemon is the relay, and has what the game has sent.
func (p *pushed) lag(_ int32, caught bool) (behind [2]time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !caught {
		behind[relayLag], behind[gameLag] = time.Since(p.taken), time.Since(p.taken)
	}
	return behind
}

func (*pushed) close() {}
