package bucket_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/fleet/bucket"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bucket.Location{
		"s3://archive":          {Bucket: "archive", Refresh: bucket.DefaultRefresh},
		"s3://archive/":         {Bucket: "archive", Refresh: bucket.DefaultRefresh},
		"s3://archive/2026/dem": {Bucket: "archive", Path: "2026/dem", Refresh: bucket.DefaultRefresh},
		"s3://archive/a%20b/?region=eu-west-1&refresh=90s": {
			Bucket: "archive", Path: "a b", Region: "eu-west-1", Refresh: 90 * time.Second,
		},
		"s3://archive?endpoint=http://127.0.0.1:9000": {
			Bucket: "archive", Endpoint: "http://127.0.0.1:9000", PathStyle: true, Refresh: bucket.DefaultRefresh,
		},
		"s3://archive?endpoint=https://s3.example.org/&path_style=false&anonymous=true": {
			Bucket: "archive", Endpoint: "https://s3.example.org", Anonymous: true, Refresh: bucket.DefaultRefresh,
		},
	} {
		got, err := bucket.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	if at, err := bucket.Parse("s3://archive/p?region=x-1&endpoint=http://h"); err != nil || at.String() != "s3://archive/p" {
		t.Error(at, err)
	}
}

// TestParseRefuses checks that invalid URLs are refused, and that the error repeats nothing of them.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const secret = "wJalrXUtnFEMI"
	for _, text := range []string{
		"http://archive", "s3:archive", "s3://", "s3://a/b#" + secret, "s3://x_" + strings.Repeat("y", 300),
		"s3://AKIA:" + secret + "@archive/p", "s3://" + secret + "@archive", "s3://archive/%zz" + secret,
		"s3://archive/a/../b", "s3://archive/a//b", "s3://archive/a%00b", `s3://archive/a\b`, "s3://archive/a%ffb",
		"s3://archive?secret_access_key=" + secret, "s3://archive?" + secret + "=1", "s3://archive?region=" + secret + "%20x",
		"s3://archive?endpoint=http://u:" + secret + "@h", "s3://archive?endpoint=ftp://" + secret,
		"s3://archive?endpoint=http://h/" + secret, "s3://archive?endpoint=http://h?" + secret,
		"s3://archive?refresh=" + secret, "s3://archive?refresh=1ms", "s3://archive?refresh=-1s", "s3://archive?anonymous=" + secret,
		"s3://archive?region=a-1&region=b-1", "s3://archive?a;b" + secret,
	} {
		_, err := bucket.Parse(text)
		if err == nil {
			t.Errorf("%s is accepted", text)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error repeats a secret: %v", text, err)
		}
	}
}
