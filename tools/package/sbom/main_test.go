package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

// TestOwn: the document of the test's own program names what is in it, with the sums that go.sum has.
func TestOwn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "sbom.json")
	if err := run([]string{"-version", "v1.2.3+dirty", "-o", to, self}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	var bom cyclonedx.BOM
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	if c := bom.Metadata.Component; c.Version != "v1.2.3+dirty" || c.PackageURL != "pkg:golang/github.com/replayd/replayd/tools/package@v1.2.3%2Bdirty" {
		t.Errorf("the program is %+v", c)
	}
	found := map[string]cyclonedx.Component{}
	for _, c := range *bom.Components {
		found[c.Name] = c
	}
	if c := found["std"]; c.Version == "" {
		t.Error("the standard library is missing")
	}
	c, ok := found["github.com/CycloneDX/cyclonedx-go"]
	if !ok || c.Hashes == nil || len((*c.Hashes)[0].Value) != 64 {
		t.Errorf("a module is %+v", c)
	}
	if _, ok := found["github.com/moby/buildkit"]; ok {
		t.Error("a module is named that is not in it")
	}
	if uses := (*bom.Dependencies)[0].Dependencies; len(*uses) != len(*bom.Components) {
		t.Errorf("%d uses, %d components", len(*uses), len(*bom.Components))
	}
}

// TestNoProgram: what is no Go program is refused.
func TestNoProgram(t *testing.T) {
	if err := run([]string{"-o", filepath.Join(t.TempDir(), "sbom.json"), "main.go"}); err == nil {
		t.Error("no error")
	}
}
