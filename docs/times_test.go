package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// epoch is how a comment says that a number is a time of a calendar.
var epoch = regexp.MustCompile(`(?i)(seconds|units|ms|ns|µs)\b[^.]* since (the year )?(1|2)\d\d\d|\bepoch\b|\bunix\b`)

// TestTimesAreTimestamps: a time of a calendar is a google.protobuf.Timestamp, and no number whose unit and beginning each program must
// know. A field's own comment says why it is an exception.
func TestTimesAreTimestamps(t *testing.T) {
	seen := 0
	files, err := filepath.Glob(filepath.Join(root, "proto", "replayd", "*", "v1", "*.proto"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob(filepath.Join(root, "proto", "replayd", "v1", "*.proto"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, own...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		comment := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if said, ok := strings.CutPrefix(line, "//"); ok {
				comment += said
				continue
			}
			if strings.Contains(line, "google.protobuf.Timestamp ") {
				seen++
			} else if epoch.MatchString(comment) && !strings.Contains(comment, "neither a duration nor a timestamp") {
				t.Errorf("%s: %s: %s", path, line, comment)
			}
			comment = ""
		}
	}
	if seen < 8 {
		t.Errorf("%d timestamps", seen)
	}
}
