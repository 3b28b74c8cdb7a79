package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary act as the program when it is called by the program's name.
func TestMain(m *testing.M) {
	testscript.Main(cleaning{m}, map[string]func(){"replayd": main, bareProgram: bare})
}

// cleaning runs the tests and then removes the program that they built.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	defer func() {
		if builtIn != "" {
			_ = os.RemoveAll(builtIn)
		}
	}()
	return c.M.Run()
}
