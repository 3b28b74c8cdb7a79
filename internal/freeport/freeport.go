// Package freeport chooses TCP addresses for daemons that tests start as processes of their own.
package freeport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// The ports are below those that Linux gives to outgoing connections and to listeners on port 0 (from 32768, see
// ip_local_port_range). So no other test takes a port between its choice and the start of the daemon.
const (
	firstPort = 20000
	ports     = 10000
)

// next is the number of ports chosen so far, from a start that differs between the test programs that run at once.
var next atomic.Uint32

func init() { next.Store(uint32(os.Getpid()) * 199) } // wraps around

// Addr returns an address on loopback, host:port, on which nobody listens. A process gets an address again only after it has
// gone through all the others. It may be called concurrently.
func Addr() (string, error) {
	var errs error
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", firstPort+next.Add(1)%ports)
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", addr)
		if err == nil {
			return addr, l.Close()
		}
		errs = errors.Join(errs, err)
	}
	return "", errs
}
