package bucket_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/replayd/replayd/fleet/bucket/buckettest"
	"github.com/replayd/replayd/replay/source"
)

// TestEndless checks that lists that do not end, and answers that do not end, fail.
func TestEndless(t *testing.T) {
	t.Parallel()
	page := func(next, keys string) string {
		return `<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>` + next +
			`</NextContinuationToken>` + keys + `</ListBucketResult>`
	}
	object := `<Contents><Key>p/x</Key><Size>1</Size><ETag>"e"</ETag></Contents>` // without a time
	var n atomic.Int64
	for name, body := range map[string]func() string{
		"pages":       func() string { return page(fmt.Sprint(n.Add(1)), object) },
		"empty pages": func() string { return page(fmt.Sprint(n.Add(1)), "") },
		"one page":    func() string { return page("same", object) },
		"no token":    func() string { return page("", object) },
		"a page": func() string {
			return strings.Replace(page("t", strings.Replace(object, "x", strings.Repeat("x", 5<<20), 1)), "true", "false", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := buckettest.New(t)
			s.Hook(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { _, _ = io.WriteString(w, body()) })
			o := hasty
			o.MaxEntries, o.Silence = 500, 20*time.Second
			if _, err := list(t, open(t, s.URL("p"), o), "."); !errors.Is(err, source.ErrStore) {
				t.Error(err)
			}
		})
	}
}

// TestLies checks the attributes of objects that no store of good faith gives.
func TestLies(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string]map[string]string{
		"no ETag": {"ETag": ""}, "a weak ETag": {"ETag": `W/"x"`}, "a huge ETag": {"ETag": `"` + strings.Repeat("x", 1000) + `"`},
		"a huge length": {"Content-Length": "9223372036854775807"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := buckettest.New(t)
			s.Hook(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.Header().Set("ETag", `"x"`)
				w.Header().Set("Content-Length", "10")
				for k, v := range headers {
					w.Header().Set(k, v)
				}
			})
			if h, err := open(t, s.URL("p"), hasty).Open(t.Context(), "x"); !errors.Is(err, source.ErrStore) {
				t.Error(h, err)
			}
		})
	}
	// A length that is larger than the object: the store then answers with another range.
	s := buckettest.New(t)
	s.Put("p/x", noise(100_000))
	s.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		truth := httptest.NewRecorder()
		next.ServeHTTP(truth, r)
		w.Header().Set("ETag", truth.Header().Get("ETag"))
		w.Header().Set("Content-Length", "200000")
	})
	h, err := open(t, s.URL("p"), hasty).Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	if n, err := h.ReadAt(make([]byte, 10), 0); n != 0 || !errors.Is(err, source.ErrStore) {
		t.Error(n, err)
	}
}

// TestCredentials checks that credentials of the environment are used, and that they, and the reasons why there are none, are in no
// error.
func TestCredentials(t *testing.T) {
	const id, secret = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG"
	t.Setenv("AWS_ACCESS_KEY_ID", id)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	s := buckettest.New(t)
	s.Put("p/x", []byte("x"))
	signed := ""
	var mu sync.Mutex
	s.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		signed = r.Header.Get("Authorization")
		next.ServeHTTP(w, r)
	})
	b := open(t, s.URL("p", "anonymous", ""), hasty)
	if _, err := b.Stat(t.Context(), "x"); err != nil || !strings.Contains(signed, id) {
		t.Error(signed, err)
	}
	s.Hook(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, "<Error><Code>Invalid%s</Code><Message>%s %s</Message></Error>", id, secret, r.Header.Get("Authorization"))
	})
	_, statErr := b.Stat(t.Context(), "x")
	_, listErr := list(t, b, ".")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	absent := filepath.Join(t.TempDir(), "absent")
	t.Setenv("AWS_CONFIG_FILE", absent)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", absent)
	_, noneErr := open(t, s.URL("p", "anonymous", ""), hasty).Stat(t.Context(), "x")
	for _, err := range []error{statErr, listErr, noneErr} {
		if text := fmt.Sprint(err); err == nil || strings.Contains(text, secret) || strings.Contains(text, id) || strings.Contains(text, "Signature") {
			t.Error(text)
		}
	}
	if !strings.Contains(fmt.Sprint(noneErr), "no credentials") || !errors.Is(noneErr, source.ErrStore) {
		t.Error(noneErr)
	}
}
