package command

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/streamtest"
)

// victimVariable is the environment variable with the duration of each round of TestVictim: 20s for a measurement.
const victimVariable = "VICTIM"

// TestVictim reads replays from a daemon with a well-behaved client, the victim. Meanwhile attackers hold uploads and leave
// streams unread, of short and of the longest replays, or flood four connections over and over, each with one kind of frame or with all.
// In one round they attack the daemon of the victim. In the next round, the control, they attack another daemon on the same machine. So the load of the machine is the same in both
// rounds, and the difference is what the daemon lets attackers take from others. The victim must get all events, and
// correct ones. The test logs how long the victim waited. If a duration is set, the 99th percentile must be at most twice
// that of the control.
func TestVictim(t *testing.T) {
	lasts, rounds, measured := 500*time.Millisecond, 1, false
	if text := os.Getenv(victimVariable); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		rounds, measured = 4, true
	}
	four := func(attack func(*chaos, context.Context)) func(*chaos) []func(context.Context) {
		return func(c *chaos) []func(context.Context) {
			return slices.Repeat([]func(context.Context){func(ctx context.Context) { attack(c, ctx) }}, 4)
		}
	}
	type test struct {
		name    string
		attacks func(c *chaos) []func(context.Context)
	}
	tests := []test{
		{"1000 uploads and 1000 unread streams", func(c *chaos) []func(context.Context) {
			return slices.Repeat([]func(context.Context){c.holdUploads, c.neverRead}, 4) // 250 calls each
		}},
		{"1000 unread streams of a long replay", func(c *chaos) []func(context.Context) {
			c.unread = "r/long.teehistorian"
			return slices.Repeat([]func(context.Context){c.neverRead}, 4)
		}},
		{"4 flooding connections", four((*chaos).flood)},
	}
	for _, name := range slices.Sorted(maps.Keys(attacks)) {
		tests = append(tests, test{"4 connections with " + name, four(func(c *chaos, ctx context.Context) { c.floodWith(ctx, attacks[name]) })})
	}
	for _, test := range tests {
		if !measured && strings.HasPrefix(test.name, "4 connections with") {
			continue // "4 flooding connections" has them all
		}
		t.Run(test.name, func(t *testing.T) { beside(t, test.attacks, lasts, rounds, measured) })
	}
}

// longVictim is the length of the replay that attackers leave unread, in bytes, when there is no corpus. Each stream of it takes many
// turns.
const longVictim = 6_300_000

// longest returns the longest teehistorian of the corpus, or one that is made of the sample.
func longest(t *testing.T, sample []byte) []byte {
	t.Helper()
	var name string
	size := int64(longVictim) - 1
	corpus := filepath.Join("..", "..", "..", "..", "shared", "corpus", "teehistorian")
	_ = filepath.WalkDir(corpus, func(path string, d fs.DirEntry, err error) error { // where there is no corpus it finds nothing
		if err != nil {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".teehistorian" {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() > size {
			name, size = path, info.Size()
		}
		return nil
	})
	if name == "" {
		return longReplay(sample, longVictim)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// beside runs the rounds of TestVictim.
func beside(t *testing.T, attacks func(c *chaos) []func(context.Context), lasts time.Duration, rounds int, measured bool) {
	sample := commandtest.ReadSample(t, filepath.Join("..", "..", ".."))
	dir := t.TempDir()
	commandtest.WriteFile(t, filepath.Join(dir, "still.teehistorian"), sample)
	commandtest.WriteFile(t, filepath.Join(dir, "long.teehistorian"), longest(t, sample))
	tokens := filepath.Join(t.TempDir(), "tokens")
	commandtest.WriteFile(t, tokens, []byte("good name=good\nevil name=evil\nworse name=worse\n"))
	want, err := streamtest.Offline(&teehistorian.Codec, source.Input{At: bytes.NewReader(sample), Size: int64(len(sample))}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	program := build(t)
	var daemons [2]*chaos
	for i := range daemons {
		c := &chaos{t: t, addr: commandtest.FreeAddr(t), web: commandtest.FreeAddr(t), metrics: commandtest.FreeAddr(t), dir: dir, sample: sample}
		cmd := exec.Command(program, "serve", "--listen", c.addr, "--web-listen", c.web, "--metrics-listen", c.metrics, "--root", "r="+dir,
			"--token-file", tokens, "--max-memory", strconv.Itoa(chaosMemory), "--client-share", "0.4", "--log-level", "error")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		daemons[i] = c
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute+2*time.Duration(rounds)*lasts)
	defer cancel()
	victim := commandtest.ClientOf(t, daemons[0].addr)
	victim.Options = append(victim.Options, grpc.PerRPCCredentials(bearer("good")))
	req := &replaydv1.StreamEventsRequest{Replay: "r/still.teehistorian"}
	for victim.Session(ctx, req, nil).Err != nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	var took [2][]time.Duration
	for round := range 2 * rounds {
		attacked := daemons[round%2]
		evil, stop := context.WithTimeout(ctx, lasts)
		var attackers sync.WaitGroup
		for _, attack := range attacks(attacked) {
			attackers.Go(func() {
				for evil.Err() == nil {
					attack(evil)
				}
			})
		}
		for evil.Err() == nil {
			began := time.Now()
			s := victim.Session(ctx, req, nil)
			took[round%2] = append(took[round%2], time.Since(began))
			if err := streamtest.Check(streamtest.History{s}, []streamtest.Replay{want}, streamtest.Options{}); err != nil {
				t.Errorf("the victim: %v (%v)", err, s.Err)
			}
			time.Sleep(5 * time.Millisecond)
		}
		attackers.Wait()
		stop()
		if attacked.connections.Load()+attacked.calls.Load() == 0 {
			t.Error("nobody attacked")
		}
	}
	for i, what := range []string{"beside the attackers", "control"} {
		t.Logf("%s: %d reads, median %v, 99th percentile %v, longest %v; %d calls of attackers, %d connections", what, len(took[i]),
			commandtest.Percentile(took[i], 0.5), commandtest.Percentile(took[i], 0.99), commandtest.Percentile(took[i], 1), daemons[i].calls.Load(), daemons[i].connections.Load())
	}
	if beside, control := commandtest.Percentile(took[0], 0.99), commandtest.Percentile(took[1], 0.99); measured && beside > 2*control {
		t.Errorf("the 99th percentile is %v, that of the control %v", beside, control)
	}
}
