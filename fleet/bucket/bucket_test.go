package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// hasty are budgets with which a test of failures is short.
var hasty = bucket.Options{Attempts: 3, Pause: time.Millisecond, Silence: 2 * time.Second, Budget: 20 * time.Second}

// TestPlace: two buckets are one place if service, bucket and path are the same, whatever their other parameters.
func TestPlace(t *testing.T) {
	const url = "s3://bucket/p?endpoint=http://127.0.0.1:1&region=eu-west-1"
	place := open(t, url, bucket.Options{}).Place()
	for other, same := range map[string]bool{
		url + "&refresh=1h": true, strings.Replace(url, ":1&", ":2&", 1): false, strings.Replace(url, "bucket", "another", 1): false,
		strings.Replace(url, "/p", "/q", 1): false,
	} {
		if got := open(t, other, bucket.Options{}).Place(); (got == place) != same {
			t.Errorf("%s is %s, and %s is %s", url, place, other, got)
		}
	}
}

func open(tb testing.TB, url string, o bucket.Options) *bucket.Bucket {
	tb.Helper()
	at, err := bucket.Parse(url)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := bucket.Open(tb.Context(), at, o)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func list(tb testing.TB, b *bucket.Bucket, dir string) (names []string, err error) {
	tb.Helper()
	_, err = b.ReadDir(tb.Context(), dir, func(stat fs.FileInfo) {
		name := stat.Name()
		if stat.IsDir() {
			name += "/"
		}
		names = append(names, name)
	})
	slices.Sort(names)
	return names, err
}

// noise returns bytes that differ everywhere.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

func TestReadDir(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	for _, key := range []string{"p/a", "p/b c+d%20", "p/d/x", "p/d/e/y", "p2/z", "p/ü", "other"} {
		s.Put(key, []byte(key))
	}
	b := open(t, s.URL("p"), hasty)
	for dir, want := range map[string][]string{
		".": {"a", "b c+d%20", "d/", "ü"}, "d": {"e/", "x"}, "d/e": {"y"},
	} {
		if got, err := list(t, b, dir); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", dir, got, err, want)
		}
	}
	if _, err := list(t, b, "nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if got, err := list(t, open(t, s.URL("empty"), hasty), "."); err != nil || got != nil {
		t.Error("an empty root:", got, err)
	}
	whole, err := list(t, open(t, s.URL(""), hasty), ".")
	if want := []string{"other", "p/", "p2/"}; err != nil || !slices.Equal(whole, want) {
		t.Error(whole, err)
	}
}

// TestSlow: a store that is slow and steady may take longer than a request without bytes.
func TestSlow(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	data := noise(64 << 10)
	s.Put("p/x", data)
	h, err := open(t, s.URL("p"), bucket.Options{Budget: 2 * time.Second}).Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s.Throttle(24 << 10) // 2.7 s
	got := make([]byte, len(data))
	if _, err := h.ReadAt(got, 0); err != nil || !bytes.Equal(got, data) {
		t.Error(err)
	}
}

// TestNames checks that keys that are no names are not listed: the catalogue has the rules. A key may have any bytes, and a store
// escapes them.
func TestNames(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	s.Hook(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		body := "<ListBucketResult><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType>"
		for _, key := range []string{
			"good", "a+b%2Bc", "%C3%BC", "tab%09", "%FF", "nul%00", "..", "%2E%2E", ".", "", ".hidden", "a%5Cb", "x%2Fy", "%zz", "../x",
		} {
			body += "<Contents><Key>p/" + key + "</Key><Size>1</Size><ETag>&quot;e&quot;</ETag></Contents>"
		}
		for _, prefix := range []string{"dir", "..", ".git", "", "%FF", "a%5C"} {
			body += "<CommonPrefixes><Prefix>p/" + prefix + "/</Prefix></CommonPrefixes>"
		}
		_, _ = io.WriteString(w, body+"<Contents><Key>elsewhere</Key><Size>1</Size><ETag>&quot;e&quot;</ETag></Contents></ListBucketResult>")
	})
	c, err := catalog.New([]catalog.Root{{Alias: "r", Store: open(t, s.URL("p"), hasty)}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.ReadDir(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range d.Files {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	if want := []string{"r/a b+c", "r/good", "r/tab\t", "r/ü"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if !slices.Equal(d.Dirs, []string{"r/dir"}) {
		t.Errorf("%q", d.Dirs)
	}
	s.Requests()
	for _, name := range []string{"r/..", "r/../x", "r/.hidden", "r/a/.h/b", `r/a\b`, "r/a//b", "r/\xff", "r/a\x00b", "r/"} {
		if _, err := c.Open(name); err == nil {
			t.Errorf("%q is opened", name)
		}
	}
	if got := s.Requests(); len(got) > 0 {
		t.Errorf("the store was asked: %v", got)
	}
}

// TestPages checks that a directory of several pages is listed as a whole.
func TestPages(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	for n := range 2100 {
		s.Put(fmt.Sprintf("p/%04d", n), nil)
	}
	b := open(t, s.URL("p"), hasty)
	got, err := list(t, b, ".")
	if err != nil || len(got) != 2100 || got[2099] != "2099" {
		t.Fatal(len(got), err)
	}
	if lists := len(s.Requests()); lists != 3 {
		t.Error(lists, "requests")
	}
	o := hasty
	o.MaxEntries = 2000
	if _, err := list(t, open(t, s.URL("p"), o), "."); !errors.Is(err, source.ErrStore) {
		t.Error("more entries than allowed:", err)
	}
}

// TestStat checks the attributes, and that they are the same in a list.
func TestStat(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	s.Put("p/d/x", []byte("one"))
	s.Put("p/empty", nil)
	b := open(t, s.URL("p"), hasty)
	stat, err := b.Stat(t.Context(), "d/x")
	if err != nil || stat.Size() != 3 || !stat.Mode().IsRegular() || !source.IsObject(stat) || time.Since(stat.ModTime()) > time.Minute {
		t.Fatal(stat, err)
	}
	var listed fs.FileInfo
	if _, err := b.ReadDir(t.Context(), "d", func(stat fs.FileInfo) { listed = stat }); err != nil {
		t.Fatal(err)
	}
	if listed != stat {
		t.Errorf("listed as %v, looked up as %v", listed, stat)
	}
	for dir := range map[string]bool{".": true, "d": true} {
		if stat, err := b.Stat(t.Context(), dir); err != nil || !stat.IsDir() {
			t.Error(dir, stat, err)
		}
	}
	if _, err := b.Stat(t.Context(), "d/y"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := b.Open(t.Context(), "d"); !errors.Is(err, source.ErrDirectory) {
		t.Error(err)
	}
	id := source.Identify(stat)
	s.Put("p/d/x", []byte("two"))
	s.Put("p/d/z", []byte("one"))
	changed, err := b.Stat(t.Context(), "d/x")
	if err != nil || source.Identify(changed) == id {
		t.Error("another version has the same ID:", changed, err)
	}
	if copied, err := b.Stat(t.Context(), "d/z"); err != nil || source.Identify(copied) == id {
		t.Error("another object has the same ID:", copied, err)
	}
	s.Put("p/d/x", []byte("one"))
	if again, err := b.Stat(t.Context(), "d/x"); err != nil || source.Identify(again) != id {
		t.Error("the same contents have another ID:", again, err)
	}
}

func TestReadAt(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	data := noise(5<<20 + 12345)
	s.Put("p/x", data)
	s.Put("p/empty", nil)
	b := open(t, s.URL("p"), hasty)
	h, err := b.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for range 2 { // the beginning, for the format and the header
		if _, err := io.CopyN(io.Discard, io.NewSectionReader(h, 0, 1<<40), 900_000); err != nil {
			t.Fatal(err)
		}
	}
	got, err := io.ReadAll(io.NewSectionReader(h, 0, 1<<40))
	if err != nil || !bytes.Equal(got, data) {
		t.Fatal(len(got), err)
	}
	requests, sent := s.Requests(), int64(0)
	for _, r := range requests {
		sent += r.Sent
		if r.Method == http.MethodGet && (r.Range == "" || r.IfMatch == "") {
			t.Errorf("a request without a range or If-Match: %+v", r)
		}
	}
	if sent != int64(len(data)) || len(requests) > 12 {
		t.Errorf("%d requests for %d bytes", len(requests), sent)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		at, p := r.Int64N(int64(len(data))), make([]byte, 1+r.IntN(200_000))
		n, err := h.ReadAt(p, at)
		want := data[at:min(int(at)+len(p), len(data))]
		if !bytes.Equal(p[:n], want) || (err != nil) != (len(want) < len(p)) || err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(at, len(p), n, err)
		}
	}
	empty, err := b.Open(t.Context(), "empty")
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	if n, err := empty.ReadAt(make([]byte, 1), 0); n != 0 || !errors.Is(err, io.EOF) {
		t.Error(n, err)
	}
}

// TestReadsLittle checks that a reader that jumps is given what it needs, and little more.
func TestReadsLittle(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	data := noise(64 << 20)
	s.Put("p/x", data)
	b := open(t, s.URL("p"), hasty)
	h, err := b.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, at := range []int64{0, 60 << 20, 30 << 20, 30<<20 + 100, 60<<20 + 5} {
		p := make([]byte, 512)
		if _, err := h.ReadAt(p, at); err != nil || !bytes.Equal(p, data[at:at+512]) {
			t.Fatal(at, err)
		}
	}
	sent := int64(0)
	for _, r := range s.Requests() {
		sent += r.Sent
	}
	if sent > 256<<10 {
		t.Errorf("%d bytes for 5 reads of 512 bytes", sent)
	}
}

// TestReadsAhead checks that ranges are fetched before a reader that goes from front to back asks for them, but not without bound.
func TestReadsAhead(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	s.Put("p/x", noise(16<<20))
	h, err := open(t, s.URL("p"), hasty).Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	const read = 4 << 20
	if _, err := io.Copy(io.Discard, io.NewSectionReader(h, 0, read)); err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	for deadline := time.Now().Add(time.Minute); last < read+1<<20 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		for _, r := range s.Requests() {
			var from, to int64
			if n, _ := fmt.Sscanf(r.Range, "bytes=%d-%d", &from, &to); n == 2 {
				last = max(last, to+1)
			}
		}
	}
	_ = h.Close()
	if last < read+1<<20 || last > read+bucket.MaxHeld {
		t.Errorf("%d bytes were asked for when %d had been read", last, read)
	}
}

// TestHoldsLittle checks that an open object keeps no more than MaxHeld of what was read: what lies further back is fetched again.
func TestHoldsLittle(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	s.Put("p/x", noise(4*bucket.MaxHeld))
	h, err := open(t, s.URL("p"), hasty).Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := io.Copy(io.Discard, io.NewSectionReader(h, 0, 4*bucket.MaxHeld)); err != nil {
		t.Fatal(err)
	}
	s.Requests()
	for at := int64(0); at < 3*bucket.MaxHeld; at += 1 << 20 {
		if _, err := h.ReadAt(make([]byte, 1), at); err != nil {
			t.Fatal(err)
		}
		if len(s.Requests()) == 0 {
			t.Errorf("the byte at %d was kept", at)
		}
	}
}

// TestReadersShare checks that a handle may be read by several goroutines.
func TestReadersShare(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	data := noise(3 << 20)
	s.Put("p/x", data)
	h, err := open(t, s.URL("p"), hasty).Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			from := int64(n) << 18
			got, err := io.ReadAll(io.NewSectionReader(h, from, 1<<40))
			if err != nil || !bytes.Equal(got, data[from:]) {
				t.Error(n, len(got), err)
			}
		})
	}
	wg.Wait()
}

// TestReplaced checks that bytes of two versions of an object are never mixed, whether or not the store knows If-Match.
func TestReplaced(t *testing.T) {
	t.Parallel()
	for _, knows := range []bool{true, false} {
		t.Run(fmt.Sprint(knows), func(t *testing.T) {
			t.Parallel()
			s := buckettest.New(t)
			s.Put("p/x", noise(4<<20))
			h, err := open(t, s.URL("p"), hasty).Open(t.Context(), "x")
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			p := make([]byte, 1000)
			if _, err := h.ReadAt(p, 0); err != nil {
				t.Fatal(err)
			}
			if !knows {
				s.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					r.Header.Del("If-Match")
					next.ServeHTTP(w, r)
				})
			}
			s.Put("p/x", bytes.Repeat([]byte("new "), 1<<20))
			if n, err := h.ReadAt(p, 3<<20); n != 0 || !errors.Is(err, source.ErrReplaced) {
				t.Error(n, err)
			}
			s.Remove("p/x")
			if n, err := h.ReadAt(p, 3<<20); n != 0 || !errors.Is(err, source.ErrRemoved) {
				t.Error("removed:", n, err)
			}
		})
	}
}

// answers makes the store answer all requests with a status.
func answers(status int, code string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { buckettest.Refuse(w, status, code) }
}

// TestFailures checks the kinds of errors, and that errors that pass are tried again.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		hook       func(http.ResponseWriter, *http.Request, http.Handler)
		look, read error
		attempts   int
	}{
		{"forbidden", answers(403, "AccessDenied"), fs.ErrPermission, catalog.ErrDenied, 1},
		{"gone", answers(404, "NoSuchKey"), fs.ErrNotExist, source.ErrRemoved, 1},
		{"no range", answers(416, "InvalidRange"), source.ErrStore, source.ErrStore, 1},
		{"slow down", answers(503, "SlowDown"), source.ErrStore, source.ErrStore, 3},
		{"broken", answers(500, "InternalError"), source.ErrStore, source.ErrStore, 3},
		{"elsewhere", answers(301, "PermanentRedirect"), source.ErrStore, source.ErrStore, 1},
		{"expired", answers(400, "ExpiredToken"), source.ErrStore, // without a code, as a HEAD has no body
			catalog.ErrDenied, 1},
		{"no S3", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			_, _ = w.Write([]byte("<html>welcome</html>"))
		}, source.ErrStore, source.ErrStore, 0},
		{"hangs up", func(http.ResponseWriter, *http.Request, http.Handler) {
			panic(http.ErrAbortHandler)
		}, source.ErrStore, source.ErrStore, 0},
		{"the whole object", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			r.Header.Del("Range")
			next.ServeHTTP(w, r)
		}, nil, source.ErrStore, 1},
		{"a short body", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(&short{w, 1000}, r)
		}, nil, source.ErrStore, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := buckettest.New(t)
			s.Put("p/x", noise(1<<20))
			b := open(t, s.URL("p"), hasty)
			h, err := b.Open(t.Context(), "x")
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			s.Requests()
			s.Hook(c.hook)
			_, err = h.ReadAt(make([]byte, 100_000), 1000)
			if !errors.Is(err, c.read) {
				t.Errorf("reading: %v", err)
			}
			if n := len(s.Requests()); c.attempts > 0 && n != c.attempts && n != 2*c.attempts {
				t.Errorf("%d attempts to read", n)
			}
			if _, err = b.Stat(t.Context(), "x"); !errors.Is(err, c.look) {
				t.Errorf("looking up: %v", err)
			}
			if strings.Contains(fmt.Sprint(err), "of the store") || strings.Contains(fmt.Sprint(err), "127.0.0.1") {
				t.Errorf("the error repeats the answer: %v", err)
			}
			if c.look == nil {
				return
			}
			if _, err = list(t, b, "."); err == nil {
				t.Error("listing: no error")
			}
		})
	}
}

// short is a body that ends early.
type short struct {
	http.ResponseWriter
	left int
}

func (s *short) Write(p []byte) (int, error) {
	if len(p) > s.left {
		_, _ = s.ResponseWriter.Write(p[:s.left])
		_ = http.NewResponseController(s.ResponseWriter).Flush() // else the transport tries again by itself
		panic(http.ErrAbortHandler)
	}
	s.left -= len(p)
	return s.ResponseWriter.Write(p)
}

// TestRecovers checks that a store that fails now and then costs nothing but time.
func TestRecovers(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	data := noise(2 << 20)
	s.Put("p/x", data)
	var n atomic.Int64
	s.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		switch n.Add(1) % 4 {
		case 0:
			buckettest.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
		case 1:
			next.ServeHTTP(&short{w, 1000}, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
	o := hasty
	o.Attempts = 10
	h, err := open(t, s.URL("p"), o).Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if got, err := io.ReadAll(io.NewSectionReader(h, 0, 1<<40)); err != nil || !bytes.Equal(got, data) {
		t.Error(len(got), err)
	}
}

// TestSilence checks that a store that stops answering fails a read within the budget, and that closing ends it at once.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	s.Put("p/x", noise(1<<20))
	o := bucket.Options{Attempts: 100, Pause: time.Millisecond, Silence: 50 * time.Millisecond, Budget: 300 * time.Millisecond}
	h, err := open(t, s.URL("p"), o).Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	patient, err := open(t, s.URL("p"), bucket.Options{}).Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	s.Hook(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() })
	if _, err := h.ReadAt(make([]byte, 10), 0); !errors.Is(err, source.ErrStore) {
		t.Error(err)
	}
	read := make(chan error)
	go func() {
		_, err := patient.ReadAt(make([]byte, 10), 0)
		read <- err
	}()
	if err := patient.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestClose checks that closing an object ends reads of it, and that no request begins after it.
func TestClose(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	s.Put("p/x", noise(1<<20))
	b := open(t, s.URL("p"), hasty)
	for i := range 50 {
		h, err := b.Open(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan error)
		go func() {
			_, err := h.ReadAt(make([]byte, 10), 0)
			read <- err
		}()
		time.Sleep(time.Duration(i%10) * 20 * time.Microsecond) // so that the read begins before, meanwhile or after
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		s.Requests()
		_, later := h.ReadAt(make([]byte, 10), 500_000)
		if n := len(s.Requests()); !errors.Is(later, context.Canceled) || n > 0 {
			t.Errorf("%d requests after an object was closed, %v", n, later)
		}
		if err := <-read; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
