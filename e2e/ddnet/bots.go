package ddnet

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The clients are a small Node program, which is embedded in the test binary.
//
//go:embed bots/bots.mjs bots/sixup.mjs bots/package.json bots/package-lock.json
var botsFiles embed.FS

// Bots are the clients of one server, in one separate process. They execute commands line by line. Only one goroutine at a time
// may use a Bots.
type Bots struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	answers *bufio.Reader
}

// Bots starts a process for clients of this server. It has no clients at first.
// The process is killed when the context ends.
func (s *Server) Bots(ctx context.Context) (*Bots, error) {
	dir, err := installBots(ctx)
	if err != nil {
		return nil, fmt.Errorf("installing the bots: %w", err)
	}
	cmd := exec.CommandContext(ctx, "node", filepath.Join(dir, "bots.mjs"), s.host, strconv.Itoa(s.port))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Bots{cmd: cmd, stdin: stdin, answers: bufio.NewReader(stdout)}, nil
}

// Run executes a script. Each line is a command, "BOT COMMAND [ARGUMENT...]".
// Run waits for each command before it begins the next one. It skips blank
// lines and lines that begin with #. The commands are
//
//	join, join7, leave              enter the game, also with protocol 0.7, and wait for it; leave it
//	left, right, stop               run
//	jump [off], hook [off]          hold, release
//	fire, weapon N, aim X Y
//	wander on|off                   move at random, the same way in each run
//	say TEXT                        chat; slash commands too
//	rename NAME, team N, spectate ID, emote N, kill
//	callvote TYPE VALUE REASON, vote yes|no
//	login PASSWORD, rcon COMMAND    the remote console
//
// Of these, a bot of protocol 0.7 knows leave, callvote and vote.
//
// BOT is the name that the bot joined with, or * for all bots in the game. A
// line "sleep DURATION" waits.
func (b *Bots) Run(ctx context.Context, script string) error {
	for number, line := range strings.Split(script, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := b.do(ctx, line); err != nil {
			return fmt.Errorf("script line %d, %q: %w", number+1, line, err)
		}
	}
	return nil
}

func (b *Bots) do(ctx context.Context, line string) error {
	if text, ok := strings.CutPrefix(line, "sleep "); ok {
		pause, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		select {
		case <-time.After(pause):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if _, err := io.WriteString(b.stdin, line+"\n"); err != nil {
		return err
	}
	answer, err := b.answers.ReadString('\n')
	if err != nil {
		return fmt.Errorf("no answer from the bots: %w", err)
	}
	if answer = strings.TrimSpace(answer); answer != "ok" {
		return errors.New(answer)
	}
	return nil
}

// Close ends the process. Bots still in the game do not send a disconnect, so the
// server drops them after its timeout.
func (b *Bots) Close() error {
	return errors.Join(b.stdin.Close(), b.cmd.Wait())
}

// installBots unpacks the Node program and installs its dependency, once a
// version, in the user's cache. It returns the directory.
func installBots(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	files, err := fs.Sub(botsFiles, "bots")
	if err != nil {
		return "", err
	}
	version, err := hash(files)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "replayd-e2e", "bots-"+version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	// Install into a temporary directory and rename it when complete, so that an
	// interrupted or concurrent install is never visible.
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return "", err
	}
	draft, err := os.MkdirTemp(filepath.Dir(dir), "draft-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(draft) //nolint:errcheck // Litter in a cache.
	if err := os.CopyFS(draft, files); err != nil {
		return "", err
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	npm.Dir = draft
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	if err := os.Rename(draft, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}

// hash names a version of the program.
func hash(files fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:6]), err
}
