package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLibraries: the program is without the libraries of buckets and NATS, which are a fifth of replayd-fleet.
func TestLibraries(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.Lines(string(list)) {
		if strings.Contains(name, "nats-io") || strings.Contains(name, "aws-sdk") {
			t.Errorf("replayd has %s", strings.TrimSpace(name))
		}
	}
	if n := strings.Count(string(list), "\n"); n < 100 {
		t.Errorf("only %d packages were looked at", n)
	}
}
