package dem

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// Schemas keeps compiled schemas, so that decoders of files of one game build share them. It is safe for concurrent use.
// It keeps the most recent ones only.
type Schemas struct {
	mu      sync.Mutex
	entries []schemaEntry // the most recently used one last
}

type schemaEntry struct {
	key    schemaKey
	schema *schema
}

type schemaKey [sha256.Size]byte

// maxSchemas is how many schemas are kept. One takes about 2 MB.
const maxSchemas = 8

// Len returns how many schemas are kept.
func (c *Schemas) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// get returns the compiled send tables of a file, compiling them at most once. A nil cache compiles.
func (c *Schemas) get(data []byte, build int, game game) (*schema, bool) {
	if c == nil {
		return parseSendTables(data, build, game)
	}
	h := sha256.New()
	h.Write(data)
	h.Write(binary.LittleEndian.AppendUint64([]byte{byte(game)}, uint64(build)))
	key := schemaKey(h.Sum(nil))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.entries {
		if e.key == key {
			copy(c.entries[i:], c.entries[i+1:])
			c.entries[len(c.entries)-1] = e
			return e.schema, true
		}
	}
	s, ok := parseSendTables(data, build, game)
	if !ok {
		return nil, false
	}
	if len(c.entries) == maxSchemas {
		copy(c.entries, c.entries[1:])
		c.entries = c.entries[:maxSchemas-1]
	}
	c.entries = append(c.entries, schemaEntry{key, s})
	return s, true
}
