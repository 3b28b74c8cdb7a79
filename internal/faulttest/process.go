package faulttest

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a program that is started again whenever it ends, as a supervisor does.
type Process struct {
	Name string

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended int
}

// Supervise starts a program, which is killed at the end of the test. command is called for each start, from another goroutine.
func Supervise(t *testing.T, name string, command func() *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Name: name}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread() // Pdeathsig depends on the thread
		defer runtime.UnlockOSThread()
		for ctx.Err() == nil {
			cmd := command()
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // the program ends with the test, however that ends
			p.mu.Lock()
			err := cmd.Start()
			p.cmd = cmd
			p.mu.Unlock()
			if err != nil {
				t.Error(name, err)
				return
			}
			killed := context.AfterFunc(ctx, func() { p.Signal(syscall.SIGKILL) })
			_ = cmd.Wait() // a supervisor does not ask for the reason
			killed()
			p.mu.Lock()
			p.ended++
			p.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return p
}

// Signal sends a signal to the process, if there is one.
func (p *Process) Signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // the process may have ended
	}
}

// Ended returns how often the program has ended.
func (p *Process) Ended() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}
