package ddnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Config configures a server. Only Dir is required.
type Config struct {
	// Dir is the directory of the server's configuration, log, database and
	// recordings. It must exist. The server does not remove it.
	Dir string
	// Program is the server's path; empty means the path that [Install] returns.
	Program string
	// Name is the server's name in the recording; empty means "replayd e2e".
	Name string
	// Map is the first map; empty means [DefaultMap].
	Map string
	// Port is the UDP port on loopback; 0 means a free one.
	Port int
	// Host is the address to listen on; empty means 127.0.0.1. Two servers
	// can have the same port on two addresses, as in two containers.
	Host string
	// Settings are further configuration lines.
	Settings []string
}

const (
	// DefaultMap is the map that a server starts with. Debian ships it.
	DefaultMap = "Tutorial"
	// Password is the password of the remote console. It protects nothing,
	// because the server listens only on loopback, and only during a test.
	Password = "throwaway"
)

const (
	startTimeout = 20 * time.Second
	stopTimeout  = 10 * time.Second
	pollInterval = 10 * time.Millisecond
)

// Server is a running DDNet server. Its methods may be called from several
// goroutines, except that Stop and Kill are for one caller.
type Server struct {
	dir    string
	host   string
	port   int
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has exited
	exit   error         // how the process ended; read after exited
}

// Start runs a server and waits until it records. The context bounds only the
// start. The server runs until Stop or Kill.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	if cfg.Program == "" {
		if cfg.Program, err = Install(ctx); err != nil {
			return nil, err
		}
	}
	if cfg.Host == "" {
		cfg.Host = "127.0.0.1"
	}
	srv := &Server{dir: cfg.Dir, host: cfg.Host, port: cfg.Port, exited: make(chan struct{})}
	if srv.port == 0 {
		if srv.port, err = freePort(); err != nil {
			return nil, err
		}
	}
	if err := srv.configure(cfg); err != nil {
		return nil, err
	}
	before := len(startedLine.FindAllString(srv.Log(), -1))
	// A restarted server appends to its log.
	log, err := os.OpenFile(srv.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // The child has its own descriptor.

	srv.cmd = exec.Command(cfg.Program) //nolint:noctx // It outlives ctx.
	srv.cmd.Dir = cfg.Dir
	srv.cmd.Stdout, srv.cmd.Stderr = log, log
	if err := srv.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = srv.cmd.Wait() // the process state contains the same
		srv.exit = fmt.Errorf("server is gone: %v", srv.cmd.ProcessState)
		close(srv.exited)
	}()
	started := func() bool { return len(startedLine.FindAllString(srv.Log(), -1)) > before }
	if err := srv.wait(ctx, started); err != nil {
		return nil, errors.Join(fmt.Errorf("server did not start: %w\n%s", err, srv.tail()), srv.Kill())
	}
	return srv, nil
}

// configure writes the two files that the server reads from its directory.
func (s *Server) configure(cfg Config) error {
	if cfg.Name == "" {
		cfg.Name = "replayd e2e"
	}
	if cfg.Map == "" {
		cfg.Map = DefaultMap
	}
	lines := append([]string{
		fmt.Sprintf("sv_name %q", cfg.Name),
		fmt.Sprintf("sv_map %q", cfg.Map),
		fmt.Sprintf("sv_port %d", s.port),
		"bindaddr " + s.host,
		"sv_ipv4only 1", // otherwise the server requires an IPv6 socket too
		"sv_register 0",
		"sv_tee_historian 1",
		"sv_rcon_password " + Password,
		"sv_input_fifo " + consoleName,
		// All bots come from one address.
		"sv_max_clients_per_ip 64",
		"sv_connlimit 100",
	}, cfg.Settings...)
	for name, text := range map[string]string{
		"storage.cfg":         "add_path $CURRENTDIR\nadd_path $DATADIR\n",
		"autoexec_server.cfg": strings.Join(lines, "\n") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(cfg.Dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// TeehistorianDir is the directory that the recordings are written to.
func (s *Server) TeehistorianDir() string { return filepath.Join(s.dir, "teehistorian") }

// DemoDir is the directory of the demos that the server's command record makes.
func (s *Server) DemoDir() string { return filepath.Join(s.dir, "demos") }

// Port is the UDP port.
func (s *Server) Port() int { return s.port }

// ChangeMap loads another map, which ends the recording and begins the next
// one, and waits until it has begun.
func (s *Server) ChangeMap(ctx context.Context, name string) error {
	before := len(s.Games())
	if err := s.Console("change_map " + quote(name)); err != nil {
		return err
	}
	return s.wait(ctx, func() bool { return len(s.Games()) > before })
}

// Stop ends the server by SIGTERM, as an operator would, and waits until it has
// exited. Then the recording is finished.
func (s *Server) Stop() error { return s.signal(syscall.SIGTERM) }

// Kill ends the server by SIGKILL and waits until it has exited. The recording
// stops without an end.
func (s *Server) Kill() error { return s.signal(syscall.SIGKILL) }

// signal is a no-op for a process that has exited.
func (s *Server) signal(sig syscall.Signal) error {
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.exited:
		return nil
	case <-time.After(stopTimeout):
		return fmt.Errorf("server is still there %v after the signal: %v", stopTimeout, sig)
	}
}

// wait polls until the condition holds, the server has exited or ctx is done.
func (s *Server) wait(ctx context.Context, condition func() bool) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-s.exited:
			if condition() { // check the last output too
				return nil
			}
			return s.exit
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// quote writes a console argument in the server's syntax.
func quote(arg string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(arg) + `"`
}

func freePort() (int, error) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return 0, err
	}
	port := conn.LocalAddr().(*net.UDPAddr).Port
	return port, conn.Close()
}

// startedLine matches the last line that the server logs before it serves.
var startedLine = regexp.MustCompile(`server: version`)
