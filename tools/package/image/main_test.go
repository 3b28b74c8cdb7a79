package main

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// write makes the files of a context, each with its name in it, and returns the directory. Programs may be run.
func write(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o600)
		if strings.HasPrefix(filepath.Base(name), "replayd") {
			mode = 0o700
		}
		if err := os.WriteFile(path, []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func dockerfile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Dockerfile")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// files returns what an image has, by name.
func files(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	found := map[string]string{}
	content := mutate.Extract(image)
	defer content.Close()
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.Mode&0o022 != 0 {
			t.Errorf("%s may be written by others than root: %o, %d", header.Name, header.Mode, header.Uid)
		}
		if program := header.Mode&0o111 != 0; program != strings.HasPrefix(header.Name, "replayd") {
			t.Errorf("%s may be run: %v", header.Name, program)
		}
		found[header.Name] = string(text)
	}
}

// TestReleased: the image of a release is what its Dockerfile says: three programs, two texts, nobody as its user, and a health check.
func TestReleased(t *testing.T) {
	context := write(t, "LICENSE", "THIRD_PARTY_NOTICES.md", "linux/amd64/replayd", "linux/arm64/replayd",
		"linux/amd64/replayd-fleet", "linux/arm64/replayd-fleet", "linux/amd64/replayd-ship", "linux/arm64/replayd-ship", "left.out")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	ref := strings.TrimPrefix(server.URL, "http://") + "/replayd/replayd:v1.2.3"
	var digests []string
	var to string
	for range 2 {
		to = t.TempDir()
		var out bytes.Buffer
		args := []string{"-context", context, "-o", to, "-time", "1000", "-label", "org.opencontainers.image.version=v1.2.3", "-push", ref}
		if err := run(append(args, filepath.Join("..", "..", "..", "packaging", "Dockerfile")), &out); err != nil {
			t.Fatal(err)
		}
		digests = append(digests, out.String())
	}
	if digests[0] != digests[1] {
		t.Errorf("the same files give %s and %s", digests[0], digests[1])
	}
	outer, err := layout.ImageIndexFromPath(to)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Error(err)
	}
	parsed, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	published, err := remote.Index(parsed)
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := published.Digest(); err != nil || digest.String()+"\n" != digests[0] {
		t.Errorf("published is %v (%v), and made was %s", digest, err, digests[0])
	}
	manifest, err := published.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 2 {
		t.Fatalf("%d images", len(manifest.Manifests))
	}
	for i, arch := range []string{"amd64", "arm64"} {
		descriptor := manifest.Manifests[i]
		if descriptor.Platform.String() != "linux/"+arch {
			t.Errorf("the platform is %s", descriptor.Platform)
		}
		image, err := published.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		file, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if file.OS != "linux" || file.Architecture != arch {
			t.Errorf("the image is for %s/%s", file.OS, file.Architecture)
		}
		if config := file.Config; config.User != "65534:65534" || !slices.Equal(config.Entrypoint, []string{"/replayd"}) ||
			!slices.Equal(config.Cmd, []string{"serve"}) || config.Healthcheck == nil ||
			!slices.Equal(config.Healthcheck.Test, []string{"CMD", "/replayd", "health"}) ||
			config.Labels["org.opencontainers.image.version"] != "v1.2.3" ||
			config.Labels["org.opencontainers.image.description"] != "Streams what happened in game replays as typed events" {
			t.Errorf("its configuration is %+v", config)
		}
		if _, ok := file.Config.ExposedPorts["7171/tcp"]; !ok {
			t.Errorf("its ports are %v", file.Config.ExposedPorts)
		}
		found := files(t, image)
		if len(found) != 5 || found["replayd"] != "linux/"+arch+"/replayd" || found["replayd-fleet"] != "linux/"+arch+"/replayd-fleet" || found["replayd-ship"] != "linux/"+arch+"/replayd-ship" ||
			found["LICENSE"] != "LICENSE" {
			t.Errorf("%s has %v", arch, found)
		}
	}
}

// TestRefused: what is not understood is refused, rather than left out.
func TestRefused(t *testing.T) {
	context := write(t, "a", "dir/b")
	for text, want := range map[string]string{
		"FROM debian\n":                            "FROM scratch",
		"FROM scratch\nFROM scratch\n":             "FROM scratch",
		"FROM scratch\nRUN [\"true\"]\n":           "not understood",
		"FROM scratch\nENV A=b\n":                  "not understood",
		"FROM scratch\nCOPY --chown=1 a /a\n":      "option",
		"FROM scratch\nCOPY --from=x a /a\n":       "option",
		"FROM scratch\nCOPY a dir/b /c\n":          "directory",
		"FROM scratch\nCOPY dir /dir\n":            "not a file",
		"FROM scratch\nCOPY none /none\n":          "no such file",
		"FROM scratch\nCOPY ../x /x\n":             "outside",
		"FROM scratch\nARG VERSION\n":              "no value",
		"FROM scratch\nENTRYPOINT replayd\n":       "no shell",
		"FROM scratch\nCMD replayd\n":              "no shell",
		"FROM scratch\nNONSENSE\n":                 "NONSENSE",
		"FROM scratch\nCOPY <<end /a\ntext\nend\n": "option",
	} {
		err := run([]string{"-context", context, "-o", t.TempDir(), dockerfile(t, text)}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
