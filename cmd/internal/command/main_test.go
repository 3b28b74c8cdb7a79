package command

import (
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/replayd/replayd/cmd/internal/commandtest"
)

// replayd is a program without more than all have.
var replayd = Program{Name: "replayd"}

// TestMain makes the test binary act as the program when it is called by the program's name.
func TestMain(m *testing.M) {
	testscript.Main(cleaning{m}, map[string]func(){"replayd": func() { Main(replayd) }})
}

// cleaning runs the tests and then removes the program that they built.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	defer commandtest.RemoveBuilt()
	return c.M.Run()
}

// build returns the path of the program.
func build(t *testing.T) string {
	t.Helper()
	return commandtest.Build(t, "../../replayd", "replayd")
}

// released returns a command that runs the program as released, which starts several times faster than the test binary.
func released(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return exec.Command(build(t), args...)
}

// program returns a command that runs the test binary as the program.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return commandtest.Self(t, append([]string{"replayd"}, args...)...)
}
