package command

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
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
	data := decodertest.Read(t, "corpus", "dem", "haste", "auto-20240102-2233-start-____.dem")
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
	// What the kernel says after the end includes the memory of the process that started it. A process that has ended has none.
	most := int64(0)
	for now := int64(1); now > 0; time.Sleep(20 * time.Millisecond) {
		_, now = process{cmd.Process.Pid}.memory(t)
		most = max(most, now)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes exported with %.1f MiB at most, %v of a processor", size, float64(most)/(1<<20),
		cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	if most == 0 || most > exportMost {
		t.Errorf("%d bytes of memory, the budget is %d", most, exportMost)
	}
}
