package command

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	"github.com/replayd/replayd/proto/rawcodec"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// BenchmarkFile streams a whole file from the disk through the daemon to a client that only counts bytes.
func BenchmarkFile(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "long.teehistorian")
	size := repeat(b, path, 64<<20)
	addr, p := daemon(b, dir)
	client := commandtest.ClientOf(b, addr)
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	client.Conn = conn
	events, received := uint64(0), int64(0)
	own := ownCPU()
	before := p.cpu(b)
	b.SetBytes(size)
	for b.Loop() {
		s, err := client.Open(context.Background(), &replaydv1.StreamEventsRequest{Replay: "live/long.teehistorian", MaxBatchEvents: 4096})
		if err != nil {
			b.Fatal(err)
		}
		var last []byte
		for {
			var raw rawcodec.Message
			if err := s.RecvMsg(&raw); err != nil {
				if err != io.EOF { //nolint:errorlint // as gRPC returns it
					b.Fatal(err)
				}
				break
			}
			received += int64(len(raw.Bytes))
			last = raw.Bytes
		}
		var r replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(last, &r); err != nil || r.GetEnd() == nil {
			b.Fatal("no end", err)
		}
		events += r.GetEnd().GetEventsSent()
	}
	cpu := p.cpu(b) - before
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(events), "daemon-ns/event")
	b.ReportMetric(float64((ownCPU()-own).Nanoseconds())/float64(events), "client-ns/event")
	b.ReportMetric(float64(received)/float64(events), "bytes/event")
	_, peak := p.memory(b)
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
}

// ownCPU returns the CPU time that this process has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

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
