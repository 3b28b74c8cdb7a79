package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFrozenAPI checks that `make lint` would notice changes of the .proto files that break clients: buf compares them with the image
// in testdata/compat. An addition passes.
func TestFrozenAPI(t *testing.T) {
	buf, err := filepath.Abs(filepath.Join(root, ".cache", "bin", "buf"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(buf); err != nil {
		t.Skip("no buf: make .cache/bin/buf")
	}
	image, err := filepath.Abs(filepath.Join(root, "testdata", "compat", "api.binpb"))
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]struct{ file, from, to, finding string }{
		"nothing":             {},
		"a field is added":    {"stream.proto", "message Heartbeat {", "message Heartbeat {\n  // New.\n  int32 added = 1000;", ""},
		"a field is removed":  {"stream.proto", "  string server_version = 5;\n", "", "server_version"},
		"a field gets a type": {"stream.proto", "int64 bytes_read = 1;", "string bytes_read = 1;", "bytes_read"},
		"a value is removed":  {"stream.proto", "  END_REASON_REMOVED = 7;\n", "", "EndReason"},
		"a method is removed": {"service.proto", "  rpc GetServerInfo(GetServerInfoRequest) returns (GetServerInfoResponse) {\n    option idempotency_level = NO_SIDE_EFFECTS;\n  }\n", "", "GetServerInfo"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, "proto"), os.DirFS(filepath.Join(root, "proto"))); err != nil {
			t.Fatal(err)
		}
		config, err := os.ReadFile(filepath.Join(root, "buf.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "buf.yaml"), config, 0o600); err != nil {
			t.Fatal(err)
		}
		if change.file != "" {
			path := filepath.Join(dir, "proto", "replayd", "v1", change.file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), change.from, change.to, 1)
			if changed == string(text) {
				t.Fatalf("%s: %q is not there", what, change.from)
			}
			if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), buf, "breaking", "--against", image)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if (err != nil) != (change.finding != "") || !strings.Contains(string(out), change.finding) {
			t.Errorf("%s: %v: %s", what, err, out)
		}
	}
}
