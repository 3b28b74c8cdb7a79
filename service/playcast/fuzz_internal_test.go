package playcast

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/dem/broadcast"
)

// FuzzPush: whatever a server or a player sends to a relay has one of the answers of a relay, and nothing is taken without the secret.
func FuzzPush(f *testing.F) {
	start := []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	for _, secret := range []string{"correct horse", "", "wrong"} {
		f.Add("POST", "/eu1/s1t1/0/start?tps=64&map=de_dust2&protocol=5", secret, "", start)
		f.Add("POST", "/a/base/eu1/s1t1/1/full?tick=64", secret, "1000", start)
		f.Add("POST", "/eu1/s1t1/1/delta?endtick=128&final=1", secret, "-1", []byte{})
	}
	f.Add("GET", "/eu1/sync?fragment=1", "", "", []byte(nil))
	f.Add("HEAD", "/eu1/s1t1/sync", "", "", []byte(nil))
	f.Add("GET", "/eu1/s1t1/0/start", "", "", []byte(nil))
	f.Add("DELETE", "//", "", "", []byte(nil))
	answers := []int{
		http.StatusOK, http.StatusResetContent, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusGone, http.StatusRequestEntityTooLarge,
	}
	f.Fuzz(func(t *testing.T, method, target, secret, delay string, body []byte) {
		at, err := url.ParseRequestURI(target)
		if err != nil {
			t.Skip()
		}
		relay := NewRelay([]Server{{Name: "eu1", Secret: "correct horse"}}, slog.New(slog.DiscardHandler), nil)
		for range 2 { // the second one may be sent again
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
			request.Method, request.URL = method, at
			request.Header.Set("X-Origin-Auth", secret)
			request.Header.Set("X-Origin-Delay", delay)
			w := httptest.NewRecorder()
			relay.ServeHTTP(w, request)
			if !slices.Contains(answers, w.Code) {
				t.Errorf("an answer of %d", w.Code)
			}
			taken := relay.servers["eu1"].now != nil
			if taken && (secret != "correct horse" || method != http.MethodPost || w.Code != http.StatusOK || broadcast.Check(body) != nil) {
				t.Errorf("%s %s with %q was taken, and answered by %d", method, target, secret, w.Code)
			}
		}
		w := httptest.NewRecorder()
		relay.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/eu1/sync", http.NoBody))
		if !slices.Contains(answers, w.Code) {
			t.Errorf("sync is answered by %d", w.Code)
		}
	})
}

// reply is a relay that has one answer.
type reply struct {
	code   int
	header http.Header
	body   string
}

// RoundTrip implements http.RoundTripper.
func (a reply) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.code, Status: http.StatusText(a.code), Header: a.header, ContentLength: -1, Request: request,
		Body: io.NopCloser(strings.NewReader(a.body)),
	}, nil
}

// FuzzSync: whatever a relay answers to sync, the place leads nowhere else, and no request leaves the broadcast.
func FuzzSync(f *testing.F) {
	f.Add(200, "", `{"tick":1,"rtdelay":1,"rcvage":1,"fragment":30,"signup_fragment":0,"tps":64,"keyframe_interval":3,"protocol":5}`)
	f.Add(200, "", `{"protocol":5,"token_redirect":"s1t1/a"}`)
	f.Add(200, "", `{"protocol":5,"token_redirect":"../../admin"}`)
	f.Add(200, "", `{"protocol":4}`)
	f.Add(200, "", `{"fragment":-1,"protocol":5,"tps":1e400}`)
	f.Add(302, "http://127.0.0.1/sync", "")
	f.Add(302, "/tv/../admin", "")
	f.Add(302, "/tv/other", "")
	f.Add(404, "", "")
	f.Fuzz(func(t *testing.T, code int, location, body string) {
		r := newRemote(&url.URL{Scheme: "http", Host: "relay.example", Path: "/tv"}, nil, 0, "test")
		a := reply{code, http.Header{}, body}
		if location != "" {
			a.header.Set("Location", location)
		}
		asked := 0
		r.client.Transport = observed{a, func(at *url.URL) {
			if asked++; asked > 1+maxRedirect || at.Host != "relay.example" || at.Scheme != "http" || !strings.HasPrefix(path.Clean(at.Path), "/tv/") {
				t.Errorf("request %d is of %s", asked, at)
			}
		}}
		p, err := r.sync(t.Context(), next{})
		if err != nil {
			return
		}
		if p.Fragment < 0 || p.SignupFragment < 0 || p.interval() <= 0 {
			t.Errorf("%+v", p)
		}
		asked = 0
		_, _ = r.fragment(t.Context(), p.TokenRedirect, p.Fragment, broadcast.Delta)
	})
}

// observed tells of the requests.
type observed struct {
	http.RoundTripper
	see func(*url.URL)
}

// RoundTrip implements http.RoundTripper.
func (o observed) RoundTrip(request *http.Request) (*http.Response, error) {
	o.see(request.URL)
	return o.RoundTripper.RoundTrip(request) //nolint:wrapcheck // a test's
}
