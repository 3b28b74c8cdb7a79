package ddnet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
)

// ErrUnavailable means that this machine has no DDNet server, and that none can
// be installed. Tests should be skipped then.
var ErrUnavailable = errors.New("no DDNet server here, and no root with apt-get to install one")

// program is the path of the server in Debian's ddnet-server package. The PATH
// of root seldom includes /usr/games.
const program = "/usr/games/DDNet-Server"

// programVariable is the environment variable that names another server program.
const programVariable = "REPLAYD_DDNET_SERVER"

// installing is held by the test that installs: apt-get fails while another one runs.
var installing sync.Mutex

// Install returns the path of the server program. It is the program in the
// environment variable REPLAYD_DDNET_SERVER, or the system's server. If there
// is none, Install installs Debian's ddnet-server package, which requires root
// and apt-get. Without them it returns [ErrUnavailable].
func Install(ctx context.Context) (string, error) {
	installing.Lock()
	defer installing.Unlock()
	if path, err := find(); err == nil {
		return path, nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return "", ErrUnavailable
	}
	for _, args := range [][]string{
		{"update", "-q"},
		{"install", "-q", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120", "ddnet-server"},
	} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("apt-get %s: %w\n%s", args[0], err, out)
		}
	}
	return find()
}

func find() (string, error) {
	names := []string{"DDNet-Server", program}
	if other := os.Getenv(programVariable); other != "" {
		names = []string{other}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrUnavailable
}
