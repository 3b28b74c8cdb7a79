package page

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// picture returns an image of a size.
func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestAssets asks for overviews and images: those that are there, broken ones, and what no request may reach.
func TestAssets(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"overviews/de_made.txt":       []byte("\"de_made\"\n{\n\t\"material\" \"overviews/de_made\"\n\t\"pos_x\" \"-2476\" // left\n\tpos_y\t3239.5\n\t\"scale\" \"4.4\"\n\t\"verticalsections\" { \"default\" { \"AltitudeMax\" \"9\" } }\n}\n"),
		"overviews/de_made_radar.png": picture(t, 64, 32),
		"overviews/lone.txt":          []byte(`"pos_x" "1" "pos_y" "2"`),
		"overviews/far.txt":           []byte("\"pos_x\" \"1\"\n\"pos_y\" \"2\"\n\"scale\" \"" + strings.Repeat("9", 308) + "\"\n"),
		"overviews/huge.txt":          []byte("\"pos_x\" \"" + strings.Repeat("9", 400) + "\"\n\"pos_y\" \"2\"\n\"scale\" \"1\"\n"),
		"overviews/flat.txt":          []byte("\"pos_x\" \"1\"\n\"pos_y\" \"2\"\n\"scale\" \"0\"\n"),
		"overviews/bare.txt":          []byte("\"pos_x\" \"1\"\n\"pos_y\" \"2\"\n\"scale\" \"1\"\n"),
		"overviews/bad.txt":           []byte("\"pos_x\" \"1\"\n\"pos_y\" \"2\"\n\"scale\" \"1\"\n"),
		"overviews/bad.png":           []byte("<script>alert(1)</script>"),
		"overviews/wide.txt":          []byte("\"pos_x\" \"1\"\n\"pos_y\" \"2\"\n\"scale\" \"1\"\n"),
		"overviews/wide.png":          picture(t, maxSide+1, 1),
		"overviews/long.txt":          bytes.Repeat([]byte(" "), maxOverview+1),
		"secret.png":                  picture(t, 1, 1),
		"mapres/grass_main.png":       picture(t, 16, 16),
		"mapres/bad.png":              []byte("no image"),
	} {
		path := filepath.Join(dir, "assets", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "outside.png"), picture(t, 1, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = os.Symlink(filepath.Join("..", "..", "outside.png"), filepath.Join(dir, "assets", "overviews", "link.png")) // where there are links
	_ = os.Mkdir(filepath.Join(dir, "assets", "overviews", "folder.png"), 0o755)
	root, err := os.OpenRoot(filepath.Join(dir, "assets"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	get := func(root *os.Root, path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.URL.Path = path
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		Assets(root).ServeHTTP(w, r)
		return w
	}
	for _, c := range []struct {
		path string
		code int
		body string
	}{
		{"overview/de_made", 200, `{"image":"/assets/image/de_made_radar.png","left":-2476,"top":3239.5,"width":4505.6,"height":2252.8}`},
		{"overview/none", 204, ""},
		{"overview/lone", 200, "lone.txt lacks"}, {"overview/far", 200, "far.txt lacks"}, {"overview/flat", 200, "flat.txt lacks"}, {"overview/huge", 200, "value out of range"}, {"overview/bare", 200, "no image bare_radar.png"}, {"overview/bad", 200, "bad.png: image: unknown format"},
		{"overview/wide", 200, "wide.png has 8193 x 1 pixels"}, {"overview/long", 200, "long.txt has more than 65536 bytes"},
		{"overview/../de_made", 404, ""}, {"overview/", 404, ""}, {"overview/..", 404, ""}, {"overview/.de_made", 404, ""}, {"overview/" + strings.Repeat("a", 65), 404, ""},
		{"image/de_made_radar.png", 200, "\x89PNG"},
		{"mapres/grass_main", 200, "\x89PNG"}, {"mapres/none", 204, ""}, {"mapres/bad", 204, ""}, {"mapres/../secret", 404, ""}, {"mapres/grass_main.png", 404, ""}, {"mapres/", 404, ""},
		{"image/grass_main.png", 404, ""}, {"image/bad.png", 404, ""}, {"image/wide.png", 404, ""}, {"image/de_made.txt", 404, ""}, {"image/../secret.png", 404, ""}, {"image/..\\secret.png", 404, ""},
		{"image/link.png", 404, ""}, {"image/folder.png", 404, ""}, {"image//etc/passwd.png", 404, ""}, {"image/a\x00.png", 404, ""}, {"secret.png", 404, ""}, {"", 404, ""},
	} {
		w := get(root, assetsPath+c.path)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%q: %d %.200q, want %d %q", c.path, w.Code, w.Body, c.code, c.body)
		}
		if c.code == 404 && strings.Contains(w.Body.String(), "PNG") {
			t.Errorf("%q has an image", c.path)
		}
	}
	if w := get(nil, assetsPath+"overview/de_made"); w.Code != http.StatusNoContent {
		t.Errorf("without a directory: %d", w.Code)
	}
	if w := get(nil, assetsPath+"mapres/grass_main"); w.Code != http.StatusNoContent {
		t.Errorf("an image of a map without a directory: %d", w.Code)
	}
	if w := get(nil, assetsPath+"image/de_made_radar.png"); w.Code != http.StatusNotFound {
		t.Errorf("an image without a directory: %d", w.Code)
	}
	first := get(root, assetsPath+"image/de_made_radar.png")
	if kind := first.Header().Get("Content-Type"); kind != "image/png" || first.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the image is sent as %q, %v", kind, first.Header())
	}
	if w := get(root, assetsPath+"image/de_made_radar.png", "If-None-Match", first.Header().Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("asked again: %d", w.Code)
	}
}
