package frame

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// Pool hands out byte slices of one capacity, and reuses those that are returned.
type Pool struct {
	size int
	pool sync.Pool
}

// NewPool returns a pool of slices with at least that capacity.
func NewPool(size int) *Pool {
	p := &Pool{size: size}
	p.pool.New = func() any { b := make([]byte, 0, size); return &b }
	return p
}

var _ mem.BufferPool = (*Pool)(nil)

// Get returns a slice of that length. gRPC's interface asks for it.
func (p *Pool) Get(length int) *[]byte {
	b := p.pool.Get().(*[]byte)
	if cap(*b) < length {
		*b = make([]byte, length)
	}
	*b = (*b)[:length]
	return b
}

// Put takes a slice back. Slices that grew far beyond the pool's capacity are left to the garbage collector, so that one
// large event does not cost its memory for ever.
func (p *Pool) Put(b *[]byte) {
	if cap(*b) > 4*p.size {
		return
	}
	p.pool.Put(b)
}

// Buffer makes a reference-counted buffer of b, which goes back to the pool when the last reference is freed.
func (p *Pool) Buffer(b *[]byte) mem.Buffer { return mem.NewBuffer(b, p) }
