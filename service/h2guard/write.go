package h2guard

import "sync"

// Write implements net.Conn. As with other connections of HTTP/2, one goroutine writes at a time.
func (c *Conn) Write(p []byte) (int, error) {
	if c.plain.Load() {
		return c.Conn.Write(p)
	}
	for b := p; len(b) > 0; {
		var whole bool
		if b, whole = c.out.next(b); !whole {
			continue
		}
		if c.out.kind() == typeData {
			c.written.Add(1)
		}
		if c.starts != nil && (c.out.ends() || c.out.kind() == typeReset) {
			c.starts.forget(c.out.stream())
		}
	}
	return c.gather(p)
}

// gather writes p, or holds it if it ends within a frame: then the writer's buffer was full, and the rest follows at once. A few large calls
// of the system take less time than many, and only connections that write need the memory for them.
func (c *Conn) gather(p []byte) (int, error) {
	if c.held == nil && c.out.between() {
		return c.Conn.Write(p)
	}
	if c.held == nil {
		c.held = room.Get().(*[]byte)
	}
	*c.held = append(*c.held, p...)
	if !c.out.between() && len(*c.held) < mostHeld {
		return len(p), nil
	}
	_, err := c.Conn.Write(*c.held)
	*c.held = (*c.held)[:0]
	room.Put(c.held)
	c.held = nil
	return len(p), err
}

// mostHeld is how many bytes are written once they are held.
const mostHeld = 512 << 10

// room is memory for what is held. It grows with what is held, so a connection that stalls takes about as much as waited for it anyway.
var room = sync.Pool{New: func() any {
	b := make([]byte, 0, 16<<10)
	return &b
}}
