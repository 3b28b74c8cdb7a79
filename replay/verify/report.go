package verify

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
	"github.com/replayd/replayd/replay/tiles"
)

// Verdict says what a recording proves.
type Verdict string

// The verdicts.
const (
	// VerdictProven: each tick follows from the one before, the inputs and the map.
	VerdictProven Verdict = "proven"
	// VerdictBroken: a tick contradicts the rules of the game, and nothing explains it.
	VerdictBroken Verdict = "broken"
	// VerdictUnknown: some ticks depend on what is not calculated.
	VerdictUnknown Verdict = "unknown"
)

// Report says what a recording proves.
type Report struct {
	MapName       string   `json:"map_name"`
	MapSHA256     string   `json:"map_sha256"`
	ServerVersion string   `json:"server_version"`
	Players       []Player `json:"players"`
	// Coverage has what was at work on characters, and how much of that is proven.
	Coverage []Coverage `json:"coverage"`
	// End says how reading ended: finished, truncated, or an error's text.
	End string `json:"end"`
	Part
}

// Player is one client's stay.
type Player struct {
	ClientID int32  `json:"client_id"`
	Name     string `json:"name"`
	Part
	Runs []Run `json:"runs"`
}

// Run is a way from the start to the finish of the map.
type Run struct {
	// FirstTick is the last in which the character came through the start before LastTick, in which it came through the finish.
	Part
	Seconds float64 `json:"seconds"`
	// RecordedSeconds is the time that the server saved for the finish, nil if the recording does not have it.
	RecordedSeconds *float64 `json:"recorded_seconds"`
}

// Coverage is about the ticks in which a tile or a weapon was at work on a character.
type Coverage struct {
	// What is a weapon's name, or that of a tile.
	What   string `json:"what"`
	Ticks  int64  `json:"ticks"`
	Proven int64  `json:"proven_ticks"`
}

// cover counts what was at work.
func (v *verifier) cover(r *physics.Result) {
	for _, e := range r.Effects {
		c := v.covered[e]
		if c == nil {
			c = &Coverage{What: e.Weapon}
			if e.Weapon == "" {
				c.What = nameOf(e.Layer, e.Tile)
			}
			v.covered[e] = c
		}
		c.Ticks++
		if r.Mark == physics.Proven {
			c.Proven++
		}
	}
}

// coverage returns what was at work, the most frequent first.
func (v *verifier) coverage() []Coverage {
	byName := map[string]Coverage{} // some tiles are in several layers
	for _, c := range v.covered {
		sum := byName[c.What]
		byName[c.What] = Coverage{What: c.What, Ticks: sum.Ticks + c.Ticks, Proven: sum.Proven + c.Proven}
	}
	all := slices.AppendSeq(make([]Coverage, 0, len(byName)), maps.Values(byName))
	slices.SortFunc(all, func(a, b Coverage) int {
		return cmp.Or(cmp.Compare(b.Ticks, a.Ticks), strings.Compare(a.What, b.What))
	})
	return all
}

// Part is what some of the ticks of a recording prove.
type Part struct {
	Verdict   Verdict `json:"verdict"`
	FirstTick int32   `json:"first_tick"`
	LastTick  int32   `json:"last_tick"`
	Proven    int64   `json:"proven_ticks"`
	Corrected int64   `json:"corrected_ticks"`
	Unknown   int64   `json:"unknown_ticks"`
	// Broken is the first tick that contradicts the rules, nil if there is none.
	Broken *Deviation `json:"broken"`
	// Causes are the reasons for ticks that are not proven, in the order of package physics.
	Causes []Cause `json:"causes"`
}

// Deviation is a tick in which a character is elsewhere than the game's rules lead to.
type Deviation struct {
	Tick int32 `json:"tick"`
	X    int32 `json:"x"`
	Y    int32 `json:"y"`
	DX   int32 `json:"dx"`
	DY   int32 `json:"dy"`
}

// Cause is a reason for ticks that are not proven.
type Cause struct {
	Cause string `json:"cause"`
	// Tile is the name of the tile, or its number, for the cause "tile".
	Tile      string `json:"tile,omitempty"`
	Ticks     int64  `json:"ticks"`
	FirstTick int32  `json:"first_tick"`

	id   physics.Cause
	tile uint8
}

// add counts ticks. A part without ticks begins with them.
func (p *Part) add(r *physics.Result) {
	if p.Proven+p.Corrected+p.Unknown == 0 {
		p.FirstTick = r.Tick - r.Ticks + 1
	}
	p.LastTick = r.Tick
	switch r.Mark {
	case physics.Proven:
		p.Proven += int64(r.Ticks)
		return
	case physics.Corrected:
		p.Corrected += int64(r.Ticks)
		if r.Cause == physics.CauseNone {
			if p.Broken == nil {
				p.Broken = &Deviation{Tick: r.Tick, X: r.X, Y: r.Y, DX: r.DX, DY: r.DY}
			}
			return
		}
	default:
		p.Unknown += int64(r.Ticks)
	}
	for i := range p.Causes {
		if c := &p.Causes[i]; c.id == r.Cause && c.tile == r.Tile {
			c.Ticks += int64(r.Ticks)
			return
		}
	}
	cause := Cause{Cause: r.Cause.String(), Ticks: int64(r.Ticks), FirstTick: r.Tick, id: r.Cause, tile: r.Tile}
	if r.Cause == physics.CauseTile {
		cause.Tile = tileName(r.Tile)
	}
	p.Causes = append(p.Causes, cause)
}

// sum adds the ticks of another part.
func (p *Part) sum(o *Part) {
	p.Proven += o.Proven
	p.Corrected += o.Corrected
	p.Unknown += o.Unknown
	if o.Broken != nil && (p.Broken == nil || o.Broken.Tick < p.Broken.Tick) {
		p.Broken = o.Broken
	}
	for _, c := range o.Causes {
		found := false
		for i := range p.Causes {
			if have := &p.Causes[i]; have.id == c.id && have.tile == c.tile {
				have.Ticks += c.Ticks
				have.FirstTick = min(have.FirstTick, c.FirstTick)
				found = true
			}
		}
		if !found {
			p.Causes = append(p.Causes, c)
		}
	}
}

// conclude sets the verdict.
func (p *Part) conclude() {
	if p.Causes == nil {
		p.Causes = []Cause{}
	}
	switch {
	case p.Broken != nil:
		p.Verdict = VerdictBroken
	case p.Corrected+p.Unknown > 0 || p.Proven == 0:
		p.Verdict = VerdictUnknown
	default:
		p.Verdict = VerdictProven
	}
}

// nameOf names a tile of a layer.
func nameOf(layer physics.Layer, index uint8) string {
	for kind, its := range tiles.LayerOf {
		if its == layer {
			return cmp.Or(datafile.TileName(kind, index), strconv.Itoa(int(index)))
		}
	}
	return ""
}

// tileName names a tile of any of the layers.
func tileName(index uint8) string {
	for _, kind := range [...]datafile.LayerKind{
		datafile.LayerKindGame, datafile.LayerKindTele, datafile.LayerKindSwitch, datafile.LayerKindTune,
	} {
		if name := datafile.TileName(kind, index); name != "" {
			return name
		}
	}
	return strconv.Itoa(int(index))
}
