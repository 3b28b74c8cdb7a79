package replayd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Local is a client of a daemon of its own, which [Open] has started.
type Local struct {
	*Client
	// Name is the name of the file that was opened, for requests.
	Name string

	end func() error
}

const (
	startTimeout = time.Minute      // the daemon needs some hundredths of a second
	endTimeout   = 10 * time.Second // after which the daemon is killed
	localRoot    = "local"
)

// Open returns a client for a local file or directory. It needs no running daemon: it starts one for this file alone, which
// [Local.Close] ends. ctx limits only the start.
//
// [Local.Name] is the name of the file for requests. Names of other replays in its directory begin with "local/".
//
// The program replayd must be in the PATH, or the environment variable REPLAYD must have its path. Otherwise the error says so,
// and is an [exec.ErrNotFound]. For a missing file it is the error of [os.Stat]. The daemon listens at a socket that only this
// user can reach, and ends when this process does, even if it is killed.
func Open(ctx context.Context, path string, opts ...Option) (*Local, error) {
	binary, err := findProgram()
	if err != nil {
		return nil, err
	}
	file, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("replayd: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("replayd: %w", err)
	}
	dir, name := file, localRoot
	if !info.IsDir() {
		dir, name = filepath.Dir(file), localRoot+"/"+filepath.Base(file)
	}
	daemon, err := startProgram(ctx, binary, dir)
	if err != nil {
		return nil, err
	}
	client, err := Dial(daemon.address(), opts...)
	if err != nil {
		return nil, errors.Join(err, daemon.stop())
	}
	end := func() error { return errors.Join(client.Close(), daemon.stop()) }
	return &Local{Client: client, Name: name, end: sync.OnceValue(end)}, nil
}

// Close closes the connection, ends the daemon and waits for it. Calls and streams in progress end with an error. Further calls
// of Close do nothing and return the same result.
func (l *Local) Close() error { return l.end() }

// findProgram returns the absolute path of the daemon's program.
func findProgram() (string, error) {
	given := os.Getenv("REPLAYD")
	path := given
	if given == "" {
		path = "replayd"
	}
	found, err := exec.LookPath(path)
	switch {
	case err == nil:
		return filepath.Abs(found)
	case given != "":
		return "", fmt.Errorf("replayd: $REPLAYD is %q, which is no program: set it to the path of replayd: %w", given, exec.ErrNotFound)
	}
	return "", fmt.Errorf("replayd: the program replayd is not in the PATH: install it (https://github.com/replayd/replayd), or set "+
		"$REPLAYD to its path, or use Dial with a daemon that runs elsewhere: %w", exec.ErrNotFound)
}

// program is a daemon with one root. It listens at a socket in a directory of its own, which only this user can read.
type program struct {
	dir    string
	stdin  io.Closer // the daemon ends when it is closed
	exited chan struct{}
	kill   func() error
}

func (p *program) socket() string  { return filepath.Join(p.dir, "socket") }
func (p *program) log() string     { return filepath.Join(p.dir, "log") }
func (p *program) address() string { return "unix:" + p.socket() }

// startProgram starts a daemon and waits until it listens.
func startProgram(ctx context.Context, binary, root string) (*program, error) {
	dir, err := os.MkdirTemp("", "replayd-")
	if err != nil {
		return nil, fmt.Errorf("replayd: %w", err)
	}
	p := &program{dir: dir, exited: make(chan struct{})}
	// The root is the working directory, because --root is a list and the directory's name may have commas.
	cmd := exec.Command(binary, "serve", "--root", localRoot+"=.", "--listen", p.address(), "--web-listen", "none", //nolint:noctx,gosec // it outlives ctx; the user names the program
		"--survey-budget", "0", "--log-level", "error", "--drain-timeout", "1s", "--until-stdin-ends")
	cmd.Dir = root
	// Variables that begin with REPLAYD_ are flags of the user's own daemon.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "REPLAYD_") })
	if err := p.run(cmd); err != nil {
		return nil, errors.Join(fmt.Errorf("replayd: %w", err), os.RemoveAll(dir))
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.wait(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("replayd: %s does not start: %w%s", binary, err, p.printed()), p.stop())
	}
	return p, nil
}

func (p *program) run(cmd *exec.Cmd) error {
	log, err := os.Create(p.log())
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the daemon writes it, not this process
	cmd.Stderr = log
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.kill = cmd.Process.Kill
	go func() {
		_ = cmd.Wait() // its status does not matter: it was told to end, or does not listen
		close(p.exited)
	}()
	return nil
}

// wait waits until the daemon listens.
func (p *program) wait(ctx context.Context) error {
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "unix", p.socket())
		if err == nil {
			return conn.Close()
		}
		select {
		case <-p.exited:
			return errors.New("it has ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// printed returns the end of the daemon's output, for an error.
func (p *program) printed() string {
	const most = 2000
	text, _ := os.ReadFile(p.log())
	if text = bytes.TrimSpace(text[max(0, len(text)-most):]); len(text) == 0 {
		return ""
	}
	return ": " + string(text)
}

// stop ends the daemon and waits for it.
func (p *program) stop() error {
	_ = p.stdin.Close()
	select {
	case <-p.exited:
	case <-time.After(endTimeout):
		_ = p.kill()
		<-p.exited
	}
	return os.RemoveAll(p.dir)
}
