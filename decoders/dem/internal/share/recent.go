package share

import (
	"slices"
	"sync"
)

// Recent keeps the values that were used last, by key. The zero value is empty. It must not be used concurrently.
type Recent[K comparable, V any] struct {
	entries []entry[K, V] // the one that was used last is the last
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// Len returns the number of values.
func (r *Recent[K, V]) Len() int { return len(r.entries) }

// Get returns the value of a key, and notes that it was used.
func (r *Recent[K, V]) Get(key K) (value V, ok bool) {
	i := slices.IndexFunc(r.entries, func(e entry[K, V]) bool { return e.key == key })
	if i < 0 {
		return value, false
	}
	e := r.entries[i]
	r.entries = append(slices.Delete(r.entries, i, i+1), e)
	return e.value, true
}

// Put keeps the value of a key. If there are more than most values, the one that has not been used for the longest time is gone.
func (r *Recent[K, V]) Put(key K, value V, most int) {
	if _, ok := r.Get(key); ok {
		r.entries[len(r.entries)-1].value = value
		return
	}
	if len(r.entries) >= most {
		r.entries = slices.Delete(r.entries, 0, 1)
	}
	r.entries = append(r.entries, entry[K, V]{key, value})
}

// Kept is a Recent that is safe for concurrent use. The zero value is empty.
type Kept[K comparable, V any] struct {
	mu     sync.Mutex
	recent Recent[K, V]
}

// Len is Recent.Len.
func (k *Kept[K, V]) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.recent.Len()
}

// Get is Recent.Get.
func (k *Kept[K, V]) Get(key K) (value V, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.recent.Get(key)
}

// Put is Recent.Put.
func (k *Kept[K, V]) Put(key K, value V, most int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.recent.Put(key, value, most)
}
