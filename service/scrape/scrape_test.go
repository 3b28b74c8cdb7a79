package scrape_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/replayd/replayd/internal/certtest"
	"github.com/replayd/replayd/internal/freeport"
	"github.com/replayd/replayd/service/scrape"
)

// TestServe: metrics need a token, and health says why the program is not well.
func TestServe(t *testing.T) {
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("a-token-that-is-long-enough-for-it\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := scrape.Flags{Listen: addr, TokenFile: tokens}
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "replayd_test", Help: "A test."}))
	var unwell error
	stop, err := f.Serve(t.Context(), reg, func(context.Context) error { return unwell }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	get := func(path, token string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if code, text := get("/metrics", "a-token-that-is-long-enough-for-it"); code != http.StatusOK || !strings.Contains(text, "replayd_test 0") {
		t.Error(code, text)
	}
	if code, text := get("/metrics", ""); code != http.StatusUnauthorized {
		t.Error("without a token:", code, text)
	}
	if code, text := get("/healthz", ""); code != http.StatusOK || text != "ok\n" {
		t.Error(code, text)
	}
	unwell = errors.New("NATS cannot be reached")
	if code, text := get("/healthz", ""); code != http.StatusServiceUnavailable || text != "NATS cannot be reached\n" {
		t.Error(code, text)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestTLS: with a certificate metrics are served by TLS alone, and with one of an authority to the clients that it knows. A certificate that is
// exchanged is the one that new connections get.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	certify := func(name string) tls.Certificate {
		t.Helper()
		cert, key, err := certtest.SelfSigned(name)
		if err := errors.Join(err, os.WriteFile(path("cert.pem"), cert, 0o600), os.WriteFile(path("key.pem"), key, 0o600)); err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	known := certify("first")
	if err := os.Link(path("cert.pem"), path("ca.pem")); err != nil {
		t.Fatal(err)
	}
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	f := scrape.Flags{Listen: addr, TLSCert: path("cert.pem"), TLSKey: path("key.pem"), ClientCA: path("ca.pem")}
	stop, err := f.Serve(t.Context(), prometheus.NewRegistry(), func(context.Context) error { return nil }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	// server returns the name of the certificate of the server, or the error of a request.
	server := func(scheme string, own ...tls.Certificate) (string, error) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: own}}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+addr+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return "", errors.New(response.Status)
		}
		return response.TLS.PeerCertificates[0].Subject.CommonName, nil
	}
	if name, err := server("https", known); err != nil || name != "first" {
		t.Error(name, err)
	}
	for what, err := range map[string]error{"without TLS": second(server("http")), "without a certificate": second(server("https"))} {
		if err == nil {
			t.Error(what + " metrics are served")
		}
	}
	if err := os.Remove(path("cert.pem")); err != nil { // ca.pem stays
		t.Fatal(err)
	}
	certify("later")
	for name := "first"; name == "first"; time.Sleep(10 * time.Millisecond) {
		if name, err = server("https", known); err != nil {
			t.Fatal(err)
		}
	}
	f.Listen, f.TLSKey = "127.0.0.1:0", path("ca.pem")
	if _, err := f.Serve(t.Context(), prometheus.NewRegistry(), nil, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a certificate is no key")
	}
}

func second(_ string, err error) error { return err }

// TestCheck: what a daemon refuses is refused.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		f    scrape.Flags
		says string // empty if it is fine
	}{
		{scrape.Flags{}, ""},
		{scrape.Flags{Listen: "127.0.0.1:0"}, ""},
		{scrape.Flags{Listen: "[::1]:1"}, ""},
		{scrape.Flags{Listen: "unix:/x"}, ""},
		{scrape.Flags{Listen: ":9100", Insecure: true}, ""},
		{scrape.Flags{Listen: ":9100", TLSCert: "c", TLSKey: "k"}, ""},
		{scrape.Flags{Listen: ":9100"}, "--insecure"},
		{scrape.Flags{Listen: "0.0.0.0:9100"}, "--insecure"},
		{scrape.Flags{Listen: "unix:"}, "path"},
		{scrape.Flags{Listen: "9100"}, "HOST:PORT"},
		{scrape.Flags{TLSCert: "c"}, "together"},
		{scrape.Flags{ClientCA: "c"}, "needs"},
	} {
		err := c.f.Check()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.f, err)
		}
	}
}
