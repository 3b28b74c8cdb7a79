package schema

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/replayd/replayd/decoders/dem/internal/share"
)

// Cache keeps the most recently used compiled schemas. The zero value is empty. It is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	schemas share.Recent[cacheKey, *Schema]
}

type cacheKey [sha256.Size]byte

// maxSchemas is the number of schemas that are kept. One takes about 2 MB.
const maxSchemas = 8

// Len returns the number of kept schemas.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.schemas.Len()
}

// Get returns the same results as Parse, but compiles a schema only once for the same data and build.
func (c *Cache) Get(data []byte, dotaBuild int) (s *Schema, ok bool) {
	h := sha256.New()
	h.Write(data)
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(dotaBuild)))
	key := cacheKey(h.Sum(nil))
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok = c.schemas.Get(key); ok {
		return s, true
	}
	s, ok = Parse(data, dotaBuild)
	if !ok {
		return s, false
	}
	s.Sum = key
	c.schemas.Put(key, s, maxSchemas)
	return s, true
}
