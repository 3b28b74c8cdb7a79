package frame

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// Pool is a pool of byte slices of one capacity.
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

// Get returns a slice of the given length. It implements gRPC's interface.
func (p *Pool) Get(length int) *[]byte {
	b := p.pool.Get().(*[]byte)
	if cap(*b) < length {
		*b = make([]byte, length)
	}
	*b = (*b)[:length]
	return b
}

// Put returns a slice to the pool. It leaves slices that grew far beyond the pool's capacity to the garbage collector, so that
// the memory of one large event is freed.
func (p *Pool) Put(b *[]byte) {
	if cap(*b) > 4*p.size {
		return
	}
	p.pool.Put(b)
}

// Buffer returns a reference-counted buffer of b. The slice returns to the pool when the last reference is freed.
func (p *Pool) Buffer(b *[]byte) mem.Buffer { return mem.NewBuffer(b, p) }
