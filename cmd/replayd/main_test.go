package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be the program, where it is called by its name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"replayd": main, bareProgram: bare})
}
