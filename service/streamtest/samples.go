package streamtest

import (
	"strings"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// everyTicks holds, by format, how many ticks lie between samples if a request does not say.
var everyTicks = map[string]int32{"teehistorian": 50, "sc2replay": 16, "dem": 30}

// leastEvery holds, by format, the number of ticks of which those are multiples that requests ask for.
var leastEvery = map[string]int32{"teehistorian": 25, "sc2replay": 16, "dem": 30}

// due reports whether the tick of an event is a multiple of what a filter asks for. exclude says that it is one of exclude.
func (o *Oracle) due(t *replaydv1.TickRange, e *event, exclude bool) bool {
	switch {
	case t != nil && t.Every != nil:
		return e.tick%t.GetEvery() == 0
	case strings.HasPrefix(e.kind, "sample_") && !exclude:
		return e.tick%everyTicks[o.format] == 0
	}
	return true
}

// behindSamples returns a position, or, for the position of a sample, the position of the event that follows the samples there.
func behindSamples(at decoders.Position) decoders.Position {
	at.Index = max(at.Index, 0)
	return at
}
