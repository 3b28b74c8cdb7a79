package sc2replay

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/replayd/replayd/decoders/sc2replay/names"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// Files of a Data's directory. They have the format of the embedded ones: docs/patch-day.md.
const (
	ProtocolFile = "protocol.txt"
	NamesFile    = "names.txt"
)

// Data is what replays of the game's versions are decoded with: protocol tables and names. It does not change.
type Data struct {
	tables *protocol.Set
	names  *names.Set
}

// ReadData returns the embedded data with that of the files ProtocolFile and NamesFile in a directory, of which one may be
// missing. It compiles every table of the directory, so that a mistake is an error here and not in a replay. Errors have the
// file's name and, for most mistakes, the line.
func ReadData(dir fs.FS) (*Data, error) {
	text := map[string][]string{}
	for _, name := range []string{ProtocolFile, NamesFile} {
		content, err := fs.ReadFile(dir, name)
		switch {
		case err == nil:
			text[name] = []string{string(content)}
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if len(text) == 0 {
		return nil, fmt.Errorf("neither %s nor %s is there", ProtocolFile, NamesFile)
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
	return &Data{tables, known}, nil
}

// embeddedData is the data of the program itself.
var embeddedData = sync.OnceValue(func() *Data { return &Data{protocol.Default(), names.Default()} })

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
