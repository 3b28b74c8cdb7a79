package command

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/internal/certtest"
	"github.com/replayd/replayd/internal/freeport"
)

// TestScript runs the scripts of testdata/script, each as a user would at a shell. In addition to testscript's own commands, the
// scripts have
//
//	exits CODE COMMAND...      runs a command, which must exit with that code
//	serve FLAG...              starts a daemon at $ADDR, and sets $ADDR if it is empty; the daemon ends with the script,
//	                           and its output goes to the file daemon.log
//	certify                    writes cert.pem and key.pem: a self-signed certificate for 127.0.0.1 and its key
//	drain                      sends the daemon SIGTERM, and waits until it has exited
//	hangup                     sends the daemon SIGHUP
//	crash                      kills the daemon, and waits until it has exited
//	await FILE TEXT            waits until a file of the script's directory contains a text
//	mkfifo FILE                makes a named pipe
//	append FILE FROM N [M]     appends the bytes of the file FROM from N up to M, or up to its end, to a file
//
// Daemons run the test binary, which may have the race detector, and so do the commands of scripts in which these do several things at
// once. Other scripts call the program as released, which starts several times faster.
//
// $SAMPLES, $FINISHED, $KILLED and $MAPCHANGE are paths of sample replays, $NEWER that of a demo with an unknown field.
func TestScript(t *testing.T) {
	samples, err := filepath.Abs(filepath.Join("..", "..", "..", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	directory := filepath.Dir(build(t))
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			switch filepath.Base(env.WorkDir) {
			case "script-copy", "script-follow", "script-resume":
			default:
				env.Setenv("PATH", directory+string(filepath.ListSeparator)+env.Getenv("PATH"))
			}
			env.Setenv("SAMPLES", samples)
			env.Setenv("FINISHED", filepath.Join(samples, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
			env.Setenv("KILLED", filepath.Join(samples, "teehistorian", "killed", "d3a324eb-75e3-43b2-8684-d2cb343e85ec.teehistorian"))
			newer := filepath.Join(env.WorkDir, "newer.dem")
			env.Setenv("NEWER", newer)
			if err := os.WriteFile(newer, newerDemo(), 0o600); err != nil {
				return err
			}
			env.Setenv("MAPCHANGE", filepath.Join(samples, "teehistorian", "mapchange"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   scriptExits,
			"serve":   scriptServe,
			"certify": scriptCertify,
			"drain":   func(ts *testscript.TestScript, _ bool, _ []string) { scriptEnd(ts, syscall.SIGTERM) },
			"crash":   func(ts *testscript.TestScript, _ bool, _ []string) { scriptEnd(ts, syscall.SIGKILL) },
			"hangup": func(ts *testscript.TestScript, _ bool, _ []string) {
				pid, err := strconv.Atoi(ts.Getenv("DAEMON"))
				ts.Check(err)
				ts.Check(syscall.Kill(pid, syscall.SIGHUP))
			},
			"await":  scriptAwait,
			"append": scriptAppend,
			"mkfifo": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
			},
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exited, ok := err.(*exec.ExitError); ok { //nolint:errorlint // testscript returns it as it is
		got = exited.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func scriptServe(ts *testscript.TestScript, _ bool, args []string) {
	addr := ts.Getenv("ADDR")
	if addr == "" {
		var err error
		addr, err = freeport.Addr()
		ts.Check(err)
	}
	program, err := os.Executable()
	ts.Check(err)
	cmd := exec.Command(program)
	cmd.Args = append([]string{"replayd", "serve", "--listen", addr}, args...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = append(os.Environ(), "TMPDIR="+ts.Getenv("WORK"))
	log, err := os.OpenFile(ts.MkAbs("daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	cmd.Stdout, cmd.Stderr = log, log
	ts.Check(cmd.Start())
	ts.Check(log.Close())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = cmd.Wait()
	}()
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-gone
		ts.Logf("the log of the daemon:\n%s", ts.ReadFile(log.Name()))
	})
	ts.Setenv("ADDR", addr)
	ts.Setenv("DAEMON", strconv.Itoa(cmd.Process.Pid))
	for deadline := time.Now().Add(commandtest.Patience); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("the daemon does not answer: %v", err)
		}
	}
}

func scriptCertify(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(certifyIn(ts.MkAbs("."))) }

// certifyIn writes cert.pem and key.pem of a self-signed certificate for 127.0.0.1.
func certifyIn(dir string) error {
	cert, key, err := certtest.SelfSigned("")
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "cert.pem"), cert, 0o600), os.WriteFile(filepath.Join(dir, "key.pem"), key, 0o600))
}

func scriptEnd(ts *testscript.TestScript, signal syscall.Signal) {
	pid, err := strconv.Atoi(ts.Getenv("DAEMON"))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, signal))
	for deadline := time.Now().Add(commandtest.Patience); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("the daemon does not end")
		}
	}
}

func scriptAwait(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	for deadline := time.Now().Add(commandtest.Patience); ; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(path)
		if strings.Contains(string(text), args[1]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s never contained %q:\n%s", args[0], args[1], text)
		}
	}
}

func scriptAppend(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	from, err := strconv.Atoi(args[2])
	ts.Check(err)
	to := len(data)
	if len(args) > 3 {
		to, err = strconv.Atoi(args[3])
		ts.Check(err)
	}
	file, err := os.OpenFile(ts.MkAbs(args[0]), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = file.Write(data[from:to])
	ts.Check(err)
	ts.Check(file.Close())
}

// newerDemo returns a demo of a build of Deadlock that added a field to its kills.
func newerDemo() []byte {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "citadel"))
	for tick := range int32(3) {
		d.Packet(tick, demtest.Message{ID: 319, Data: demtest.Proto(nil).Varint(1, 5).Varint(99, 1)})
	}
	d.Record(demtest.CmdStop, 3, nil)
	d.Record(demtest.CmdFileInfo, 3, nil)
	return d.Bytes()
}
