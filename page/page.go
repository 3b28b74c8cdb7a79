// Package page serves the daemon's web page. The page lists the replays and plays them. Its sources in src are TypeScript and
// use the TypeScript client of this repository. `make page` bundles them into dist, which this package embeds.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed dist
var dist embed.FS

// policy is the Content-Security-Policy. It allows no resources from other origins, and no other site can frame the page.
const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' blob: data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types maps the extensions of the files in dist to content types.
var types = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// Paths of the page. replayPath is followed by a replay's name, which only the scripts of the page read.
const (
	homePath   = "/"
	replayPath = "/replay/"
	filePath   = "/page/"
)

// file is a file of dist, as served.
type file struct {
	body   []byte
	zipped func() []byte
	tag    string
}

// files returns the files of dist by name.
var files = sync.OnceValues(func() (map[string]file, error) {
	all := map[string]file{}
	entries, err := dist.ReadDir("dist")
	for _, e := range entries {
		body, err := dist.ReadFile("dist/" + e.Name())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(body)
		all[e.Name()] = file{body, sync.OnceValue(func() []byte { return zip(body) }), `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	return all, err
})

// zip compresses a file with gzip's best compression.
func zip(body []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil
	}
	_, _ = z.Write(body) // writes to memory, like Close
	_ = z.Close()
	return b.Bytes()
}

// Has reports whether a request is for the page.
func Has(r *http.Request) bool {
	p := r.URL.Path
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		(p == homePath || strings.HasPrefix(p, replayPath) || strings.HasPrefix(p, filePath))
}

// ServeHTTP serves the page's files. It does not authenticate the caller, because the files contain no data of replays.
func ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := "index.html"
	if rest, ok := strings.CutPrefix(r.URL.Path, filePath); ok {
		name = rest
	}
	all, err := files()
	f, ok := all[name]
	if !ok || err != nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", types[path.Ext(name)])
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache") // always revalidate, because another version of the daemon may answer next time
	h.Set("ETag", f.tag)
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		_, _ = w.Write(f.zipped())
		return
	}
	_, _ = w.Write(f.body)
}
