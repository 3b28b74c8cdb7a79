package main

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// exportMost is how much memory an export may take in bytes, as the kernel counts it: pages of the program are part of it.
const exportMost = 128 << 20

// TestExportMemory exports all kinds of a demo of EXPORT_BYTES bytes, which is made of a real one, and looks at the most memory that
// the program had.
func TestExportMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the memory of a process")
	}
	size, err := strconv.Atoi(cmp.Or(os.Getenv("EXPORT_BYTES"), "0"))
	if err != nil {
		t.Fatal(err)
	}
	if size == 0 {
		t.Skip("no EXPORT_BYTES, such as 1073741824")
	}
	data, err := os.ReadFile(decodertest.Shared(t, "corpus", "dem", "haste", "auto-20240102-2233-start-____.dem"))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = demtest.Repeat(data, size); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(t.TempDir(), "long.dem")
	if err := os.WriteFile(long, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "export", long, "--to", t.TempDir(), "--format", cmp.Or(os.Getenv("EXPORT_FORMAT"), "parquet"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	most := int64(0)
	for over := false; !over; {
		most = max(most, peak(cmd.Process.Pid))
		select {
		case err := <-ended:
			if over = true; err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Logf("%d bytes exported with %.1f MiB at most, %v of a processor", size, float64(most)/(1<<20),
		cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	if most == 0 || most > exportMost {
		t.Errorf("%d bytes of memory, the budget is %d", most, exportMost)
	}
}

// peak returns the most memory that a process had until now, in bytes, or 0 once it has ended. What the kernel says after the end includes
// the memory of the process that started it.
func peak(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}
