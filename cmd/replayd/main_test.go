package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be the program, where it is called by its name.
func TestMain(m *testing.M) {
	testscript.Main(cleaning{m}, map[string]func(){"replayd": main, bareProgram: bare})
}

// cleaning removes what tests share.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	defer func() {
		if builtIn != "" {
			_ = os.RemoveAll(builtIn)
		}
	}()
	return c.M.Run()
}
