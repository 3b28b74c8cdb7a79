package service_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
)

// TestThrottled measures how much longer all events of a demo, compressed by bzip2, take than its download, from stores of the speeds that
// THROTTLE lists, in kB/s. A speed is judged if it is at most half of what the decoder takes from a store without a limit.
func TestThrottled(t *testing.T) {
	speeds := os.Getenv("THROTTLE")
	if speeds == "" {
		t.Skip("THROTTLE is not set")
	}
	const most = 1.1
	short := filepath.Join("..", "..", "shared", "corpus", "dem", "demofile-net", "14011.dem")
	if _, err := os.Stat(short); err != nil {
		short = filepath.Join(samples(), "dem", "dota.dem")
	}
	data, err := demtest.Repeat(read(t, short), 16<<20)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bzip2", "-9", "-c")
	cmd.Stdin = bytes.NewReader(data)
	packed, err := cmd.Output()
	if err != nil {
		t.Fatal("bzip2:", err)
	}
	s := buckettest.New(t)
	s.Put("p/a.dem.bz2", packed)
	d := start(t, t.TempDir(), storeOf(t, t.TempDir(), s, bucket.Options{}), func(c *service.Config) { c.SurveyBudget = 0 })
	download := func() time.Duration {
		began := time.Now()
		resp, err := http.Get(s.Endpoint() + "/" + buckettest.Name + "/p/a.dem.bz2")
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil || n != int64(len(packed)) {
			t.Fatal(n, err)
		}
		return time.Since(began)
	}
	decode := func() time.Duration {
		began := time.Now()
		stream, err := d.client.StreamEvents(t.Context(), &replaydv1.StreamEventsRequest{Replay: stored + "/a.dem.bz2", MaxBatchEvents: 4096})
		if err != nil {
			t.Fatal(err)
		}
		for {
			r, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if end := r.GetEnd(); end != nil {
				if end.GetReason() != replaydv1.EndReason_END_REASON_FINISHED {
					t.Fatal(end)
				}
				return time.Since(began)
			}
		}
	}
	own := float64(len(packed)) / 1000 / decode().Seconds()
	t.Logf("%d bytes, %d inflated: the decoder takes %.0f kB/s", len(packed), len(data), own)
	for text := range strings.SplitSeq(speeds, ",") {
		speed, err := strconv.Atoi(text)
		if err != nil || speed < 10 {
			t.Fatal("THROTTLE:", text)
		}
		s.Throttle(speed * 1000)
		alone := download()
		s.Requests()
		took, sent := decode(), int64(0)
		for _, r := range s.Requests() {
			sent += r.Sent
		}
		if sent != int64(len(packed)) {
			t.Errorf("the store sent %d bytes of %d", sent, len(packed))
		}
		ratio := took.Seconds() / alone.Seconds()
		t.Logf("%d kB/s: download %v, decoded %v, %.3f times", speed, alone, took, ratio)
		if ratio > most && float64(speed) <= own/2 {
			t.Errorf("%d kB/s: %.3f times, more than %v", speed, ratio, most)
		}
	}
}
