package service_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/service"
)

// TestPlainLive: events and heartbeats of a growing file arrive at once. A drain ends lines with an end, and server-sent events
// without one, so that an EventSource reconnects.
func TestPlainLive(t *testing.T) {
	dir := t.TempDir()
	data := read(t, finishedSample)
	w := create(t, dir, "live.teehistorian")
	w.write(data[:5000])
	d := startPlain(t, dir)
	bodies := map[string]*bufio.Scanner{}
	for what, header := range map[string]map[string]string{"lines": nil, "sse": {"Accept": "text/event-stream"}} {
		resp := d.do(timeout(t), t, http.MethodGet, eventsPath(name("live.teehistorian"), "follow&heartbeat=1s"), header, nil)
		s := bufio.NewScanner(resp.Body)
		s.Buffer(nil, 4<<20)
		bodies[what] = s
	}
	until := func(s *bufio.Scanner, want string) {
		t.Helper()
		for s.Scan() {
			if strings.Contains(s.Text(), want) {
				return
			}
		}
		t.Fatalf("%q does not come: %v", want, s.Err())
	}
	for _, s := range bodies {
		until(s, "CAUGHT_UP")
		until(s, "bytes_present")
	}
	w.write(data[5000:8000])
	for _, s := range bodies {
		until(s, `"sequence":`)
	}
	d.stop()
	rest := map[string]string{}
	for what, s := range bodies {
		for s.Scan() {
			rest[what] += s.Text() + "\n"
		}
		if s.Err() != nil {
			t.Errorf("%s: %v", what, s.Err())
		}
	}
	if !strings.Contains(rest["lines"], "END_REASON_SERVER_DRAINING") {
		t.Errorf("the lines end %q", rest["lines"])
	}
	if strings.Contains(rest["sse"], "event: end") || strings.Contains(rest["sse"], "failure") {
		t.Errorf("the server-sent events end %q", rest["sse"])
	}
}

// TestPlainQuiet: the time that a client has to read what is sent does not pass while nothing is sent.
func TestPlainQuiet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := read(t, finishedSample)
	d := startPlain(t, dir, func(c *service.Config) { c.SendTimeout = 200 * time.Millisecond })
	quiet := func() { time.Sleep(700 * time.Millisecond) } // longer than any deadline of a write
	check := func(t *testing.T, body io.Reader, w *writer) {
		t.Helper()
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() && !strings.Contains(lines.Text(), "CAUGHT_UP") {
			continue
		}
		quiet()
		w.write(data[5000:])
		var last string
		for lines.Scan() {
			last = lines.Text()
		}
		if lines.Err() != nil || !strings.Contains(last, "END_REASON_FINISHED") {
			t.Fatalf("after a quiet time the stream ends with %v and %q", lines.Err(), last)
		}
	}
	t.Run("HTTP/1", func(t *testing.T) {
		t.Parallel()
		w := create(t, dir, "one.teehistorian")
		w.write(data[:5000])
		check(t, d.do(timeout(t), t, http.MethodGet, eventsPath(name("one.teehistorian"), "follow"), nil, nil).Body, w)
	})
	t.Run("drain", func(t *testing.T) { // the answer then ends by what the server writes after the handler
		t.Parallel()
		dir := t.TempDir()
		create(t, dir, "live.teehistorian").write(data[:5000])
		d := startPlain(t, dir, func(c *service.Config) { c.SendTimeout = 200 * time.Millisecond })
		resp := d.do(timeout(t), t, http.MethodGet, eventsPath(name("live.teehistorian"), "follow"), map[string]string{"Accept": "text/event-stream"}, nil)
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() && !strings.Contains(lines.Text(), "CAUGHT_UP") {
			continue
		}
		quiet()
		d.stop()
		for lines.Scan() {
			continue
		}
		if lines.Err() != nil {
			t.Error(lines.Err())
		}
	})
	t.Run("HTTP/2", func(t *testing.T) {
		t.Parallel()
		w := create(t, dir, "two.teehistorian")
		w.write(data[:5000])
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetUnencryptedHTTP2(true)
		defer transport.CloseIdleConnections()
		req, err := http.NewRequestWithContext(timeout(t), http.MethodGet, d.web+eventsPath(name("two.teehistorian"), "follow"), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		check(t, resp.Body, w)
	})
}

// TestPlainStalled: clients that stop reading do not delay other clients, and their streams give back their places.
func TestPlainStalled(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, "live.teehistorian")
	w.write(longRecording(t, finishedSample, 200_000))
	d := startPlain(t, dir, func(c *service.Config) { c.SendTimeout, c.MaxStreams = 200*time.Millisecond, 1 })
	resp := d.do(timeout(t), t, http.MethodGet, eventsPath(name("live.teehistorian"), ""), nil, nil)
	if _, err := bufio.NewReaderSize(resp.Body, 16).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	// The daemon ends the call and counts it with its reason.
	for !strings.Contains(d.log.String(), "ResourceExhausted") {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-timeout(t).Done():
			t.Fatalf("nobody minds:\n%s", d.log.String())
		}
	}
	for {
		code, body := d.get(t, eventsPath(name("live.teehistorian"), "kind=join"), nil)
		if code == http.StatusOK {
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("no place is free: %d %s", code, body)
		}
	}
}
