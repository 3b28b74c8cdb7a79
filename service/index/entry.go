package index

import (
	"strings"
	"time"

	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// Entry describes a file of the index. It must not be modified.
type Entry struct {
	// Info comes from the file system. Once Identified is set, it also has the format and the compression.
	source.Info
	// Identified reports whether the beginning was read. It is also set for a file of no known format.
	Identified bool
	// tried reports whether the beginning was read but has to be read again: see unsettled.
	tried bool
	// denied reports whether the system does not let the daemon read the file.
	denied bool
	// number counts the entries that the index had when this one was put into it.
	number uint64
	// checked is when the check began from which the entry was made, in nanoseconds. It is set below roots that are listed.
	checked int64
	// Facts come from the header. They are empty if it could not be read.
	Facts
	// Survey is the result of decoding the file. It is nil if the file was not decoded or its format needs no survey.
	Survey *Survey
}

// Before reports whether the index had the entry before another one.
func (e *Entry) Before(other *Entry) bool { return e.number < other.number }

// newEntry returns the entry of a file that was not read yet.
func newEntry(f *catalog.File) *Entry {
	return &Entry{
		Info:  source.Info{Name: f.Name, ID: f.ID, Size: f.Size, Modified: f.Modified, Fixed: f.Fixed},
		Facts: Facts{LastTick: -1},
	}
}

// is reports whether the entry is of the same contents as a file. The ID of a file that never changes is that of its contents.
func (e *Entry) is(f *catalog.File) bool {
	return e.ID == f.ID && e.Size == f.Size && e.Fixed == f.Fixed && (f.Fixed || e.Modified.Equal(f.Modified))
}

// Facts are the facts in a replay's header.
type Facts struct {
	// Identity is the replay's identity. It is empty when the header could not be read, or not yet.
	Identity string
	// Lineage is the replay's place among the replays of its server.
	codec.Lineage

	MapName        string
	Started        time.Time
	TicksPerSecond float64
	LastTick       int32 // -1 if the header does not have it
	Length         time.Duration
	cast           *cast // nil without players
}

// cast is who played, by a header.
type cast struct {
	players []string
	lineup  string
}

func castOf(players []string, lineup string) *cast {
	if len(players) == 0 && lineup == "" {
		return nil
	}
	return &cast{players, lineup}
}

// Players returns the names in the header.
func (f *Facts) Players() []string {
	if f.cast == nil {
		return nil
	}
	return f.cast.players
}

// Lineup returns who played, by the header.
func (f *Facts) Lineup() string {
	if f.cast == nil {
		return ""
	}
	return f.cast.lineup
}

// Duration returns the length of the replay by its header, or else by decoding. It is 0 if that is not known.
func (e *Entry) Duration() time.Duration {
	if s := e.Survey; e.Length == 0 && s != nil && s.Offset > 0 && e.TicksPerSecond > 0 {
		return time.Duration(float64(s.LastTick) / e.TicksPerSecond * float64(time.Second))
	}
	return e.Length
}

// State is the state of a replay: whether it may still grow. The API's ReplayState has the same names.
type State uint8

// The states.
const (
	// Unknown means that the replay was not decoded yet, so that its end may or may not be present.
	Unknown State = iota
	// Growing means that the replay was written to in the last minute and has no end.
	Growing
	// Silent means that nothing was written to the replay for a minute, but it has no end and no successor.
	Silent
	// Finished means that the replay has the end that its format requires, or that its format is written as a whole.
	Finished
	// Abandoned means that the replay stops without an end and will not continue. It is compressed or damaged, or the server
	// process that wrote it has begun another.
	Abandoned
)

var stateNames = [...]string{
	Unknown: "unspecified", Growing: "growing", Silent: "silent", Finished: "finished", Abandoned: "abandoned",
}

// States returns all states.
func States() []State { return []State{Unknown, Growing, Silent, Finished, Abandoned} }

// String returns the state's name in the API, such as "growing".
func (s State) String() string { return stateNames[s] }

// quiet is how long after the last write a file without an end counts as Growing.
const quiet = time.Minute

// state returns the state of the entry's replay. succeeded reports whether another replay names it as the one before; c is the
// codec of its format.
func (e *Entry) state(c *codec.Codec, succeeded bool, now time.Time) State {
	recent := now.Sub(e.Modified) < quiet
	switch {
	case c == nil:
		return Unknown
	case c.RandomAccess:
		return Finished
	case e.Survey != nil && e.Survey.Ended:
		return Finished
	case succeeded && e.Survey == nil && c.Survey != nil: // it may well have its end
		return Unknown
	case succeeded, e.Survey != nil && (e.Survey.Broken || !e.Growable()):
		return Abandoned
	case !e.Growable():
		return Unknown
	case recent:
		return Growing
	case e.Survey == nil && c.Survey != nil, e.Survey != nil && e.Survey.Offset < e.Size && !e.Survey.Continues:
		return Unknown
	}
	return Silent
}

// mayGrow reports whether a file may still grow, according to its entry.
func (x *Index) mayGrow(e *Entry) bool {
	c := x.Codec(e.Format)
	switch {
	case !e.Identified:
		return true
	case c == nil || c.RandomAccess || !e.Growable():
		return false
	}
	return e.Survey == nil || e.Survey.Continues
}

// root returns the alias of the root that a name is below.
func root(name string) string {
	alias, _, _ := strings.Cut(name, "/")
	return alias
}
