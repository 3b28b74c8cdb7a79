package agent

import (
	"context"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/metadata"

	client "github.com/replayd/replayd/clients/go"
)

const (
	// maxRequest is how many bytes a request may have. Arguments are short.
	maxRequest = 256 << 10
	// maxRequests is how many requests are answered at once.
	maxRequests = 64
)

// Handler returns a handler of the tools over HTTP, which keeps no sessions. A request's bearer token is passed on to the daemon: the client
// should have none of its own, since every caller would have its powers. Pages of other origins may not call it.
func Handler(c *client.Client, version string) http.Handler {
	server := New(c, version)
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxRequest, PropagateRequestCancellation: true,
	})
	places := make(chan struct{}, maxRequests)
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
			return
		}
		r.Header.Set(peerHeader, hostOf(r.RemoteAddr))
		tools.ServeHTTP(w, r)
	}))
}

// peerHeader is the header in which a request's own address reaches the tools; whatever the request has there is replaced.
const peerHeader = "X-Replayd-Peer"

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return host
}

// asCaller returns a context in which calls of the daemon have the token and the address of who made the request, if it came by HTTP. A
// daemon believes the address only of a proxy that it trusts.
func asCaller(ctx context.Context, extra *mcp.RequestExtra) context.Context {
	if extra == nil || extra.Header == nil {
		return ctx
	}
	var passed []string
	for _, v := range extra.Header.Values("Authorization") {
		passed = append(passed, "authorization", v)
	}
	if peer := extra.Header.Get(peerHeader); peer != "" {
		passed = append(passed, "x-forwarded-for", peer)
	}
	return metadata.AppendToOutgoingContext(ctx, passed...)
}
