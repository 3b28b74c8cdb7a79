package page_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/replayd/replayd/page"
)

// maxBundle is the maximum total size of the page's files in bytes, compressed.
const maxBundle = 250_000

func get(path string, header http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	r.Header = header
	w := httptest.NewRecorder()
	if !page.Has(r) {
		w.WriteHeader(http.StatusTeapot)
		return w
	}
	page.ServeHTTP(w, r)
	return w
}

// TestPage checks that only the page's files are served, and that browsers may load nothing from other origins.
func TestPage(t *testing.T) {
	for _, test := range []struct {
		path string
		code int
		what string
	}{
		{"/", 200, "text/html; charset=utf-8"},
		{"/replay/root/a%20game.teehistorian", 200, "text/html; charset=utf-8"},
		{"/page/app.js", 200, "text/javascript; charset=utf-8"},
		{"/page/style.css", 200, "text/css; charset=utf-8"},
		{"/page/icon.svg", 200, "image/svg+xml"},
		{"/page/", 404, ""},
		{"/page/../page.go", 404, ""},
		{"/page/main.ts", 404, ""},
		{"/v1/replays", http.StatusTeapot, ""},
		{"/replayd.v1.ReplayService/GetReplay", http.StatusTeapot, ""},
	} {
		w := get(test.path, http.Header{})
		if w.Code != test.code || test.code == 200 && w.Header().Get("Content-Type") != test.what {
			t.Errorf("%s: %d %s", test.path, w.Code, w.Header().Get("Content-Type"))
		}
		if policy := w.Header().Get("Content-Security-Policy"); test.code == 200 && (!strings.HasPrefix(policy, "default-src 'none'") ||
			strings.Contains(policy, "unsafe") || strings.Contains(policy, "http")) {
			t.Errorf("%s: policy %q", test.path, policy)
		}
	}
	if w := get("/", http.Header{}); strings.Contains(w.Body.String(), "://") {
		t.Errorf("the page asks for something from elsewhere: %s", w.Body)
	}
	tag := get("/page/app.js", http.Header{}).Header().Get("ETag")
	if w := get("/page/app.js", http.Header{"If-None-Match": {tag}}); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("what a browser has is sent again: %d", w.Code)
	}
	if get("/page/style.css", http.Header{}).Header().Get("ETag") == tag {
		t.Error("all files have one tag")
	}
}

// TestSize checks the total compressed size of the page.
func TestSize(t *testing.T) {
	total := 0
	for _, path := range []string{"/", "/page/app.js", "/page/style.css", "/page/icon.svg"} {
		w := get(path, http.Header{"Accept-Encoding": {"br, gzip"}})
		if w.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s is not compressed", path)
		}
		total += w.Body.Len()
	}
	if total > maxBundle {
		t.Errorf("%d bytes, want %d at most", total, maxBundle)
	}
	t.Logf("%d bytes", total)
}
