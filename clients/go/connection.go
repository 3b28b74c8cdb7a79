package replayd

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc"
)

// connection is a gRPC connection that can be replaced by a new one. gRPC itself keeps a connection that has become silent until
// the keepalive fails.
type connection struct {
	dial func() (*grpc.ClientConn, error)

	mu  sync.Mutex
	now *grpc.ClientConn
	// old holds replaced connections until close. Other calls may still use them; an unused one becomes idle.
	old    []*grpc.ClientConn
	closed bool
}

var _ grpc.ClientConnInterface = (*connection)(nil)

func (c *connection) current() *grpc.ClientConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Invoke implements [grpc.ClientConnInterface].
func (c *connection) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return c.current().Invoke(ctx, method, args, reply, opts...)
}

// NewStream implements [grpc.ClientConnInterface].
func (c *connection) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return c.current().NewStream(ctx, desc, method, opts...)
}

// replace dials a new connection for later calls if silent is still the current one.
func (c *connection) replace(silent *grpc.ClientConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != silent || c.closed {
		return
	}
	if fresh, err := c.dial(); err == nil {
		c.now, c.old = fresh, append(c.old, silent)
	}
}

func (c *connection) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	err := c.now.Close()
	for _, old := range c.old {
		err = errors.Join(err, old.Close())
	}
	c.old = nil
	return err
}
