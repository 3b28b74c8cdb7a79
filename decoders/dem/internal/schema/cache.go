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
	schemas share.Recent[Key, *Schema]
	packed  share.Recent[Key, Key] // of their contents, by compressed records
}

// Key identifies bytes from which a schema is compiled, and for which build.
type Key [sha256.Size]byte

// KeyOf returns the key of bytes. Nobody can make others with the same one.
func KeyOf(data []byte, dotaBuild int) (key Key) {
	h := sha256.New()
	h.Write(data)
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(dotaBuild)))
	return Key(h.Sum(key[:0]))
}

// maxSchemas is the number of schemas that are kept, and of the compressed records that are known. A schema takes about 2 MB.
const maxSchemas = 8

// Len returns the number of kept schemas.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.schemas.Len()
}

// Get returns the same results as Parse, but compiles a schema only once for the same data and build.
func (c *Cache) Get(data []byte, dotaBuild int) (s *Schema, ok bool) {
	key := KeyOf(data, dotaBuild)
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

// Packed returns the kept schema for which Pack was called with the key of its compressed record, or nil.
func (c *Cache) Packed(key Key) *Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum, _ := c.packed.Get(key)
	s, _ := c.schemas.Get(sum)
	return s
}

// Pack notes that a compressed record has the contents of which Get returned the schema s, and nothing else.
func (c *Cache) Pack(key Key, s *Schema) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.packed.Put(key, s.Sum, maxSchemas)
}

// Kept is what decoders with a schema keep for others, by a key of what it was made from. The zero value is empty. It is safe for concurrent
// use.
type Kept struct{ list share.Kept[Key, any] }

// maxKept is the number of things that are kept, and maxKeptSize the size of one in bytes. The fields of a game's largest class take 400 KB.
const (
	maxKept     = 6
	maxKeptSize = 512 << 10
)

// Get returns what is kept, or nil.
func (k *Kept) Get(key Key) any {
	v, _ := k.list.Get(key)
	return v
}

// Put keeps a thing of about so many bytes, unless it is too large.
func (k *Kept) Put(key Key, v any, size int) {
	if size <= maxKeptSize {
		k.list.Put(key, v, maxKept)
	}
}
