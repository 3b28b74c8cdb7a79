// Package share has what several decoders, or snapshots of one, have in common: it counts the memory of parts, and keeps values that were
// used last.
package share

import "sync/atomic"

// Count counts how many holders a part has. The zero value is a part without holders. It is safe for concurrent use.
type Count struct{ holders atomic.Int32 }

// Hold adds a holder. It returns size for the first one, and 0 for others.
func (c *Count) Hold(size int) int {
	if c.holders.Add(1) == 1 {
		return size
	}
	return 0
}

// Release removes a holder. It returns size when that was the last one, and 0 otherwise.
func (c *Count) Release(size int) int {
	if c.holders.Add(-1) == 0 {
		return size
	}
	return 0
}

// Part is an immutable part of a snapshot.
type Part interface {
	Hold() int
	Release() int
}

// Value is a Part that holds a value of any type.
type Value[T any] struct {
	count Count
	size  int
	Of    T
}

// NewValue returns a part that holds a value of about size bytes.
func NewValue[T any](v T, size int) *Value[T] { return &Value[T]{size: size, Of: v} }

// Hold implements Part.
func (v *Value[T]) Hold() int { return v.count.Hold(v.size) }

// Release implements Part.
func (v *Value[T]) Release() int { return v.count.Release(v.size) }
