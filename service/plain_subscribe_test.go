package service_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
)

// TestPlainSubscribe: a client of plain HTTP that is cut off after a few responses, and resumes at its cursor or as an EventSource does,
// has the lines of each replay once, also after the daemon was restarted, and only those for which its expression is true.
func TestPlainSubscribe(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	for number := 1; number <= 3; number++ {
		write(t, filepath.Join(dir, fmt.Sprint(number, ".teehistorian")), gameOf{number: number, server: "a"}.data(t))
	}
	withIndex := func(c *service.Config) { c.IndexPath = filepath.Join(state, "index") }
	d := startPlain(t, dir, withIndex)
	all, some := map[string][]string{}, map[string][]string{}
	for number := 1; number <= 3; number++ {
		of := name(fmt.Sprint(number, ".teehistorian"))
		all[of] = d.printed(t, &replaydv1.StreamEventsRequest{Replay: of})
		some[of] = d.printed(t, &replaydv1.StreamEventsRequest{Replay: of, Include: []*replaydv1.EventFilter{{Players: []int32{0}}}})
	}
	for _, test := range []struct {
		header map[string]string
		query  string
		want   map[string][]string
	}{
		{nil, "max-batch-events=500", all},
		{nil, "max-batch-events=20&where=event.client_id+%3D%3D+0", some},
		{map[string]string{"Accept": "text/event-stream"}, "max-batch-events=500", all},
		{map[string]string{"Accept": "text/event-stream"}, "max-batch-events=20&where=event.client_id+%3D%3D+0", some},
	} {
		header, want := test.header, test.want
		got, ended, at := map[string][]string{}, map[string]bool{}, ""
		for calls := 0; len(ended) < len(want); calls++ {
			if calls == 4 {
				d.stop()
				d = startPlain(t, dir, withIndex)
			}
			path := "/v1/events?" + test.query
			if header != nil {
				header["Last-Event-ID"] = at
			} else {
				path += "&cursor=" + url.QueryEscape(at)
			}
			ctx, cancel := context.WithCancel(timeout(t))
			resp := d.do(ctx, t, http.MethodGet, path, header, nil)
			if resp.StatusCode != http.StatusOK {
				t.Fatal(resp.Status)
			}
			in := bufio.NewScanner(resp.Body)
			in.Buffer(nil, 4<<20)
			var held []string // events whose cursor has not come
			id := ""
			for responses := 0; responses < 4+calls && len(ended) < len(want) && in.Scan(); {
				text, isData := strings.CutPrefix(in.Text(), "data: ")
				if header != nil && !isData {
					if next, isID := strings.CutPrefix(in.Text(), "id: "); isID {
						id = next
					}
					continue
				}
				var of struct {
					Cursor string            `json:"cursor"`
					Replay string            `json:"replay"`
					End    *struct{}         `json:"end"`
					Events []json.RawMessage `json:"events"`
				}
				if err := json.Unmarshal([]byte(text), &of); err != nil {
					t.Fatal(text, err)
				}
				rest := strings.TrimPrefix(text, fmt.Sprintf(`{"replay":%q,`, of.Replay))
				if header == nil && of.Cursor == "" {
					held = append(held, "{"+rest+"\n")
					continue
				}
				for _, e := range of.Events {
					held = append(held, string(e)+"\n")
				}
				if at = of.Cursor; header != nil {
					at = id
				}
				got[of.Replay] = append(got[of.Replay], held...)
				held, responses = nil, responses+1
				if of.End != nil {
					ended[of.Replay] = true
				}
			}
			cancel()
		}
		delete(got, "") // heartbeats
		for of, lines := range want {
			if !slices.Equal(got[of], lines) {
				t.Errorf("%v, %s: %s has %d lines, want %d", header, test.query, of, len(got[of]), len(lines))
			}
		}
	}
}

// TestPlainNamed: a client of plain HTTP acknowledges by the cursor, goes on behind it, and removes its subscription.
func TestPlainNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "1.teehistorian"), gameOf{number: 1, server: "a"}.data(t))
	d := startPlain(t, dir, keepsNames(t.TempDir()))
	do := func(method, path string, want int) {
		t.Helper()
		resp := d.do(timeout(t), t, method, path, nil, nil)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s %s: %s", method, path, resp.Status)
		}
	}
	var sequences []string
	for ended := false; !ended; {
		ctx, cancel := context.WithCancel(timeout(t))
		resp := d.do(ctx, t, http.MethodGet, "/v1/events?subscription=a&max-batch-events=500", nil, nil)
		in, batch := bufio.NewScanner(resp.Body), 0
		for in.Buffer(nil, 4<<20); !ended && in.Scan(); {
			var line struct {
				Cursor   string    `json:"cursor"`
				Sequence string    `json:"sequence"`
				End      *struct{} `json:"end"`
			}
			if err := json.Unmarshal(in.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			if ended = line.End != nil; line.Sequence != "" {
				sequences, batch = append(sequences, line.Sequence), batch+1
			}
			if line.Cursor != "" && batch > 0 {
				do(http.MethodPost, "/v1/subscriptions/a?cursor="+url.QueryEscape(line.Cursor), http.StatusOK)
				break
			}
		}
		cancel()
	}
	for i, sequence := range sequences {
		if sequence != fmt.Sprint(i) {
			t.Fatalf("event %s comes in place %d", sequence, i)
		}
	}
	do(http.MethodDelete, "/v1/subscriptions/a", http.StatusOK)
	do(http.MethodDelete, "/v1/subscriptions/a", http.StatusNotFound)
	do(http.MethodPost, "/v1/subscriptions/a%2Fb", http.StatusBadRequest)
	do(http.MethodGet, "/v1/subscriptions/a", http.StatusMethodNotAllowed)
}
