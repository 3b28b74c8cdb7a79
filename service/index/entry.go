package index

import (
	"strings"
	"time"

	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/source"
)

// Entry is what is known of a file. It must not be modified.
type Entry struct {
	// Info is what the file system says, and, once Identified, what the first bytes say.
	source.Info
	// Identified: the beginning was read. A file of no known format is, too.
	Identified bool
	// tried: the beginning was read, and is too short to recognize the format.
	tried bool
	// Facts are what the header says; empty where it could not be read.
	Facts
	// Survey is what decoding it found; nil when that was not done, or there is nothing to find.
	Survey *codec.Survey
}

// newEntry is what is known of a file that was only looked at.
func newEntry(f *catalog.File) *Entry {
	return &Entry{Info: source.Info{Name: f.Name, ID: f.ID, Size: f.Size, Modified: f.Modified}, Facts: Facts{LastTick: -1}}
}

// Facts are what a header says.
type Facts struct {
	// Identity is the replay's. It is empty when the header could not be read, or not yet.
	Identity string
	// Lineage is its place among the replays of its server.
	codec.Lineage

	MapName        string
	Started        time.Time
	TicksPerSecond float64
	LastTick       int32 // -1 when the header does not say
	Length         time.Duration
	Players        []string // as far as the header says
}

// State says whether a replay may still grow. The API's ReplayState has the same names.
type State uint8

// The states.
const (
	// Unknown: it was not decoded yet, so that it is not known whether its end is there.
	Unknown State = iota
	// Growing: it was written to in the last minute, and has no end.
	Growing
	// Silent: nothing was written to it for a minute, but it has no end, and nothing comes after it.
	Silent
	// Finished: it has the end that its format asks for, or is of a format that is written as a whole.
	Finished
	// Abandoned: it stops without an end, and will not go on: it is compressed, or damaged, or the server process that wrote it has begun another.
	Abandoned
)

var stateNames = [...]string{
	Unknown: "unspecified", Growing: "growing", Silent: "silent", Finished: "finished", Abandoned: "abandoned",
}

// States returns all states.
func States() []State { return []State{Unknown, Growing, Silent, Finished, Abandoned} }

// String returns the state's name in the API, such as "growing".
func (s State) String() string { return stateNames[s] }

// quiet is how long after the last byte a file that has no end counts as Growing.
const quiet = time.Minute

// state is an entry's state. succeeded says that another replay names it as the one before; c is its format's.
func (e *Entry) state(c *codec.Codec, succeeded bool, now time.Time) State {
	recent := now.Sub(e.Modified) < quiet
	switch {
	case c == nil:
		return Unknown
	case c.RandomAccess:
		return Finished
	case e.Survey != nil && e.Survey.Ended:
		return Finished
	case succeeded, e.Survey != nil && (e.Survey.Broken || !e.Growable()):
		return Abandoned
	case !e.Growable():
		return Unknown
	case recent:
		return Growing
	case e.Survey == nil && c.Survey != nil, e.Survey != nil && e.Survey.Offset < e.Size && e.Survey.State == nil:
		return Unknown
	}
	return Silent
}

// mayGrow reports whether a file may still grow, as far as is known.
func (x *Index) mayGrow(e *Entry) bool {
	c := x.Codec(e.Format)
	switch {
	case !e.Identified:
		return true
	case c == nil || c.RandomAccess || !e.Growable():
		return false
	}
	return e.Survey == nil || e.Survey.State != nil
}

// root is the alias of the root that a name is below.
func root(name string) string {
	alias, _, _ := strings.Cut(name, "/")
	return alias
}

// Scope is which roots may be seen. Nil is all.
type Scope map[string]bool

func (s Scope) has(name string) bool { return s == nil || s[root(name)] }
