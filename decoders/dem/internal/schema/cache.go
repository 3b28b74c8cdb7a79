package schema

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// Cache keeps the most recently used compiled schemas. The zero value is empty. It is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	entries []cacheEntry // the most recently used one last
}

type cacheEntry struct {
	key    cacheKey
	schema *Schema
}

type cacheKey [sha256.Size]byte

// maxSchemas is the number of schemas that are kept. One takes about 2 MB.
const maxSchemas = 8

// Len returns the number of kept schemas.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// Get returns the same results as Parse, but compiles a schema only once for the same data and build.
func (c *Cache) Get(data []byte, dotaBuild int) (s *Schema, ok bool) {
	h := sha256.New()
	h.Write(data)
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(dotaBuild)))
	key := cacheKey(h.Sum(nil))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.entries {
		if e.key == key {
			copy(c.entries[i:], c.entries[i+1:])
			c.entries[len(c.entries)-1] = e
			return e.schema, true
		}
	}
	s, ok = Parse(data, dotaBuild)
	if !ok {
		return s, false
	}
	s.Sum = key
	if len(c.entries) == maxSchemas {
		copy(c.entries, c.entries[1:])
		c.entries = c.entries[:maxSchemas-1]
	}
	c.entries = append(c.entries, cacheEntry{key, s})
	return s, true
}
