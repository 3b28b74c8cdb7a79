package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/fleet/queue/natsserver"
	"github.com/replayd/replayd/proto/eventjson"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/registry"
	"github.com/replayd/replayd/replay/cursor"
)

var update = flag.Bool("update", false, "write the golden lines of TestJSON")

// jsonSamples are the replays whose events are golden: those of each format with the most kinds, and a game with its map.
var jsonSamples = map[string][]string{
	"teehistorian": {"finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian", "arms.teehistorian.gz"},
	"datafile":     {"sample.map"},
	"dem":          {"sample.dem", "dota.dem", "cs2.dem", "deadlock.dem"},
	"sc2replay":    {"5.0.SC2Replay", "battle.SC2Replay"},
}

// jsonDoors are where events come as JSON. Each returns the lines of a replay's events of some kinds. Only some have states.
type jsonDoors struct {
	*testing.T

	addr, web, hub string
	dir            string // with a directory for each format
	conn           *nats.Conn
	published      int
}

func (d *jsonDoors) cat(_ *codec.Codec, path, kinds string) []string {
	return lines(mustRun(d.T, 0, "cat", filepath.Join(d.dir, path), "--kind", kinds))
}

func (d *jsonDoors) catOfDaemon(_ *codec.Codec, path, kinds string) []string {
	return lines(mustRun(d.T, 0, "cat", "samples/"+path, "--addr", d.addr, "--kind", kinds))
}

// get returns the answer to a request.
func (d *jsonDoors) get(method, path string, header map[string]string, body []byte) []byte {
	d.Helper()
	req, err := http.NewRequestWithContext(d.Context(), method, "http://"+d.web+path, bytes.NewReader(body))
	if err != nil {
		d.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		d.Fatal(resp.Status, err, string(b))
	}
	return b
}

// cursor checks the text of a cursor.
func (d *jsonDoors) cursor(text string) {
	d.Helper()
	if b, err := cursor.ParseText(text); err != nil || len(b) == 0 || cursor.Text(b) != text {
		d.Errorf("%q is no text of a cursor: %v", text, err)
	}
}

func (d *jsonDoors) plain(_ *codec.Codec, path, kinds string) (events []string) {
	for _, line := range lines(string(d.get(http.MethodGet, "/v1/replays/samples/"+path+"/events?kind="+kinds, nil, nil))) {
		if at, ok := strings.CutPrefix(line, `{"cursor":"`); ok {
			d.cursor(strings.Split(at, `"`)[0])
			continue
		}
		events = append(events, line)
	}
	return events
}

func (d *jsonDoors) serverSent(_ *codec.Codec, path, kinds string) (events []string) {
	body := d.get(http.MethodGet, "/v1/replays/samples/"+path+"/events?kind="+kinds, map[string]string{"Accept": "text/event-stream"}, nil)
	for _, line := range lines(string(body)) {
		var of struct {
			Events []json.RawMessage `json:"events"`
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok && id != "over" {
			d.cursor(id)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || json.Unmarshal([]byte(data), &of) != nil {
			continue
		}
		for _, e := range of.Events {
			events = append(events, string(e))
		}
	}
	return events
}

// connect returns the events of Connect's JSON, printed anew. What JSON has as text and what as a number is compared by its types.
func (d *jsonDoors) connect(c *codec.Codec, path, kinds string) (events []string) {
	request, err := protojson.Marshal(&replaydv1.StreamEventsRequest{
		Replay: "samples/" + path, Include: []*replaydv1.EventFilter{{Kinds: strings.Split(kinds, ",")}},
	})
	if err != nil {
		d.Fatal(err)
	}
	request = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request))), request...)
	body := d.get(http.MethodPost, "/replayd.v1.ReplayService/StreamEvents", map[string]string{"Content-Type": "application/connect+json"}, request)
	printer := eventjson.New(c.NewEventList().ProtoReflect().Descriptor())
	for len(body) > 5 {
		n := binary.BigEndian.Uint32(body[1:])
		flags, message := body[0], body[5:5+n]
		if body = body[5+n:]; flags != 0 {
			break
		}
		var r replaydv1.StreamEventsResponse
		if err := protojson.Unmarshal(message, &r); err != nil {
			d.Fatal(err)
		}
		b := r.GetBatch()
		if b == nil {
			continue
		}
		for _, n := range []string{`"firstSequence":"`, `"offsets":["`} {
			if b.GetFirstSequence() > 0 && !bytes.Contains(bytes.ReplaceAll(message, []byte(" "), nil), []byte(n)) {
				d.Errorf("%.300s: no %s", message, n)
			}
		}
		m := b.ProtoReflect()
		list := m.Get(m.WhichOneof(m.Descriptor().Oneofs().ByName("events"))).Message()
		wire, err := proto.Marshal(list.Interface())
		if err != nil {
			d.Fatal(err)
		}
		each, names, err := printer.List(wire, nil, nil)
		if err != nil {
			d.Fatal(err)
		}
		at, indexes := eventjson.Place{Sequence: b.GetFirstSequence()}, b.GetIndexes()
		for i, e := range each {
			switch n := b.GetOffsets()[i]; {
			case n > 0:
				at.Offset, at.Index = at.Offset+n, 0
			case n == 0:
				at.Index += 128
			default:
				at.Offset, at.Index, indexes = at.Offset-1-n, at.Index+indexes[0], indexes[1:]
			}
			line, err := printer.AppendLine(nil, at, e, names)
			if err != nil {
				d.Fatal(err)
			}
			at.Sequence++
			events = append(events, strings.TrimSpace(string(line)))
		}
	}
	return events
}

func (d *jsonDoors) publish(_ *codec.Codec, path, kinds string) (events []string) {
	d.published++
	name := fmt.Sprintf("json%d", d.published)
	mustRun(d.T, 0, "publish", "--nats", d.hub, "--addr", d.addr, "--log-level", "error", "samples/"+path, "--kind", kinds, "--subject", name,
		"--stream", name)
	js, err := jetstream.New(d.conn)
	if err != nil {
		d.Fatal(err)
	}
	stream, err := js.Stream(d.Context(), name)
	if err != nil {
		d.Fatal(err)
	}
	info, err := stream.Info(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	for i := info.State.FirstSeq; i <= info.State.LastSeq; i++ {
		m, err := stream.GetMsg(d.Context(), i)
		if err != nil {
			d.Fatal(err)
		}
		d.cursor(m.Header.Get("Replayd-Cursor"))
		if m.Header.Get("Replayd-Type") == "events" {
			events = append(events, lines(string(m.Data))...)
		}
	}
	return events
}

// export returns the first row of each kind in files of JSON lines.
func (d *jsonDoors) export(path, kinds string) map[string]string {
	dir := d.TempDir()
	mustRun(d.T, 0, "export", filepath.Join(d.dir, path), "--to", dir, "--format", "jsonl", "--kind", kinds)
	files, err := filepath.Glob(filepath.Join(dir, "format=*", "kind=*", "*.jsonl"))
	if err != nil {
		d.Fatal(err)
	}
	rows := map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			d.Fatal(err)
		}
		if all := lines(string(b)); len(all) > 0 {
			rows[strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "kind=")] = all[0]
		}
	}
	return rows
}

func lines(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
}

// firstOf returns the first line of each kind.
func firstOf(t *testing.T, events []string) map[string]string {
	t.Helper()
	first := map[string]string{}
	for _, line := range events {
		var of struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal([]byte(line), &of); err != nil || of.Kind == "" {
			t.Fatalf("%.300s: %v", line, err)
		}
		if first[of.Kind] == "" {
			first[of.Kind] = line
		}
	}
	return first
}

// TestJSON: docs/json.md. An event of each kind that the samples have is, to the byte, the line of testdata/json at every door; a row
// of a file has the values of that line. With -update the lines are written again.
func TestJSON(t *testing.T) {
	hub := "nats://" + commandtest.FreeAddr(t)
	stop, err := natsserver.Start(natsserver.Options{Dir: t.TempDir(), URL: hub})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	conn, err := nats.Connect(hub)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "testdata"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"arms.map", "arms.teehistorian.gz"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "decoders", "teehistorian", "physics", "testdata", "rooms", name))
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "teehistorian", name), data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	log, _ := background(t, "serve", "--listen", "127.0.0.1:0", "--web-listen", "127.0.0.1:0", "--root", "samples="+dir)
	d := &jsonDoors{T: t, addr: address(t, log, "serving"), web: address(t, log, "serving browsers"), hub: hub, conn: conn, dir: dir}
	for _, c := range registry.Codecs() {
		var all []string
		for k := 1; k < len(c.Tables.Kinds); k++ {
			all = append(all, c.Tables.Kinds[k].Name)
		}
		var golden []string
		seen := map[string]bool{}
		path := filepath.Join("..", "..", "testdata", "json", c.Format.String()+".jsonl")
		before, _ := os.ReadFile(path)
		for _, sample := range jsonSamples[c.Format.String()] {
			kinds, replay := strings.Join(d.possible(c, sample, all), ","), c.Format.String()+"/"+sample
			want := firstOf(t, d.cat(c, replay, kinds))
			for _, kind := range slices.Sorted(maps.Keys(want)) {
				if !seen[kind] {
					seen[kind] = true
					golden = append(golden, want[kind])
				}
			}
			for name, door := range map[string]func(*codec.Codec, string, string) []string{
				"cat of a daemon": d.catOfDaemon, "lines": d.plain, "server-sent events": d.serverSent, "Connect": d.connect, "publish": d.publish,
			} {
				got := firstOf(t, door(c, replay, kinds))
				for kind := range want {
					if got[kind] != want[kind] {
						t.Errorf("%s, %s: %s\n got %.600s\nwant %.600s", replay, name, kind, got[kind], want[kind])
					}
				}
			}
			got := d.export(replay, kinds)
			for kind := range want {
				if err := sameValues(c, kind, got[kind], want[kind]); err != nil {
					t.Errorf("%s, export: %s: %v\n got %.600s\nwant %.600s", replay, kind, err, got[kind], want[kind])
				}
			}
		}
		text := strings.Join(golden, "\n") + "\n"
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have := lines(string(before))
		for i, line := range golden {
			if i >= len(have) || have[i] != line {
				t.Errorf("%s, line %d: got %.600s", path, i+1, line)
				break
			}
		}
		if len(have) != len(golden) {
			t.Errorf("%s has %d lines, want %d", path, len(have), len(golden))
		}
	}
}

// possible returns the kinds that a replay may have: others are refused.
func (d *jsonDoors) possible(c *codec.Codec, sample string, all []string) []string {
	var info replaydv1.GetReplayResponse
	body := d.get(http.MethodGet, "/v1/replays/samples/"+c.Format.String()+"/"+sample+"?view=full", nil, nil)
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, &info); err != nil {
		d.Fatal(err)
	}
	var some []string
	for i, kind := range all {
		needsMap := c.Filters.Kinds[i+1].Map && info.GetReplay().GetMapReplay() == ""
		if !needsMap && (c.Lacks == nil || !c.Lacks(info.GetReplay(), uint8(i+1))) {
			some = append(some, kind)
		}
	}
	return some
}

// common are the columns that have the names of members of an event.
var common = []string{"offset", "index", "at_tick", "warnings", "player", "other_player", "unproven"}

// cases are the members of a row that tell which member of a oneof is there. Events have none.
var cases = regexp.MustCompile(`"[a-z_]+_case":"[a-z0-9_]+",?`)

// sameValues returns an error if a row has another value than the event, or a member that the event has not.
func sameValues(c *codec.Codec, kind, row, event string) error {
	var got, want, body map[string]json.RawMessage
	for text, into := range map[string]*map[string]json.RawMessage{cases.ReplaceAllString(row, ""): &got, event: &want} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(want[kind], &body); err != nil {
		return err
	}
	message := c.NewEventList().ProtoReflect().Descriptor().Fields().ByName("events").Message().Oneofs().ByName("kind").Fields().
		ByName(protoreflect.Name(kind)).Message()
	for name, value := range got {
		if name == "time" { // which events have not
			continue
		}
		from, there := body[name]
		switch short, renamed := strings.CutPrefix(name, kind+"_"); {
		case slices.Contains(common, name) && want[name] != nil:
			from, there = want[name], true
		case renamed && message.Fields().ByName(protoreflect.Name(name)) == nil:
			from, there = body[short], body[short] != nil
		}
		if !there && string(value) != "[]" {
			return fmt.Errorf("the event has no %s", name)
		}
		if there && !bytes.Equal(value, from) {
			return fmt.Errorf("%s is %s in a row, and %s in the event", name, value, from)
		}
	}
	return nil
}
