package buckettest

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"testing"
	"time"
)

// motoVariable is the environment variable with the path of a moto_server (pip install 'moto[server]'), another fake of S3.
const motoVariable = "MOTO"

// moto starts a moto_server with a bucket, and returns a handler that passes requests on to it. It ends with the test.
func moto(tb testing.TB, program string) http.Handler {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	_ = l.Close()
	cmd := exec.CommandContext(tb.Context(), program, "-H", host, "-p", port)
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = cmd.Wait() }) // the context has ended by then
	at := &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		req, err := http.NewRequestWithContext(tb.Context(), http.MethodPut, at.JoinPath(Name).String(), http.NoBody)
		if err != nil {
			tb.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				tb.Fatal("moto makes no bucket:", resp.Status)
			}
			break
		}
		if time.Now().After(deadline) {
			tb.Fatal("moto does not start:", err)
		}
	}
	return &httputil.ReverseProxy{FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		if r.Out.Header.Get("Authorization") == "" { // everybody may use the bucket, as with gofakes3; moto does not look at signatures
			r.Out.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=any/20200101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=any")
		}
	}}
}
