// Package packaging_test tests what a release is installed by.
package packaging_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// archive returns an archive as a release has it, whose program says a version.
func archive(t *testing.T, name, version string) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	out := tar.NewWriter(zipped)
	for _, f := range []struct {
		path, text string
		mode       int64
	}{
		{"replayd", "#!/bin/sh\necho replayd " + version + "\n", 0o755},
		{"replayd-fleet", "fleet", 0o755},
		{"man/replayd.1", "manual", 0o644},
		{"completion/replayd.bash", "bash", 0o644},
		{"completion/replayd.zsh", "zsh", 0o644},
		{"completion/replayd.fish", "fish", 0o644},
		{"README.md", "read me", 0o644},
	} {
		if err := out.WriteHeader(&tar.Header{Name: strings.TrimSuffix(name, ".tar.gz") + "/" + f.path, Mode: f.mode, Size: int64(len(f.text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(f.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// TestInstall runs the script as users do, against a server with releases that are sound, damaged, and not listed.
func TestInstall(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("there are archives for Linux and macOS alone")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	name := func(version string) string {
		return fmt.Sprintf("replayd_%s_%s_%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)
	}
	sum := func(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }
	first, second := archive(t, name("0.1.0"), "v0.1.0"), archive(t, name("0.2.0"), "v0.2.0")
	other := sum(nil) + "  replayd_0.2.0_plan9_mips.tar.gz\n" + sum(nil) + "  replayd-0.2.0-py3-none-any.whl\n"
	var sums atomic.Value // of the newest release, a text
	sums.Store("")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files := map[string]string{
			"/latest/download/SHA256SUMS": sums.Load().(string), "/latest/download/" + name("0.2.0"): string(second),
			"/download/v0.1.0/SHA256SUMS": other + sum(first) + "  " + name("0.1.0") + "\n", "/download/v0.1.0/" + name("0.1.0"): string(first),
		}
		text, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	prefix := t.TempDir()
	home, script := filepath.Join(prefix, "home"), "install.sh"
	run := func(args ...string) (string, error) {
		cmd := exec.Command("sh", append([]string{script}, args...)...)
		cmd.Env = append(os.Environ(), "REPLAYD_RELEASES="+server.URL, "HOME="+home, "TMPDIR="+prefix)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	installed := func() (files []string) {
		if err := filepath.WalkDir(prefix, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(prefix, path)
				files = append(files, rel)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return files
	}

	listed := "  " + name("0.2.0") + "\n"
	for what, c := range map[string]struct {
		sums, want string
		args       []string
	}{
		"a wrong sum":          {other + strings.Repeat("0", 64) + listed, "has the SHA-256 sum " + sum(second) + ", and should have 000", nil},
		"no sum":               {other, "lists no archive for", nil},
		"a sum too short":      {sum(second)[1:] + listed, "lists no archive for", nil},
		"two archives":         {sum(second) + listed + sum(first) + "  " + name("0.1.0") + "\n", "lists more than one archive", nil},
		"an archive elsewhere": {sum(second) + "  ../" + name("0.2.0") + "\n", "lists no archive for", nil},
		"no archive":           {sum(second) + "  " + name("0.3.0") + "\n", name("0.3.0") + " cannot be fetched", nil},
		"no release":           {"", "/download/v9.9.9/SHA256SUMS cannot be fetched", []string{"--version", "9.9.9"}},
		"another flag":         {"", "want --version VERSION and --prefix DIR, and not --help", []string{"--help"}},
		"a flag's value":       {"", "--version needs a value", []string{"--version"}},
	} {
		sums.Store(c.sums)
		if out, err := run(append([]string{"--prefix", prefix}, c.args...)...); err == nil || !strings.Contains(out, "replayd is not installed: ") || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v: %s", what, err, out)
		}
		if files := installed(); len(files) > 0 {
			t.Errorf("%s: left %s", what, files)
		}
	}

	sums.Store(other + sum(second) + listed)
	for _, c := range []struct {
		version string
		args    []string
	}{{"v0.1.0", []string{"--version", "v0.1.0"}}, {"v0.2.0", nil}, {"v0.1.0", []string{"--version", "0.1.0"}}} {
		out, err := run(append([]string{"--prefix", prefix}, c.args...)...)
		if err != nil || !strings.HasPrefix(out, "replayd "+c.version+" is installed: "+prefix+"/bin/replayd\n") {
			t.Errorf("%v: %v: %s", c.args, err, out)
		}
		want := []string{
			"bin/replayd", "bin/replayd-fleet", "share/bash-completion/completions/replayd", "share/fish/vendor_completions.d/replayd.fish", "share/man/man1/replayd.1",
		}
		if got := installed(); !slices.Equal(got, want) {
			t.Errorf("installed %s, want %s", got, want)
		}
	}

	// As a pipe gives it, whole and cut.
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, len("\nmain \"$@\" # at the end, so that half of a script does nothing\n"), 500} {
		cmd := exec.Command("sh", "-s", "--", "--prefix", filepath.Join(prefix, "piped"))
		cmd.Stdin = bytes.NewReader(text[:len(text)-cut])
		cmd.Env = append(os.Environ(), "REPLAYD_RELEASES="+server.URL, "TMPDIR="+prefix)
		out, err := cmd.CombinedOutput()
		_, missing := os.Stat(filepath.Join(prefix, "piped"))
		if (missing == nil) != (cut == 0) || cut == 0 && err != nil {
			t.Errorf("without the last %d bytes: %v, %v: %s", cut, err, missing, out)
		}
		if err := os.RemoveAll(filepath.Join(prefix, "piped")); err != nil {
			t.Fatal(err)
		}
	}
}
