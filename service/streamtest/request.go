package streamtest

import (
	"math/rand/v2"
	"slices"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Maker makes random requests for a replay. They have values that occur in the replay, and some that do not.
type Maker struct {
	o       *Oracle
	random  *rand.Rand
	cursors [][]byte // from sessions of other requests for the replay

	kinds, players, teams, groups, layers, types, classes, fields choice
}

// choice holds the values to choose from.
type choice struct {
	numbers []int32
	names   []string
}

// NewMaker returns a Maker whose requests are derived from the seed.
func NewMaker(o *Oracle, seed uint64) *Maker {
	m := &Maker{o: o, random: rand.New(rand.NewPCG(seed, 0))}
	seen := map[any]bool{}
	number := func(c *choice, list []int32) {
		for _, n := range list {
			if !seen[[2]any{c, n}] {
				seen[[2]any{c, n}] = true
				c.numbers = append(c.numbers, n)
			}
		}
	}
	name := func(c *choice, n string) {
		if !seen[[2]any{c, n}] && len(c.names) < 2000 {
			seen[[2]any{c, n}] = true
			c.names = append(c.names, n)
		}
	}
	for i := range o.events {
		e := &o.events[i]
		name(&m.kinds, e.kind)
		number(&m.players, e.players)
		number(&m.teams, e.teams)
		number(&m.groups, e.groups)
		number(&m.layers, e.layers)
		if e.typ != "" {
			name(&m.types, e.typ)
		}
		if e.class != "" {
			name(&m.classes, e.class)
		}
		for _, f := range e.fields {
			name(&m.fields, f.name)
		}
	}
	return m
}

// Keep keeps the cursors of a session, so that later requests may start at them.
func (m *Maker) Keep(s *Session) {
	for _, raw := range s.Responses {
		if r, err := parse(raw); err == nil && len(r.cursor) > 0 && m.one(4) {
			m.cursors = append(m.cursors, r.cursor)
		}
	}
	if n := len(m.cursors); n > 200 {
		m.random.Shuffle(n, func(i, j int) { m.cursors[i], m.cursors[j] = m.cursors[j], m.cursors[i] })
		m.cursors = m.cursors[:100]
	}
}

// one returns true once in n times, on average.
func (m *Maker) one(n int) bool { return m.random.IntN(n) == 0 }

// Request returns a random request.
func (m *Maker) Request(replay string) *replaydv1.StreamEventsRequest {
	req := &replaydv1.StreamEventsRequest{
		Replay:         replay,
		MaxBatchEvents: []uint32{0, 1, 2, 7, 100, 512, 16384, 1 << 31}[m.random.IntN(8)],
		Include:        m.filters(), Exclude: m.filters(),
	}
	if req.MaxBatchEvents > 0 && req.MaxBatchEvents < 7 && m.o.Len() > 100_000 {
		req.MaxBatchEvents = 0 // small batches would take too long
	}
	if m.one(2) {
		req.Encoding = replaydv1.Encoding(m.random.IntN(3))
	}
	req.NarrowColumns = req.GetEncoding() == replaydv1.Encoding_ENCODING_ARROW && m.one(2)
	if m.one(3) {
		req.Where = m.where()
	}
	switch m.random.IntN(8) {
	case 0, 1, 2:
		if len(m.cursors) > 0 {
			req.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: m.cursors[m.random.IntN(len(m.cursors))]}}
		}
	case 3:
		req.Start = &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: m.tick()}}
	case 4:
		req.Start = &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 1 + m.random.Uint32N([]uint32{3, 50, 5000}[m.random.IntN(3)])}}
	case 5:
		req.Start = &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}}
	}
	if m.one(3) {
		if req.Start == nil {
			req.Start = &replaydv1.Start{}
		}
		req.Start.WithState = true
	}
	return req
}

func (m *Maker) tick() int32 {
	if len(m.o.events) == 0 || m.one(10) {
		return []int32{-1 << 31, -1, 0, 1<<31 - 1}[m.random.IntN(4)]
	}
	return m.o.events[m.random.IntN(len(m.o.events))].tick + m.random.Int32N(3) - 1
}

func (m *Maker) filters() (all []*replaydv1.EventFilter) {
	if m.one(2) {
		return nil
	}
	for range 1 + m.random.IntN(3) {
		all = append(all, m.filter())
	}
	return all
}

// filter returns a filter with one or two conditions, seldom more.
func (m *Maker) filter() *replaydv1.EventFilter {
	f := &replaydv1.EventFilter{}
	for n := 1 + m.random.IntN(2) + m.random.IntN(2)*m.random.IntN(2); n > 0; n-- {
		switch m.random.IntN(11) {
		case 0, 1, 2:
			f.Kinds = m.pick(m.kinds.names, m.allKinds())
		case 3:
			f.Ticks = &replaydv1.TickRange{}
			from, to := m.tick(), m.tick()
			if !m.one(4) {
				f.Ticks.Min = new(min(from, to))
			}
			if !m.one(4) {
				f.Ticks.Max = new(max(from, to))
			}
			if m.one(3) {
				f.Ticks.Every = new(max(leastEvery[m.o.format], 1) * []int32{1, 2, 3, 7, 40}[m.random.IntN(5)])
			}
		case 4:
			f.Players = m.numbers(&m.players)
		case 5:
			f.Teams = m.numbers(&m.teams)
		case 6:
			mapOf(f).Groups = m.numbers(&m.groups)
		case 7:
			mapOf(f).Layers = m.numbers(&m.layers)
		case 8:
			demOf(f).Classes = m.patterns(m.classes.names)
		case 9:
			demOf(f).Fields = m.patterns(m.fields.names)
		case 10:
			demOf(f).Types = m.pick(m.types.names, []string{"", "nothing", "7", "-1", "COMBAT_LOG_TYPE_DEATH", "FAULT_KIND_LIMIT"})
		}
	}
	// Only a few requests have conditions that the format does not have.
	if !m.one(20) {
		if len(m.groups.numbers) == 0 {
			f.Datafile = nil
		}
		if len(m.players.numbers) == 0 && len(m.teams.numbers) == 0 {
			f.Players, f.Teams = nil, nil
		}
		if len(m.classes.names) == 0 {
			f.Dem = nil
		}
	}
	return f
}

func mapOf(f *replaydv1.EventFilter) *replaydv1.DatafileFilter {
	if f.Datafile == nil {
		f.Datafile = &replaydv1.DatafileFilter{}
	}
	return f.Datafile
}

func demOf(f *replaydv1.EventFilter) *replaydv1.DemFilter {
	if f.Dem == nil {
		f.Dem = &replaydv1.DemFilter{}
	}
	return f.Dem
}

func (m *Maker) allKinds() []string {
	var all []string
	for kind := range m.o.kinds {
		all = append(all, kind)
	}
	slices.Sort(all)
	return all
}

// pick returns one to three names, mostly from the first list.
func (m *Maker) pick(mostly, also []string) (some []string) {
	for range 1 + m.random.IntN(3) {
		from := mostly
		if len(from) == 0 || m.one(10) {
			from = also
		}
		if len(from) > 0 {
			some = append(some, from[m.random.IntN(len(from))])
		}
	}
	return some
}

func (m *Maker) numbers(c *choice) (some []int32) {
	for range 1 + m.random.IntN(3) {
		if len(c.numbers) == 0 || m.one(10) {
			some = append(some, []int32{-1 << 31, -1, 0, 1, 63, 64, 127, 128, 300, 1<<31 - 1}[m.random.IntN(10)])
			continue
		}
		some = append(some, c.numbers[m.random.IntN(len(c.numbers))])
	}
	return some
}

// patterns returns patterns of names, with wildcards in place of parts of the names.
func (m *Maker) patterns(names []string) (some []string) {
	for range 1 + m.random.IntN(3) {
		pattern := []string{"*", "nothing", "?*", "", "*.*"}[m.random.IntN(5)]
		if len(names) > 0 && !m.one(6) {
			pattern = names[m.random.IntN(len(names))]
			from := m.random.IntN(len(pattern) + 1)
			to := from + m.random.IntN(len(pattern)-from+1)
			switch m.random.IntN(4) {
			case 0:
				pattern = pattern[:from] + "*" + pattern[to:]
			case 1:
				pattern = pattern[:from] + "*"
			case 2:
				if from < len(pattern) {
					pattern = pattern[:from] + "?" + pattern[from+1:]
				}
			}
		}
		some = append(some, pattern)
	}
	return some
}
