package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
)

// repeat writes a recording of at least size bytes by repeating a sample's records. It returns the number of bytes written.
func repeat(tb testing.TB, path string, size int64) int64 {
	tb.Helper()
	sample := decodertest.Sample(tb, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	header, round := teetest.Parts(sample)
	body := bytes.Repeat(round, 100)
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	written := int64(len(header)) + 1
	_, err = file.Write(header)
	for ; err == nil && written < size; written += int64(len(body)) {
		_, err = file.Write(body)
	}
	if err == nil {
		_, err = file.Write(sample[len(sample)-1:])
	}
	if err != nil {
		tb.Fatal(err)
	}
	return written
}

// BenchmarkCat prints a file of 1 GiB and reports the memory and CPU time used. The file is made in a temporary directory.
func BenchmarkCat(b *testing.B) {
	path := filepath.Join(b.TempDir(), "huge.teehistorian")
	size := repeat(b, path, 1<<30)
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for _, format := range []string{"proto", "json"} {
		b.Run(format, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				cmd := exec.Command(program)
				cmd.Args = []string{"replayd", "cat", "--format", format, path}
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
				if !ok {
					b.Skip("no resource usage here")
				}
				b.ReportMetric(float64(usage.Maxrss)/1024, "peak-MiB")
				b.ReportMetric((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), "cpu-s")
			}
		})
	}
}
