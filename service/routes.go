package service

import (
	"net/http"
	"strings"

	"github.com/replayd/replayd/page"
	plainhttp "github.com/replayd/replayd/service/plain"
)

// routes hands requests of the web to who answers them: the page, plain HTTP, and all else to the API by Connect and gRPC-Web.
func (d *Daemon) routes(api http.Handler) http.Handler {
	byHTTP := plainhttp.New(d.grpc, maxWebBytes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, plainhttp.Prefix):
			byHTTP.ServeHTTP(w, r)
		case page.Has(r):
			page.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}
