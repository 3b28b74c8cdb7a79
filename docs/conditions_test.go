package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// conditions returns the names of the lists of a filter's message and of those below it.
func conditions(of protoreflect.MessageDescriptor) (names []string) {
	for i := range of.Fields().Len() {
		switch f := of.Fields().Get(i); {
		case f.IsList():
			names = append(names, string(f.Name()))
		case f.Message() != nil:
			names = append(names, conditions(f.Message())...)
		}
	}
	return names
}

// TestConditions: each condition of filters is in every file that CONTRIBUTING.md tells to add one to, so that none is missing at
// some door, and the text names the files.
func TestConditions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Add a condition to filters\n")
	section, _, _ = strings.Cut(section, "\n## ")
	names := conditions((*replaydv1.EventFilter)(nil).ProtoReflect().Descriptor())
	if len(names) < 8 {
		t.Fatalf("EventFilter has the conditions %q", names)
	}
	doors := map[string]bool{ // which must be among the files
		"replay/filter/table.go": false, "service/plain/query.go": false, "service/streamtest/request.go": false,
		"service/streamtest/oracle.go": false, "cmd/internal/command/cat.go": false, "cmd/internal/command/explain.go": false,
		"clients/python/src/replayd/_request.py": false, "clients/typescript/src/request.ts": false,
	}
	for _, m := range code.FindAllStringSubmatch(section, -1) {
		if _, door := doors[m[1]]; !door {
			continue
		}
		doors[m[1]] = true
		file, err := os.ReadFile(filepath.Join(root, m[1]))
		if err != nil {
			t.Error(err)
		}
		for _, name := range names {
			if name != "kinds" && !regexp.MustCompile(`(?i)\b(Get)?`+name+`\b`).Match(file) {
				t.Errorf("%s has no condition %s", m[1], name)
			}
		}
	}
	for file, named := range doors {
		if !named {
			t.Errorf("the section on conditions does not name %s", file)
		}
	}
}
