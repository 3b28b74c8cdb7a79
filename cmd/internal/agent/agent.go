package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/status"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// maxAnswer is the number of bytes at which an answer takes no more events: an assistant reads all of it. The last response of the daemon
// that it takes stays whole.
const maxAnswer = 128 << 10

// patience is how long a call of a tool may take.
const patience = time.Minute

const instructions = `Replays of games: DDNet games (teehistorian), Teeworlds and DDNet maps (datafile), Source 2 demos of Dota 2, Counter-Strike 2 and Deadlock (dem), and StarCraft II replays (sc2replay).
Begin with list_replays. get_report says who took part in a game and how it stood. list_kinds names the kinds of events of a format; kinds that begin with fact_ say what happened in the game's own terms, those with sample_ how players stand at a tick; both come only if they are asked for by name. get_events gives events, get_state what was the case at a tick, get_picture a picture of a map or of a moment.
A tick is the time of a replay in its own clock; a replay's ticks_per_second says how long one is. Absent fields are not known.`

// New returns a server of the tools. The client must live longer than the server's sessions.
func New(c *client.Client, version string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "replayd", Title: "Game replays", Version: version}, &mcp.ServerOptions{Instructions: instructions})
	t := tools{c}
	add(server, "list_replays", "Lists replays, ordered by name, with maps, players, lengths, results and states.", t.listReplays)
	add(server, "get_replay", "Describes one replay: format, map, players, length, state, and what its header says.", t.getReplay)
	add(server, "get_report", "Says who took part in a game, on which side, with which results and scores, and how the game stood after a tick, stands, or ended.", t.getReport)
	add(server, "list_kinds", "Lists the kinds of events of a format, with the conditions of a filter that each can meet.", t.listKinds)
	add(server, "get_events", "Gives the events of a replay that meet all conditions, in their order, as lines of JSON.", t.getEvents)
	add(server, "get_state", "Gives the state of a replay after a tick, as the events that describe it: players, entities, positions, names.", t.getState)
	draw(server, "get_picture", "Draws a map of Teeworlds or DDNet as it plays, or where the players of a DDNet game or a demo are at a tick, and says who is which dot.", t.getPicture)
	return server
}

type tools struct{ daemon *client.Client }

// add adds a tool that returns a text for arguments.
func add[A any](server *mcp.Server, name, about string, f func(context.Context, A) (string, error)) {
	draw(server, name, about, func(ctx context.Context, arguments A) ([]mcp.Content, error) {
		text, err := f(ctx, arguments)
		return []mcp.Content{&mcp.TextContent{Text: text}}, err
	})
}

// draw adds a tool that returns an answer for arguments.
func draw[A any](server *mcp.Server, name, about string, f func(context.Context, A) ([]mcp.Content, error)) {
	tool := &mcp.Tool{Name: name, Description: about, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	mcp.AddTool(server, tool, func(ctx context.Context, request *mcp.CallToolRequest, arguments A) (*mcp.CallToolResult, any, error) {
		ctx, cancel := context.WithTimeout(asCaller(ctx, request.GetExtra()), patience)
		defer cancel()
		answer, err := f(ctx, arguments)
		if err != nil {
			return nil, nil, told(err) // the session tells the assistant, and goes on
		}
		return &mcp.CallToolResult{Content: answer}, nil, nil
	})
}

// told returns an error as assistants get it: with the daemon's reason, and without what gRPC puts around it.
func told(err error) error {
	s, fromDaemon := status.FromError(err)
	if _, done := errors.AsType[*client.Error](err); done || !fromDaemon {
		return err
	}
	return &client.Error{Code: s.Code(), Reason: client.ReasonOf(err), Message: s.Message()}
}

// formatOf returns the format with a name, such as "dem".
func formatOf(name string) (replaydv1.Format, error) {
	format, ok := replaydv1.Format_value["FORMAT_"+strings.ToUpper(name)]
	if !ok || format == 0 {
		return 0, fmt.Errorf("format: %q is none; the formats are teehistorian, datafile, dem and sc2replay", name)
	}
	return replaydv1.Format(format), nil
}
