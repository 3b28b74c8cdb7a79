package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/replayd/replayd/proto/eventjson"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// maxReplays is how many replays an answer has at most.
const maxReplays = 100

type listArguments struct {
	Directory string `json:"directory,omitempty" jsonschema:"a root of the daemon, or a directory below it, such as ddnet/2026; without it all roots"`
	Format    string `json:"format,omitempty" jsonschema:"teehistorian, datafile, dem or sc2replay"`
	Player    string `json:"player,omitempty" jsonschema:"the name of a player"`
	Map       string `json:"map,omitempty" jsonschema:"the map's name"`
	Server    string `json:"server,omitempty" jsonschema:"the server's name, a colon and its port, such as My server:8303, or *:8303"`
	State     string `json:"state,omitempty" jsonschema:"growing, silent, finished or abandoned"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many replays to give, 1 to 100; 20 without it"`
	PageToken string `json:"page_token,omitempty" jsonschema:"goes on where an earlier answer ended, with the same other arguments"`
}

func (t tools) listReplays(ctx context.Context, a listArguments) (string, error) {
	limit, err := within(a.Limit, 20, maxReplays)
	if err != nil {
		return "", err
	}
	req := &replaydv1.ListReplaysRequest{
		Directory: a.Directory, PageSize: int32(limit), PageToken: a.PageToken, View: replaydv1.ReplayView_REPLAY_VIEW_PLAYERS,
	}
	if a.Format != "" {
		format, err := formatOf(a.Format)
		if err != nil {
			return "", err
		}
		req.Formats = []replaydv1.Format{format}
	}
	filter := &replaydv1.ReplayFilter{PlayerName: a.Player, MapName: a.Map, Server: a.Server}
	if a.State != "" {
		state, ok := replaydv1.ReplayState_value["REPLAY_STATE_"+strings.ToUpper(a.State)]
		if !ok || state == 0 {
			return "", fmt.Errorf("state: %q is none; the states are growing, silent, finished and abandoned", a.State)
		}
		filter.States = []replaydv1.ReplayState{replaydv1.ReplayState(state)}
	}
	if a.Player != "" || a.Map != "" || a.Server != "" || a.State != "" {
		req.Filter = filter
	}
	page, err := t.daemon.Service().ListReplays(ctx, req)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, replay := range page.GetReplays() {
		line, err := eventjson.Marshal(replay)
		if err != nil {
			return "", err
		}
		text.Write(line)
		text.WriteByte('\n')
	}
	switch token := page.GetNextPageToken(); {
	case token != "":
		_, _ = fmt.Fprintf(&text, "There are more: page_token %s\n", token)
	case len(page.GetReplays()) == 0:
		text.WriteString("There is none.\n")
	}
	return text.String(), nil
}

type replayArguments struct {
	Replay string `json:"replay" jsonschema:"the name of a replay, as list_replays gives it"`
}

func (t tools) getReplay(ctx context.Context, a replayArguments) (string, error) {
	replay, err := t.daemon.View(ctx, a.Replay, replaydv1.ReplayView_REPLAY_VIEW_PARTICIPANTS)
	if err != nil {
		return "", err
	}
	line, err := eventjson.Marshal(replay)
	return string(line), err
}

type reportArguments struct {
	Replay string `json:"replay" jsonschema:"the name of a replay, as list_replays gives it"`
	Tick   *int32 `json:"tick,omitempty" jsonschema:"how the game stood after this tick; without it how it stands or ended"`
}

func (t tools) getReport(ctx context.Context, a reportArguments) (string, error) {
	report, err := t.daemon.Report(ctx, a.Replay, a.Tick)
	if err != nil {
		return "", err
	}
	line, err := eventjson.Marshal(report)
	return string(line), err
}

type kindArguments struct {
	Format string `json:"format" jsonschema:"teehistorian, datafile, dem or sc2replay"`
}

func (t tools) listKinds(ctx context.Context, a kindArguments) (string, error) {
	format, err := formatOf(a.Format)
	if err != nil {
		return "", err
	}
	info, err := t.daemon.Info(ctx)
	if err != nil {
		return "", err
	}
	for _, f := range info.GetFormats() {
		if f.GetFormat() == format {
			line, err := eventjson.Marshal(f)
			return string(line), err
		}
	}
	return "", fmt.Errorf("format: this daemon does not decode %s", a.Format)
}

// within returns a limit, or usual if it is not given.
func within(limit, usual, most int) (int, error) {
	switch {
	case limit == 0:
		return usual, nil
	case limit < 0 || limit > most:
		return 0, fmt.Errorf("limit: %d is not within 1 and %d", limit, most)
	}
	return limit, nil
}
