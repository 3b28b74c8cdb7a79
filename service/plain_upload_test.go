package service_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/service"
)

// TestPlainUnfinishedUpload: an upload without a token is answered although the rest of it never arrives.
func TestPlainUnfinishedUpload(t *testing.T) {
	dir := t.TempDir()
	g := startGuarded(t, dir, t.TempDir(), "good roots="+alias+"\n")
	conn, err := net.Dial("tcp", g.web)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "POST /v1/decode HTTP/1.1\r\nHost: "+g.web+"\r\nContent-Length: 100\r\n\r\nGET / HTTP/1.1"); err != nil {
		t.Fatal(err)
	}
	deadline, _ := timeout(t).Deadline()
	_ = conn.SetReadDeadline(deadline)
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 401 ") || strings.Count(string(answer), "HTTP/1.1 ") != 1 {
		t.Errorf("%v:\n%s", err, answer)
	}
}

// TestPlainRefusedUpload: an upload that is refused at its beginning is answered, and its connection closed without a reset, however
// much of it was sent.
func TestPlainRefusedUpload(t *testing.T) {
	d := startPlain(t, t.TempDir())
	for _, length := range []int{200 << 10, 4 << 20} {
		host := strings.TrimPrefix(d.web, "http://")
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		deadline, _ := timeout(t).Deadline()
		_ = conn.SetDeadline(deadline)
		body := append([]byte("what is this?"), make([]byte, length)...)
		if _, err := fmt.Fprintf(conn, "POST /v1/decode HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body[:160<<10]); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
			t.Errorf("%d bytes: %v:\n%s", length, err, answer)
		}
		_ = conn.Close()
	}
}

// TestPlainUploadStatus: what is wrong with an upload is the client's fault, for one to decode and for one that was stored, and what is wrong
// with a file of the daemon is not. A limit that leaves room later is 429.
func TestPlainUploadStatus(t *testing.T) {
	dir := t.TempDir()
	data := read(t, finishedSample)
	write(t, filepath.Join(dir, "cut.teehistorian"), data[:100])
	d := startPlain(t, dir, func(c *service.Config) { c.MaxUpload = 1 << 20 })
	later := bytes.Replace(data, []byte(`"version":"2"`), []byte(`"version":"9"`), 1)
	for what, test := range map[string]struct {
		body []byte
		want int
	}{
		"cut in its header":  {data[:100], http.StatusUnprocessableEntity},
		"its gzip is cut":    {decodertest.Gzip(t, data)[:100], http.StatusUnprocessableEntity},
		"its gzip is broken": {damaged(decodertest.Gzip(t, data)), http.StatusUnprocessableEntity},
		"a later version":    {later, http.StatusUnsupportedMediaType},
		"no replay":          {[]byte("what is this?"), http.StatusBadRequest},
		"too long":           {append(slices.Clone(read(t, samples("datafile", "sample.map"))), make([]byte, 2<<20)...), http.StatusRequestEntityTooLarge},
	} {
		resp := d.do(timeout(t), t, http.MethodPost, "/v1/decode", nil, bytes.NewReader(test.body))
		if body, _ := io.ReadAll(resp.Body); resp.StatusCode != test.want {
			t.Errorf("%s: %s, want %d: %s", what, resp.Status, test.want, body)
		}
	}
	if code, body := d.get(t, eventsPath(name("cut.teehistorian"), ""), nil); code != http.StatusInternalServerError {
		t.Errorf("a file of the daemon: %d %s", code, body)
	}
}

// TestPlainSmallPieces: an upload in pieces of a few bytes is decoded completely.
func TestPlainSmallPieces(t *testing.T) {
	d := startPlain(t, t.TempDir())
	data := read(t, finishedSample)
	whole := d.do(timeout(t), t, http.MethodPost, "/v1/decode", nil, bytes.NewReader(data))
	want, err := io.ReadAll(whole.Body)
	if err != nil || whole.StatusCode != http.StatusOK {
		t.Fatal(whole.Status, err)
	}
	pieces := d.do(timeout(t), t, http.MethodPost, "/v1/decode", nil, iotest.OneByteReader(bytes.NewReader(data)))
	got, err := io.ReadAll(pieces.Body)
	events, all := eventLines(linesOf(t, string(got))), eventLines(linesOf(t, string(want)))
	if err != nil || !slices.Equal(events, all) || len(all) == 0 {
		t.Errorf("%v: %d events in place of %d", err, len(events), len(all))
	}
}

// TestPlainOtherOrigins: pages of other origins, for which browsers do not ask before they send a POST, cannot upload.
func TestPlainOtherOrigins(t *testing.T) {
	d := startPlain(t, t.TempDir())
	host := strings.TrimPrefix(d.web, "http://")
	for header, want := range map[[2]string]int{
		{"Sec-Fetch-Site", "cross-site"}:    http.StatusForbidden,
		{"Origin", "https://other.example"}: http.StatusForbidden,
		{"Origin", "http://" + host}:        http.StatusOK,
		{"Sec-Fetch-Site", "same-origin"}:   http.StatusOK,
		{}:                                  http.StatusOK, // not a browser
	} {
		headers := map[string]string{}
		if header[0] != "" {
			headers[header[0]] = header[1]
		}
		resp := d.do(timeout(t), t, http.MethodPost, "/v1/decode", headers, bytes.NewReader(read(t, finishedSample)))
		if resp.StatusCode != want {
			t.Errorf("%v: %s", header, resp.Status)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
}

// TestPlainNotUTF8: text that is not UTF-8 is reported as the client's error.
func TestPlainNotUTF8(t *testing.T) {
	d := startPlain(t, t.TempDir())
	for _, path := range []string{"/v1/replays/%ff", "/v1/replays/x%ff/events", "/v1/replays?map=%ff", "/v1/replays/x/events?kind=%ff"} {
		if code, body := d.get(t, path, map[string]string{"Accept": "text/event-stream"}); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// TestPlainMalformedChunk: a body that is not written as HTTP says is the client's error, whether it is to be decoded or stored.
func TestPlainMalformedChunk(t *testing.T) {
	d := startPlain(t, t.TempDir())
	for _, path := range []string{"/v1/decode", "/v1/replays"} {
		for _, chunk := range []string{"zz\r\n", "fffffffffffffffff\r\n", "4\r\nsome of it"} {
			host := strings.TrimPrefix(d.web, "http://")
			conn, err := net.Dial("tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk); err != nil {
				t.Fatal(err)
			}
			deadline, _ := timeout(t).Deadline()
			_ = conn.SetReadDeadline(deadline)
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
				t.Errorf("%s %q: %v:\n%s", path, chunk, err, answer)
			}
			_ = conn.Close()
		}
	}
}
