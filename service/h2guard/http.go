package h2guard

import (
	"context"
	"net"
	"net/http"
)

type connKey struct{}

// KeepConn is the ConnContext of a server with guarded connections that is to know their TLS; see KnowTLS.
func KeepConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// KnowTLS sets http.Request.TLS of guarded connections: net/http knows only that of its own.
func KnowTLS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connKey{}).(*Conn); ok && r.TLS == nil {
			r.TLS = conn.TLS()
		}
		next.ServeHTTP(w, r)
	})
}
