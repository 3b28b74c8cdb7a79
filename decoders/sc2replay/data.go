package sc2replay

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/replayd/replayd/decoders/sc2replay/names"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
	"github.com/replayd/replayd/decoders/sc2replay/times"
)

// Files of a Data's directory. They have the format of the embedded ones: docs/patch-day.md.
const (
	ProtocolFile = "protocol.txt"
	NamesFile    = "names.txt"
	TimesFile    = "times.txt"
)

// Data holds what versions of the game need for decoding: protocol tables, names and build times. It does not change.
type Data struct {
	tables *protocol.Set
	names  *names.Set
	times  *times.Set
}

// ReadData returns the embedded data, extended by the files ProtocolFile, NamesFile and TimesFile in a directory, at least one of
// which must exist. It compiles every table of the directory, so that a mistake is an error here and not in a replay. Errors have
// the file's name and, for most mistakes, the line.
func ReadData(dir fs.FS) (*Data, error) {
	text := map[string][]string{}
	for _, name := range []string{ProtocolFile, NamesFile, TimesFile} {
		content, err := fs.ReadFile(dir, name)
		switch {
		case err == nil:
			text[name] = []string{string(content)}
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if len(text) == 0 {
		return nil, fmt.Errorf("none of %s, %s and %s is there", ProtocolFile, NamesFile, TimesFile)
	}
	tables, err := protocol.Parse(text[ProtocolFile]...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ProtocolFile, err)
	}
	if len(text[ProtocolFile]) > 0 {
		for _, build := range tables.Builds() { // a line of an old build changes its table, too
			if _, err := tables.Table(build); err != nil {
				return nil, fmt.Errorf("%s: %w", ProtocolFile, err)
			}
		}
	}
	known, err := names.Parse(text[NamesFile]...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", NamesFile, err)
	}
	durations, err := times.Parse(text[TimesFile]...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", TimesFile, err)
	}
	return &Data{tables, known, durations}, nil
}

// embeddedData is the data of the program itself.
var embeddedData = sync.OnceValue(func() *Data { return &Data{protocol.Default(), names.Default(), times.Default()} })

// current is the data of replays that are opened from now on, or nil for the embedded data.
var current atomic.Pointer[Data]

// Use makes Open decode with this data, in the whole process. Replays that are open keep theirs. Nil means the embedded data.
func (d *Data) Use() { current.Store(d) }

// inUse returns the data to open replays with.
func inUse() *Data {
	if d := current.Load(); d != nil {
		return d
	}
	return embeddedData()
}
