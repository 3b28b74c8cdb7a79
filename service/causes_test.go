package service

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestViews: each view of the API is known.
func TestViews(t *testing.T) {
	for n, name := range replaydv1.ReplayView_name {
		if has := views[replaydv1.ReplayView(n)] != nil; has != (n != 0) {
			t.Errorf("%s is known: %v", name, has)
		}
	}
}

// noCause lists errors of the packages below that never reach a client unchanged, with the place where they are handled.
var noCause = map[string]string{
	"catalog.ErrOutside":      "reported as catalog.ErrNotFound",
	"source.ErrIrregular":     "reported as catalog.ErrNotFound",
	"catalog.ErrAlias":        "of the command line",
	"catalog.ErrName":         "a bad request, by fieldOf",
	"catalog.ErrToken":        "a bad request, by fieldOf",
	"catalog.ErrNotDirectory": "a bad request, by fieldOf",
	"source.ErrDirectory":     "a bad request, by fieldOf",
	"source.ErrOverwritten":   "is a source.ErrShrunk",
	"stream.ErrComplete":      "between a Follower and its stream",
	"stream.ErrSucceeded":     "between a Follower and its stream",
	"index.ErrToken":          "is catalog.ErrToken",
	"index.ErrLineage":        "of the command line",
	"decoders.ErrMore":        "between a decoder and its reader",
	"decoders.ErrWindow":      "wrapped by decoders in a decoders.ErrLimit",
}

// TestCauses: each exported error of the packages below has a status, or a reason why it needs none.
func TestCauses(t *testing.T) {
	text, err := os.ReadFile("status.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "var causes =")
	declared := regexp.MustCompile(`(?m)^\s*(?:var )?(Err\w+)\s*=`)
	known := 0
	for dir, pkg := range map[string]string{
		"../decoders": "decoders", "catalog": "catalog", "../replay/cursor": "cursor", "index": "index", "../replay/source": "source", "stream": "stream",
	} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range declared.FindAllSubmatch(text, -1) {
				name := pkg + "." + string(match[1])
				if listed := strings.Contains(table, "{"+name+","); listed == (noCause[name] != "") {
					t.Errorf("%s has a status: %v; and a reason to have none: %q", name, listed, noCause[name])
				}
				known++
			}
		}
	}
	if known < 20 {
		t.Errorf("only %d errors were found", known)
	}
}
