package service

import (
	"net/http"
	"strings"

	"github.com/replayd/replayd/page"
	"github.com/replayd/replayd/service/access"
	plainhttp "github.com/replayd/replayd/service/plain"
)

// routes hands requests of the web to their handlers: the page, plain HTTP, and all others to the API by Connect and gRPC-Web.
// Connect and gRPC-Web have content types for which browsers ask before a page of another origin may send them. A POST of plain
// HTTP has none: allowed says which pages may send one.
func (d *Daemon) routes(api http.Handler, allowed func(*http.Request) bool) http.Handler {
	assets := d.server.Gate.Handler(access.Read, page.Assets(d.server.Assets))
	byHTTP, own := plainhttp.New(d.methods.run, maxWebBytes), http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, plainhttp.Prefix):
			if err := own.Check(r); err != nil && !allowed(r) {
				http.Error(w, err.Error(), http.StatusForbidden)
				return
			}
			byHTTP.ServeHTTP(w, r)
		case page.IsAsset(r):
			assets.ServeHTTP(w, r)
		case page.Has(r):
			page.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, withBody(w, r))
		}
	})
}
