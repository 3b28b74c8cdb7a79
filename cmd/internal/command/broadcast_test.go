package command

import (
	"bytes"
	"strings"
	"testing"
)

// TestBroadcastFlags: mistakes in --broadcast are told before anything is opened, without the URL, which may have secrets.
func TestBroadcastFlags(t *testing.T) {
	const secret = "1234_salt"
	for _, c := range []struct{ flag, want string }{
		{"live/final=ftp://example.org/" + secret, "want http://HOST/PATH"},
		{"live/final=http://user:" + secret + "@example.org/", "credentials"},
		{"live/final=http://%zz" + secret, "no URL"},
		{"live=http://example.org/" + secret, "want ALIAS/PATH=URL"},
		{"http://example.org/" + secret, "want ALIAS/PATH=URL"},
		{"other/final=http://example.org/" + secret, "no --root"},
		{"live/../final=http://example.org/" + secret, "no path"},
		{"live/.hidden=http://example.org/" + secret, "no path"},
		{"live/=http://example.org/" + secret, "no path"},
		{"--broadcast-listen 127.0.0.1:0", "need each other"},
		{"--broadcast-servers x", "need each other"},
		{"--broadcast-into live/x", "needs --broadcast-listen or --broadcast-allow"},
		{"--broadcast-allow http://example.org/*", "need --broadcast-into"},
		{"--broadcast-allow *.example.org/* --broadcast-into live/x", "want http://HOST/PATH"},
		{"--broadcast-listen :7180 --broadcast-servers x --broadcast-into live/x", "can be reached from other machines"},
		{"--broadcast-listen 127.0.0.1:0 --broadcast-servers x --broadcast-into other/x", "no --root"},
		{"--broadcast-listen 127.0.0.1:0 --broadcast-servers x --broadcast-into live", "no path"},
	} {
		var out, errs bytes.Buffer
		args := []string{"serve", "--root", "live=" + t.TempDir(), "--listen", "127.0.0.1:0", "--web-listen", "none"}
		if strings.HasPrefix(c.flag, "--") {
			args = append(args, strings.Fields(c.flag)...)
		} else {
			args = append(args, "--broadcast", c.flag)
		}
		code := Program{}.Run(t.Context(), args, Console{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != ExitUsage || !strings.Contains(errs.String(), c.want) || strings.Contains(errs.String(), secret) {
			t.Errorf("%s: %d, %s", c.flag, code, &errs)
		}
	}
}
