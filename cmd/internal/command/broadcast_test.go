package command

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/dem/broadcast"
	"github.com/replayd/replayd/decoders/dem/demtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/playcast/playcasttest"
	"github.com/replayd/replayd/service/streamtest"
)

// TestBroadcast: a daemon that is killed at random follows a broadcast, and its clients get each event of the match once.
func TestBroadcast(t *testing.T) {
	t.Parallel() // it waits most of the time: a relay is asked once a second
	start, fragments, err := broadcast.Split(demtest.Fight(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var deltas [][]byte
	for _, f := range fragments {
		deltas = append(deltas, f.Delta)
	}
	relay := playcasttest.Of(t, start, fragments[0].Full, deltas)
	program, dir, addr := build(t), t.TempDir(), commandtest.FreeAddr(t)
	ctx, cancel := context.WithTimeout(t.Context(), commandtest.Patience)
	defer cancel()
	serve := func() *exec.Cmd {
		cmd := exec.Command(program, "serve", "--listen", addr, "--web-listen", "none", "--root", "live="+dir, "--log-level", "error",
			"--broadcast", "live/final="+relay.At(t).String())
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	d := serve()
	defer func() { commandtest.Kill(t, d) }()
	name := ""
	for name == "" && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		if found, _ := filepath.Glob(filepath.Join(dir, "final", "*.dem")); len(found) > 0 {
			if info, err := os.Stat(found[0]); err == nil && info.Size() > int64(len(start)) {
				name = filepath.Base(found[0])
			}
		}
	}
	request := &replaydv1.StreamEventsRequest{Replay: "live/final/" + name, Follow: true}
	var got atomic.Int64
	ended := make(chan streamtest.History, 1)
	go func() { ended <- followThroughKills(ctx, addr, request, &got) }()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for range 5 {
		before := got.Load()
		for got.Load() == before && len(ended) == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(random.IntN(1200)) * time.Millisecond)
		commandtest.Kill(t, d)
		d = serve()
	}
	h := <-ended
	data, err := os.ReadFile(filepath.Join(dir, "final", name))
	if err != nil {
		t.Fatal(err)
	}
	if whole := relay.FileOf(t, "replayd final "+strings.TrimSuffix(name, ".dem"), playcasttest.First, playcasttest.First+len(deltas)); !bytes.Equal(data, whole) {
		t.Errorf("the file has %d bytes, the broadcast makes %d", len(data), len(whole))
	}
	want, err := streamtest.Offline(&dem.Codec, source.Input{At: bytes.NewReader(data), Size: int64(len(data))}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := streamtest.Check(h, []streamtest.Replay{want}, streamtest.Options{}); err != nil {
		t.Error(err)
	}
	if reason := h.End().GetReason(); reason != replaydv1.EndReason_END_REASON_FINISHED {
		t.Error(reason)
	}
	t.Logf("%d fragments, %d sessions, %d events", len(fragments), len(h), len(want.Events))
}

// TestBroadcastPush: a game server pushes a match, and a client follows it to its end.
func TestBroadcastPush(t *testing.T) {
	t.Parallel()
	start, fragments, err := broadcast.Split(demtest.Fight(), 1)
	if err != nil {
		t.Fatal(err)
	}
	dir, addr, push := t.TempDir(), commandtest.FreeAddr(t), commandtest.FreeAddr(t)
	servers := filepath.Join(t.TempDir(), "servers")
	if err := os.WriteFile(servers, []byte("eu1 correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := exec.Command(build(t), "serve", "--listen", addr, "--web-listen", "none", "--root", "live="+dir, "--log-level", "error",
		"--broadcast-listen", push, "--broadcast-servers", servers, "--broadcast-into", "live/pushed")
	d.Stderr = os.Stderr
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	defer commandtest.Kill(t, d)
	post := func(path string, body []byte) {
		t.Helper()
		for deadline := time.Now().Add(commandtest.Patience); ; time.Sleep(10 * time.Millisecond) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+push+"/eu1/s1t1/"+path, bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("X-Origin-Auth", "correct horse")
			response, err := http.DefaultClient.Do(request)
			if err == nil {
				_ = response.Body.Close()
				if response.StatusCode != http.StatusOK {
					t.Fatal(response.Status)
				}
				return
			} else if time.Now().After(deadline) {
				t.Fatal(err) // the daemon does not start
			}
		}
	}
	post("0/start?tps=64&keyframe_interval=3&protocol=5", start)
	post("0/full?tick=0", fragments[0].Full)
	var name string
	for deadline := time.Now().Add(commandtest.Patience); name == "" && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(dir, "pushed", "eu1", "*.dem")); len(found) > 0 {
			name = "live/pushed/eu1/" + filepath.Base(found[0])
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), commandtest.Patience)
	defer cancel()
	var got atomic.Int64
	ended := make(chan streamtest.History, 1)
	go func() {
		ended <- followThroughKills(ctx, addr, &replaydv1.StreamEventsRequest{Replay: name, Follow: true}, &got)
	}()
	for i, f := range fragments {
		post(strconv.Itoa(i)+"/delta?endtick=1", f.Delta)
	}
	h := <-ended
	data, err := os.ReadFile(filepath.Join(dir, strings.TrimPrefix(name, "live/")))
	if err != nil {
		t.Fatal(err)
	}
	want, err := streamtest.Offline(&dem.Codec, source.Input{At: bytes.NewReader(data), Size: int64(len(data))}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := streamtest.Check(h, []streamtest.Replay{want}, streamtest.Options{}); err != nil || h.End().GetReason() != replaydv1.EndReason_END_REASON_FINISHED {
		t.Error(h.End().GetReason(), err)
	}
}

// TestBroadcastFlags: mistakes in --broadcast are told before anything is opened, without the URL, which may have secrets.
func TestBroadcastFlags(t *testing.T) {
	const secret = "1234_salt"
	for _, c := range []struct{ flag, want string }{
		{"live/final=ftp://example.org/" + secret, "want http://HOST/PATH"},
		{"live/final=http://user:" + secret + "@example.org/", "credentials"},
		{"live/final=http://%zz" + secret, "no URL"},
		{"live=http://example.org/" + secret, "want ALIAS/PATH=URL"},
		{"http://example.org/" + secret, "want ALIAS/PATH=URL"},
		{"other/final=http://example.org/" + secret, "no --root"},
		{"live/../final=http://example.org/" + secret, "no path"},
		{"live/.hidden=http://example.org/" + secret, "no path"},
		{"live/=http://example.org/" + secret, "no path"},
		{"--broadcast-listen 127.0.0.1:0", "need each other"},
		{"--broadcast-servers x", "need each other"},
		{"--broadcast-into live/x", "needs --broadcast-listen or --broadcast-allow"},
		{"--broadcast-allow http://example.org/*", "need --broadcast-into"},
		{"--broadcast-allow *.example.org/* --broadcast-into live/x", "want http://HOST/PATH"},
		{"--broadcast-listen :7180 --broadcast-servers x --broadcast-into live/x", "can be reached from other machines"},
		{"--broadcast-listen 127.0.0.1:0 --broadcast-servers x --broadcast-into other/x", "no --root"},
		{"--broadcast-listen 127.0.0.1:0 --broadcast-servers x --broadcast-into live", "no path"},
	} {
		var out, errs bytes.Buffer
		args := []string{"serve", "--root", "live=" + t.TempDir(), "--listen", "127.0.0.1:0", "--web-listen", "none"}
		if strings.HasPrefix(c.flag, "--") {
			args = append(args, strings.Fields(c.flag)...)
		} else {
			args = append(args, "--broadcast", c.flag)
		}
		code := Program{}.Run(t.Context(), args, Console{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != ExitUsage || !strings.Contains(errs.String(), c.want) || strings.Contains(errs.String(), secret) {
			t.Errorf("%s: %d, %s", c.flag, code, &errs)
		}
	}
}
