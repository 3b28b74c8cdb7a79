package h2guard

import (
	"context"
	"net"
	"net/http"
)

type connKey struct{}

// KeepConn is the ConnContext function of an HTTP server with guarded connections. KnowTLS needs it.
func KeepConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// KnowTLS returns a handler that sets http.Request.TLS for guarded connections. net/http sets it only for its own TLS
// connections.
func KnowTLS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connKey{}).(*Conn); ok && r.TLS == nil {
			r.TLS = conn.TLS()
		}
		next.ServeHTTP(w, r)
	})
}
