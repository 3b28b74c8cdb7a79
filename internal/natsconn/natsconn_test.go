package natsconn_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/internal/natsconn"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"nats://a:4222":                         "nats://a:4222/",
		"NATS://a":                              "nats://a/",
		"nats://a:4222,b:4223/live-2":           "nats://a:4222,nats://b:4223/live-2",
		"tls://[::1]:4222/x?source=y&source=z":  "tls://[::1]:4222/x",
		"nats://a?archive=s3%3A%2F%2Fbucket%2F": "nats://a/",
		"tls://a/x?server=b&server=c:4223":      "tls://a,tls://b,tls://c:4223/x",
	} {
		p, err := natsconn.Parse(text)
		if err != nil || p.String() != want {
			t.Errorf("%s: %s, %v", text, p, err)
		}
		if !natsconn.Is(text) {
			t.Error(text)
		}
	}
	p, err := natsconn.Parse("nats://a/live?source=x&archive=s3://bucket/path?region=eu")
	if err != nil || p.Stream != "live" || p.Values.Get("source") != "x" || p.Values.Get("archive") != "s3://bucket/path?region=eu" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, text := range []string{
		"", "nats://", "http://a", "nats://secret@a", "nats://user:secret@a:4222/x", "nats://a,secret@b", "nats://a/x/secret", "nats://a/x?%zzsecret", "nats:a",
		"nats://a:secret", "nats://a,,b", "nats://a#secret@",
		"nats://a?server=secret@b", "nats://a?server=nats://secret", "nats://a?server=",
	} {
		if p, err := natsconn.Parse(text); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
}

func TestConflict(t *testing.T) {
	api := func(code jetstream.ErrorCode) error {
		return fmt.Errorf("x: %w", &jetstream.APIError{Code: 400, ErrorCode: code})
	}
	for what, test := range map[string]struct {
		err  error
		want bool
	}{
		"of a stream":            {api(10071), true},
		"of a replicated stream": {api(10164), true},
		"another code":           {api(10077), false},
		"another error":          {io.EOF, false},
		"of two":                 {errors.Join(io.EOF, api(10164)), true},
		"none":                   {nil, false},
	} {
		if got := natsconn.Conflict(test.err); got != test.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestPublic: an error that anybody may read says what is wrong, and never which server, user, file or stream it is about.
func TestPublic(t *testing.T) {
	const secret = "secret"
	for says, err := range map[string]error{
		"credentials":      fmt.Errorf("%s: %w", secret, nats.ErrAuthorization),
		"cannot be":        &net.OpError{Op: "dial", Net: secret, Err: errors.New(secret)},
		"no JetStream":     fmt.Errorf("%s: %w", secret, nats.ErrNoResponders),
		"the log says":     &jetstream.APIError{Code: 500, Description: secret},
		"NATS refuses a r": errors.New(secret),
	} {
		if text := natsconn.Public(err).Error(); !strings.Contains(text, says) || strings.Contains(text, secret) {
			t.Errorf("%v: %s, want %s", err, text, says)
		}
	}
	if text := natsconn.Explain(errors.New(secret)).Error(); !strings.Contains(text, secret) {
		t.Error("the log lacks what is wrong:", text)
	}
}
