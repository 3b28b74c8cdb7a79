package agent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/agent"
	"github.com/replayd/replayd/internal/daemontest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const game = "samples/teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"

// connect returns an assistant's session with a daemon that serves the samples, and a client of the daemon.
func connect(t *testing.T) (*mcp.ClientSession, *client.Client) {
	t.Helper()
	daemon := daemontest.New("samples", filepath.Join("..", "..", "..", "testdata"))
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := daemon.Stop(); err != nil {
			t.Error(err)
		}
	})
	direct, err := client.Dial(daemon.Addr, client.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = direct.Close() })
	here, there := mcp.NewInMemoryTransports()
	serving, err := agent.New(direct, "test").Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "assistant", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = serving.Wait()
	})
	return session, direct
}

type object = map[string]any

// call calls a tool. failed says that the answer is an error.
func call(t *testing.T, s *mcp.ClientSession, tool string, arguments object) (text string, failed bool) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error(), true
	}
	for _, content := range result.Content {
		switch c := content.(type) {
		case *mcp.TextContent:
			text += c.Text
		case *mcp.ImageContent:
			picture, err := png.Decode(bytes.NewReader(c.Data))
			if err != nil || c.MIMEType != "image/png" {
				t.Fatal(c.MIMEType, err)
			}
			text += pictured(picture) + "\n"
		}
	}
	return text, result.IsError
}

// pictured returns a picture as a line that can be compared.
func pictured(picture image.Image) string {
	pixels := image.NewRGBA(picture.Bounds())
	draw.Draw(pixels, pixels.Rect, picture, picture.Bounds().Min, draw.Src)
	return fmt.Sprintf("picture %v %x", pixels.Rect, sha256.Sum256(pixels.Pix))
}

// TestEvents: what get_events gives, answer after answer, is what a stream has, whatever the limit.
func TestEvents(t *testing.T) {
	t.Parallel()
	session, direct := connect(t)
	const most = 256 << 10 // 128 KiB, and a response that is not divided
	goesOn := regexp.MustCompile(`(?m)^There are more: cursor (\S+)\n\z`)
	for _, test := range []struct {
		limit     int
		arguments object
		request   *replaydv1.EventFilter
	}{
		{1000, object{"replay": game}, &replaydv1.EventFilter{}},
		{7, object{"replay": game, "kinds": []string{"join", "drop", "message"}}, &replaydv1.EventFilter{Kinds: []string{"join", "drop", "message"}}},
		{1, object{"replay": game, "kinds": []string{"fact_session"}}, &replaydv1.EventFilter{Kinds: []string{"fact_session"}}},
		{30, object{"replay": game, "players": []int{1}, "from_tick": 100, "to_tick": 300}, &replaydv1.EventFilter{
			Players: []int32{1}, Ticks: &replaydv1.TickRange{Min: new(int32(100)), Max: new(int32(300))},
		}},
		{15, object{"replay": game, "kinds": []string{"sample_player"}, "every": 100}, &replaydv1.EventFilter{
			Kinds: []string{"sample_player"}, Ticks: &replaydv1.TickRange{Every: new(int32(100))},
		}},
		{1000, object{"replay": "samples/datafile/sample.map"}, &replaydv1.EventFilter{}},
		{20, object{"replay": "samples/sc2replay/battle.SC2Replay"}, &replaydv1.EventFilter{}},
		{25, object{"replay": "samples/dem/dota.dem"}, &replaydv1.EventFilter{}},
		{1000, object{"replay": game, "kinds": []string{"sample_player"}, "every": 1}, &replaydv1.EventFilter{
			Kinds: []string{"sample_player"}, Ticks: &replaydv1.TickRange{Every: new(int32(1))},
		}},
		{3, object{"replay": game, "where": "event.client_id == 1"}, &replaydv1.EventFilter{Players: []int32{1}}},
		{25, object{"replay": "samples/dem/cs2.dem", "classes": []string{"CCSPlayer*"}}, &replaydv1.EventFilter{Dem: &replaydv1.DemFilter{Classes: []string{"CCSPlayer*"}}}},
	} {
		name := test.arguments["replay"].(string)
		var want []string
		req := &replaydv1.StreamEventsRequest{Replay: name, Include: []*replaydv1.EventFilter{test.request}}
		for event, err := range direct.Events(t.Context(), req) {
			if err != nil {
				t.Fatal(name, err)
			}
			line, err := event.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, string(line))
		}
		var got []string
		test.arguments["limit"] = test.limit
		for answers := 0; ; answers++ {
			text, failed := call(t, session, "get_events", test.arguments)
			if failed || answers > len(want) {
				t.Fatalf("%s: %s after %d answers", name, text, answers)
			}
			more := goesOn.FindStringSubmatch(text)
			lines := slices.Collect(strings.Lines(goesOn.ReplaceAllString(text, "")))
			if len(text) > most {
				t.Fatalf("an answer has %d bytes", len(text))
			}
			if len(lines) > test.limit {
				t.Fatalf("%s: an answer has %d events, and may have %d", name, len(lines), test.limit)
			}
			for _, line := range lines {
				got = append(got, strings.TrimSuffix(line, "\n"))
			}
			if more == nil {
				break
			}
			test.arguments["cursor"] = more[1]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d events, want %d", name, len(got), len(want))
		}
		if len(want) == 0 {
			t.Errorf("%s: nothing to compare", name)
		}
	}
}

// TestRefusals: what cannot be answered is told as an error of the tool, with what was wrong, and the session goes on.
func TestRefusals(t *testing.T) {
	t.Parallel()
	session, _ := connect(t)
	for _, test := range []struct {
		tool      string
		arguments object
		want      string
	}{
		{"get_events", object{"replay": "samples/none"}, "REPLAY_NOT_FOUND"},
		{"get_events", object{"replay": "../../etc/passwd"}, "REPLAY_NOT_FOUND"},
		{"get_events", object{"replay": game, "kinds": []string{"kill"}}, "kill"},
		{"get_events", object{"replay": game, "limit": 100000}, "limit: 100000 is not within 1 and 1000"},
		{"get_events", object{"replay": game, "limit": -1}, "limit"},
		{"get_events", object{"replay": game, "cursor": "no cursor"}, "cursor"},
		{"get_events", object{"replay": game, "cursor": "AQ"}, "start.cursor: not a cursor"},
		{"get_events", object{"replay": game, "follow": true}, "follow"},
		{"get_events", object{"replay": game, "where": "event.client_idd == 1"}, "where: column 6: none of the events"},
		{"get_events", object{"kinds": []string{"join"}}, "replay"},
		{"get_events", object{"replay": 7}, "replay"},
		{"get_state", object{"replay": game}, "tick"},
		{"get_picture", object{"replay": game}, "tick: a picture of a game is that of a moment"},
		{"get_picture", object{"replay": "samples/sc2replay/battle.SC2Replay", "tick": 1}, "replay: where players are is known of DDNet games and demos alone"},
		{"get_picture", object{"replay": "samples/none.map"}, "REPLAY_NOT_FOUND"},
		{"get_report", object{"replay": strings.Repeat("x", 1<<16)}, ""},
		{"list_replays", object{"format": "demo"}, "the formats are teehistorian, datafile, dem and sc2replay"},
		{"list_replays", object{"state": "over"}, "the states are growing, silent, finished and abandoned"},
		{"list_replays", object{"page_token": "x"}, "page"},
		{"list_kinds", object{}, "format"},
		{"delete_replay", object{"replay": game}, "delete_replay"},
	} {
		if text, failed := call(t, session, test.tool, test.arguments); !failed || !strings.Contains(text, test.want) {
			t.Errorf("%s %.80v: %q, want an error with %q", test.tool, test.arguments, text, test.want)
		}
	}
	if text, failed := call(t, session, "get_replay", object{"replay": game}); failed {
		t.Errorf("afterwards: %s", text)
	}
}

// TestTools: each tool only reads, and says what it and each argument is for.
func TestTools(t *testing.T) {
	t.Parallel()
	session, _ := connect(t)
	var names []string
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
		if !tool.Annotations.ReadOnlyHint || tool.Description == "" {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
		for name, property := range tool.InputSchema.(object)["properties"].(object) {
			if property.(object)["description"] == nil {
				t.Errorf("%s: nothing says what %s is", tool.Name, name)
			}
		}
	}
	if want := []string{"get_events", "get_picture", "get_replay", "get_report", "get_state", "list_kinds", "list_replays"}; !slices.Equal(slices.Sorted(slices.Values(names)), want) {
		t.Errorf("tools: %v", names)
	}
}

// TestLeaves: a call ends when the assistant gives it up.
func TestLeaves(t *testing.T) {
	t.Parallel()
	session, _ := connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_events", Arguments: object{"replay": game}}); !errors.Is(err, context.Canceled) {
		t.Error(fmt.Errorf("a call that was given up: %w", err))
	}
}
