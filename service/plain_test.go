package service_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/proto/eventjson"
	"github.com/replayd/replayd/proto/position"
	"github.com/replayd/replayd/proto/protoscan"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service"
)

// plainDaemon is a daemon that tests call by plain HTTP.
type plainDaemon struct {
	*daemon

	web string
}

func startPlain(tb testing.TB, dir string, change ...func(*service.Config)) plainDaemon {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return plainDaemon{startWith(tb, dir, listener, 5*time.Second, change...), "http://" + listener.Addr().String()}
}

// answered is the answer to a request.
type answered struct{ *http.Response }

// do sends a request and returns the answer, whose body is closed at the end of the test.
func (d plainDaemon) do(ctx context.Context, tb testing.TB, method, path string, header map[string]string, body io.Reader) answered {
	tb.Helper()
	req, err := http.NewRequestWithContext(ctx, method, d.web+path, body)
	if err != nil {
		tb.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = resp.Body.Close() })
	return answered{resp}
}

// get returns the status and the whole answer to a request.
func (d plainDaemon) get(tb testing.TB, path string, header map[string]string) (int, string) {
	tb.Helper()
	resp := d.do(timeout(tb), tb, http.MethodGet, path, header, nil)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// eventsPath returns the path of the events of a replay.
func eventsPath(replay, query string) string { return "/v1/replays/" + replay + "/events?" + query }

// line is a line of an answer: an event, or the line that ends a response.
type line struct {
	text   string
	cursor string // empty for an event
	what   map[string]json.RawMessage
}

func linesOf(tb testing.TB, body string) (lines []line) {
	tb.Helper()
	for text := range strings.Lines(body) {
		l := line{text: text}
		if err := json.Unmarshal([]byte(text), &l.what); err != nil {
			tb.Fatalf("%q: %v", text, err)
		}
		if raw, ok := l.what["cursor"]; ok {
			if err := json.Unmarshal(raw, &l.cursor); err != nil {
				tb.Fatal(err)
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// eventLines returns the lines that are events.
func eventLines(lines []line) (events []string) {
	for _, l := range lines {
		if l.cursor == "" && l.what["error"] == nil {
			events = append(events, l.text)
		}
	}
	return events
}

// printed returns the lines that correspond to a stream by gRPC.
func (d plainDaemon) printed(tb testing.TB, req *replaydv1.StreamEventsRequest) (events []string) {
	tb.Helper()
	s := d.Session(timeout(tb), req, nil)
	if s.Err != nil {
		tb.Fatal(s.Err)
	}
	for _, raw := range s.Responses {
		var r replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(raw, &r); err != nil {
			tb.Fatal(err)
		}
		for message, state := range map[protoreflect.Message]bool{r.GetBatch().ProtoReflect(): false, r.GetState().ProtoReflect(): true} {
			if !message.IsValid() || message.WhichOneof(message.Descriptor().Oneofs().ByName("events")) == nil {
				continue
			}
			list := message.Get(message.WhichOneof(message.Descriptor().Oneofs().ByName("events"))).Message()
			wire, err := proto.Marshal(list.Interface())
			if err != nil {
				tb.Fatal(err)
			}
			p := eventjson.New(list.Descriptor())
			each, stringTable, err := p.List(wire, nil, nil)
			if err != nil {
				tb.Fatal(err)
			}
			var places position.Reader
			for number, b := range map[protowire.Number][]int64{
				protoscan.BatchOffsets: r.GetBatch().GetOffsets(), protoscan.BatchIndexes: r.GetBatch().GetIndexes(),
			} {
				for _, n := range b {
					places.Field(protoscan.Field{Number: number, Type: protowire.VarintType, Value: protowire.EncodeZigZag(n)})
				}
			}
			for i, event := range each {
				var text []byte
				if state {
					text, err = p.AppendState(nil, event, stringTable)
				} else {
					at := eventjson.Place{Sequence: r.GetBatch().GetFirstSequence() + uint64(i)}
					at.Offset, at.Index, _ = places.Next()
					text, err = p.AppendLine(nil, at, event, stringTable)
				}
				if err != nil {
					tb.Fatal(err)
				}
				events = append(events, string(text))
			}
		}
	}
	return events
}

// message is a server-sent event.
type message struct{ id, event, data string }

// messages parses server-sent events as an EventSource does.
func messages(body string) (list []message) {
	for part := range strings.SplitSeq(body, "\n\n") {
		m := message{}
		for text := range strings.SplitSeq(part, "\n") {
			field, value, _ := strings.Cut(text, ": ")
			switch field {
			case "id":
				m.id = value
			case "event":
				m.event = value
			case "data":
				m.data = value
			}
		}
		if m.data != "" {
			list = append(list, m)
		}
	}
	return list
}

// TestPlainResume: a stream resumed at any cursor continues exactly after the events before that cursor. It has a start and an end.
func TestPlainResume(t *testing.T) {
	d := startPlain(t, samples("teehistorian", "finished"))
	replay := name(filepath.Base(finishedSample))
	const query = "kind=player_diff,join&max-batch-events=400"
	_, body := d.get(t, eventsPath(replay, query), nil)
	lines := linesOf(t, body)
	if lines[0].what["start"] == nil || lines[len(lines)-1].what["end"] == nil {
		t.Errorf("the lines begin with %v and end with %v", lines[0], lines[len(lines)-1])
	}
	_, body = d.get(t, eventsPath(replay, query), map[string]string{"Accept": "text/event-stream"})
	if list := messages(body); list[0].event != "start" || list[len(list)-1].event != "end" || list[len(list)-1].id != "over" {
		t.Errorf("the server-sent events begin with %v and end with %v", list[0], list[len(list)-1])
	}
	all := eventLines(lines)
	before := 0
	for _, l := range lines {
		if l.cursor == "" {
			before++
			continue
		}
		_, rest := d.get(t, eventsPath(replay, query+"&cursor="+l.cursor), nil)
		got := eventLines(linesOf(t, rest))
		if len(got) != len(all)-before || len(got) > 0 && withoutNumber(got[0]) != withoutNumber(all[before]) {
			t.Fatalf("behind %d events come %d of %d", before, len(got), len(all))
		}
		_, rest = d.get(t, eventsPath(replay, query+"&tick=3"), map[string]string{"Accept": "text/event-stream", "Last-Event-ID": l.cursor})
		count := 0
		for _, m := range messages(rest) {
			if m.event == "" {
				count += strings.Count(m.data, `"sequence":`)
			}
		}
		if count != len(all)-before {
			t.Fatalf("an EventSource gets behind %d events %d of %d", before, count, len(all))
		}
	}
	if code, body := d.get(t, eventsPath(replay, ""), map[string]string{"Accept": "text/event-stream", "Last-Event-ID": "over"}); code != http.StatusNoContent || body != "" {
		t.Errorf("an EventSource that has everything: %d %q", code, body)
	}
}

// withoutNumber returns an event's line without its number, which depends on where the stream began.
func withoutNumber(text string) string {
	_, rest, _ := strings.Cut(text, ",")
	return rest
}

// TestPlainDescriptions asks for lists and for single replays.
func TestPlainDescriptions(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "events"), read(t, finishedSample)) // a file named like the end of the path
	write(t, filepath.Join(dir, "a dir", "b+c?.map"), read(t, find(t, samples("datafile"), ".map")[0]))
	d := startPlain(t, dir)
	for _, test := range []struct {
		path string
		code int
		want string
	}{
		{"/v1/replays", 200, `"name":"root/a dir/b+c?.map"`},
		{"/v1/replays?format=datafile", 200, `{"replays":[{"name":"root/a dir/b+c?.map"`},
		{"/v1/replays?format=dem", 200, `"replays":[]`},
		{"/v1/replays?map=nothing&state=finished,growing", 200, `"coverage":{"total_files":"2"`},
		{"/v1/replays?directory=root/a%20dir&page-size=1&view=full", 200, `"datafile":{`},
		{"/v1/replays/root%2Fevents", 200, `"name":"root/events"`},
		{"/v1/replays/root/events/events?kind=finish", 200, `"kind":"finish"`},
		{"/v1/replays/root%2Fevents/events?kind=finish", 200, `"kind":"finish"`},
		{"/v1/replays/root/events", 400, `"code":"invalid_argument"`}, // the events of a directory
		{"/v1/replays/root/a%20dir/b+c%3F.map?view=basic", 200, `"format":"FORMAT_DATAFILE"`},
		{"/v1/replays/root/none", 404, `"reason":"REPLAY_NOT_FOUND"`},
		{"/v1/replays/root/../../etc/passwd", 404, `"reason":"REPLAY_NOT_FOUND"`},
		{"/v1/replays/", 400, `"field":"replay"`},
		{"/v1/other", 404, `"code":"not_found"`},
	} {
		req := &http.Request{Method: http.MethodGet, Host: strings.TrimPrefix(d.web, "http://"), Header: http.Header{}}
		var err error
		if req.URL, err = url.Parse(d.web + test.path); err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DisableKeepAlives: true}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != test.code || !strings.Contains(string(body), test.want) {
			t.Errorf("%s: %d %s, want %d and %s", test.path, resp.StatusCode, body, test.code, test.want)
		}
	}
}

// TestPlainParameters: each parameter reaches the request. Invalid parameters are refused by name.
func TestPlainParameters(t *testing.T) {
	d := startPlain(t, samples("teehistorian", "finished"))
	replay := name(filepath.Base(finishedSample))
	everything := len(d.printed(t, &replaydv1.StreamEventsRequest{Replay: replay}))
	filter := func(f *replaydv1.EventFilter) *replaydv1.StreamEventsRequest {
		return &replaydv1.StreamEventsRequest{Replay: replay, Include: []*replaydv1.EventFilter{f}}
	}
	low, high := int32(200), int32(400)
	for query, req := range map[string]*replaydv1.StreamEventsRequest{
		"kind=join&kind=drop,finish":   filter(&replaydv1.EventFilter{Kinds: []string{"join", "drop", "finish"}}),
		"player=0":                     filter(&replaydv1.EventFilter{Players: []int32{0}}),
		"team=1":                       filter(&replaydv1.EventFilter{Teams: []int32{1}}),
		"from-tick=200&to-tick=400":    filter(&replaydv1.EventFilter{Ticks: &replaydv1.TickRange{Min: &low, Max: &high}}),
		"exclude-kind=input_diff,tick": {Replay: replay, Exclude: []*replaydv1.EventFilter{{Kinds: []string{"input_diff", "tick"}}}},
		"last=7":                       {Replay: replay, Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 7}}},
		"tick=300":                     {Replay: replay, Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 300}}},
		"now":                          {Replay: replay, Start: &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}}},
		"resolve-players=true":         {Replay: replay, ResolvePlayers: true},
	} {
		want := d.printed(t, req)
		_, body := d.get(t, eventsPath(replay, query), nil)
		if got := eventLines(linesOf(t, body)); !slices.Equal(got, want) || len(got) == everything && query != "resolve-players=true" {
			t.Errorf("%s: %d events, want %d of %d", query, len(got), len(want), everything)
		}
	}
	for query, field := range map[string]string{
		"knid=join": "knid", "kind=none": "kinds", "tick=x": "tick", "tick=99999999999": "tick", "tick=1&last=2": "tick",
		"follow=perhaps": "follow", "strict&strict": "strict", "cursor=!": "cursor", "last=0": "start.last_events",
		"class=x": "include[0].dem.classes", "field=x": "include[0].dem.fields", "type=x": "include[0].dem.types", "layer=1": "include[0].datafile", "group=1": "include[0].datafile",
		"next-in-directory": "successor_rule", "heartbeat=soon": "heartbeat", "%zz": "query", "max-batch-events=-1": "max-batch-events",
	} {
		code, body := d.get(t, eventsPath(replay, query), nil)
		var answer struct {
			Error struct {
				Field string `json:"field"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatalf("%s: %s", query, body)
		}
		if code != http.StatusBadRequest || !strings.Contains(answer.Error.Field, field) {
			t.Errorf("%s: %d %s, want a word on %s", query, code, body, field)
		}
	}
	for path, field := range map[string]string{
		"/v1/replays?formats=dem": "formats", "/v1/replays?format=DEM": "format", "/v1/replays?state=new": "state",
		"/v1/replays?earliest-start-time=now": "earliest-start-time", "/v1/replays?page-size=-1": "page_size",
		"/v1/replays/" + replay + "?kind=join": "kind", "/v1/replays/" + replay + "?view=all": "view",
	} {
		if code, body := d.get(t, path, nil); code != http.StatusBadRequest || !strings.Contains(body, `"field":"`+field+`"`) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for _, test := range [][2]string{{http.MethodPut, "/v1/replays"}, {http.MethodPost, "/v1/replays/x"}, {http.MethodGet, "/v1/decode"}, {http.MethodHead, eventsPath(replay, "")}} {
		if resp := d.do(timeout(t), t, test[0], test[1], nil, nil); resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") == "" {
			t.Errorf("%s %s: %s", test[0], test[1], resp.Status)
		}
	}
}

// TestPlainDecode uploads samples: compressed, uncompressed, damaged and too long.
func TestPlainDecode(t *testing.T) {
	d := startPlain(t, samples())
	data := read(t, finishedSample)
	rel, err := filepath.Rel(samples(), finishedSample)
	if err != nil {
		t.Fatal(err)
	}
	want := d.printed(t, &replaydv1.StreamEventsRequest{
		Replay: name(filepath.ToSlash(rel)), Include: []*replaydv1.EventFilter{{Kinds: []string{"player_diff", "join"}}},
	})
	for what, test := range map[string]struct {
		body, query string
		code        int
		last        string
	}{
		"a replay":        {string(data), "?kind=player_diff,join", 200, "FINISHED"},
		"compressed":      {string(decodertest.Gzip(t, data)), "?kind=player_diff,join", 200, "FINISHED"},
		"cut":             {string(data[:len(data)/2]), "?strict", 200, `"reason":"TRUNCATED"`},
		"no replay":       {"what is this?", "", 400, `"reason":"UNKNOWN_FORMAT"`},
		"nothing":         {"", "", 400, `"reason":"UNKNOWN_FORMAT"`},
		"followed":        {string(data), "?follow", 400, `"field":"follow"`},
		"5 MiB of a game": {string(data[:len(data)-1]) + strings.Repeat("\x41\x00", 5<<19), "?kind=join", 200, `"reason":"TOO_LARGE"`},
	} {
		resp := d.do(timeout(t), t, http.MethodPost, "/v1/decode"+test.query, nil, strings.NewReader(test.body))
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		lines := linesOf(t, string(body))
		if last := lines[len(lines)-1].text; resp.StatusCode != test.code || !strings.Contains(last, test.last) {
			t.Errorf("%s: %s, ends %s", what, resp.Status, last)
		}
		if strings.HasPrefix(test.query, "?kind=p") && !slices.Equal(eventLines(lines), want) {
			t.Errorf("%s: %d events, want %d", what, len(eventLines(lines)), len(want))
		}
	}
}

// TestPlainGuarded: a token is accepted only in its header, and allows the same as by gRPC.
func TestPlainGuarded(t *testing.T) {
	dir, secret := t.TempDir(), t.TempDir()
	copyIn(t, dir, finishedSample)
	write(t, filepath.Join(secret, "secret.teehistorian"), read(t, finishedSample))
	g := startGuarded(t, dir, secret, "good roots="+alias+"\nmaps formats=datafile\n")
	d := plainDaemon{g.daemon, "http://" + g.web}
	mine, theirs := name(filepath.Base(finishedSample)), others+"/secret.teehistorian"
	for _, path := range []string{"/v1/replays", "/v1/replays/" + mine, eventsPath(mine, "kind=join")} {
		for what, header := range map[string]map[string]string{
			"no token": nil, "a cookie": {"Cookie": "authorization=Bearer good; token=good"}, "another token": {"Authorization": "Bearer bad"},
			"another scheme": {"Authorization": "Basic good"},
		} {
			resp := d.do(timeout(t), t, http.MethodGet, path, header, nil)
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusUnauthorized || !strings.Contains(string(body), "no valid token") ||
				resp.Header.Get("WWW-Authenticate") == "" || resp.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s with %s: %s %s", path, what, resp.Status, body)
			}
		}
		if code, body := d.get(t, path, map[string]string{"Authorization": "Bearer good"}); code != http.StatusOK || strings.Contains(body, "secret") {
			t.Errorf("%s: %d %.200s", path, code, body)
		}
	}
	resp := d.do(timeout(t), t, http.MethodPost, "/v1/decode", nil, bytes.NewReader(read(t, finishedSample)))
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("an upload without a token: %s", resp.Status)
	}
	for _, path := range []string{"/v1/replays/" + theirs, eventsPath(theirs, ""), "/v1/replays/" + mine + "/../../" + theirs} {
		if code, body := d.get(t, path, map[string]string{"Authorization": "Bearer good"}); code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _ := d.get(t, eventsPath(mine, ""), map[string]string{"Authorization": "Bearer maps"}); code == http.StatusOK {
		t.Error("a token for maps gets a game")
	}
}

// TestPlainLimits: a stream counts towards the limit of streams until it ends.
func TestPlainLimits(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, "live.teehistorian")
	w.write(read(t, finishedSample)[:5000])
	d := startPlain(t, dir, func(c *service.Config) { c.MaxStreams = 1 })
	ctx, leave := context.WithCancel(timeout(t))
	first := d.do(ctx, t, http.MethodGet, eventsPath(name("live.teehistorian"), "follow"), nil, nil)
	if _, err := bufio.NewReader(first.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	resp := d.do(timeout(t), t, http.MethodGet, eventsPath(name("live.teehistorian"), "follow"), nil, nil)
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(body), "TOO_MANY_STREAMS") || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a second stream: %s %v %s", resp.Status, resp.Header, body)
	}
	leave()
	for {
		code, body := d.get(t, eventsPath(name("live.teehistorian"), "kind=join"), nil)
		if code == http.StatusOK {
			break
		}
		if code != http.StatusTooManyRequests {
			t.Fatalf("%d %s", code, body)
		}
	}
}

// TestPlainTooLarge: a replay that is too large for any try is told so by a status that does not ask for another one.
func TestPlainTooLarge(t *testing.T) {
	dir := t.TempDir()
	good := read(t, finishedSample)
	write(t, filepath.Join(dir, "limit.teehistorian"), slices.Concat(good[:16], []byte(`{"comment":"`), slices.Repeat([]byte("x"), 300<<10)))
	d := startPlain(t, dir)
	resp := d.do(timeout(t), t, http.MethodGet, "/v1/replays/"+name("limit.teehistorian")+"/events", nil, nil)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(body), `"reason":"TOO_LARGE"`) || resp.Header.Get("Retry-After") != "" {
		t.Errorf("%d %s: %s", resp.StatusCode, resp.Header.Get("Retry-After"), body)
	}
}

// TestPlainLongCursor: a cursor of the largest promised size arrives whole, by the query and by a header: it is refused for what it says.
func TestPlainLongCursor(t *testing.T) {
	dir := t.TempDir()
	d := startPlain(t, dir)
	path := "/v1/replays/" + copyIn(t, dir, finishedSample) + "/events"
	long := cursor.Text(bytes.Repeat([]byte{0xa5}, 4096))
	for what, code := range map[string]int{
		"query":  first(d.get(t, path+"?cursor="+long, nil)),
		"header": first(d.get(t, path, map[string]string{"Accept": "text/event-stream", "Last-Event-ID": long})),
	} {
		if code != http.StatusBadRequest {
			t.Errorf("%s: %d", what, code)
		}
	}
}

func first(code int, _ string) int { return code }
