package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/terminal"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/service/describe"
)

type infoCmd struct {
	Target

	Replay string `arg:"" help:"A file, - for the standard input, or with --addr a replay's name. A directory is its newest replay."`
	View   string `help:"What is described: full, the header and the players in it, or participants, everybody who took part in a teehistorian file." enum:"full,participants" default:"full"`
	Format string `short:"o" help:"table, text: for people. json: everything that is known; jsonl: on one line. csv and compact: the row and the line of replayd ls. auto: text on a terminal, else json." enum:"auto,table,json,jsonl,compact,csv,text" default:"auto" env:"-"`
	Count  bool   `help:"Decode the whole replay and add the number of events of each kind, last_tick, end, and which fields of a demo's messages are not known."`
}

// Run prints the description, and returns the error that makes it partial.
func (c *infoCmd) Run(ctx context.Context, con Console, p Program) error {
	if c.Count && c.Replay == "-" && c.Addr == "" {
		return usageError{errors.New("--count reads the replay twice, so it cannot be the standard input")}
	}
	busy := NewBusy(con.Err, "reading "+c.Replay)
	defer busy.Done()
	var replay *replaydv1.Replay
	err := c.orNewest(ctx, busy.Over(con.Err), p, c.Replay, func(name string) (err error) {
		replay, err = c.describe(ctx, p, con.In, name)
		c.Replay = name
		return err
	})
	if replay == nil {
		busy.Done()
		return err
	}
	if c.forPeople(con) && c.Addr == "" && replay.GetFormat() == replaydv1.Format_FORMAT_DEM {
		addPlayed(ctx, replay)
	}
	busy.Done()
	var counts *terminal.Counts
	if c.Count && err == nil {
		counts = &terminal.Counts{Events: map[string]int64{}}
		err = named(c.Replay, c.count(ctx, con, p, replay, counts))
	}
	if printErr := c.print(con, replay, counts); printErr != nil {
		return printErr
	}
	return err
}

// forPeople reports whether the description is printed for people.
func (c *infoCmd) forPeople(con Console) bool {
	return c.Format == "text" || c.Format == "table" || c.Format == "auto" && widthOf(con) > 0
}

func (c *infoCmd) print(con Console, replay *replaydv1.Replay, counts *terminal.Counts) error {
	switch {
	case c.Format == "csv":
		rows := newReplayRows(con.Out)
		return cmp.Or(rows.add(replay), rows.flush())
	case c.Format == "compact":
		_, err := fmt.Fprintln(con.Out, replayLine(replay))
		return err
	case c.forPeople(con):
		return (&terminal.Description{Out: con.Out, Width: widthOf(con), Dim: newPainter(con).Dim}).Print(replay, counts)
	}
	indent := "  "
	if c.Format == "jsonl" {
		indent = ""
	}
	return printJSON(con.Out, replay, counts, indent)
}

// printJSON prints a description and, if the replay was decoded, the results of decoding.
func printJSON(to io.Writer, replay *replaydv1.Replay, counts *terminal.Counts, indent string) error {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(replay)
	if err != nil {
		return err
	}
	facts := map[string]json.RawMessage{} // the fields of messages in the description keep their order
	if err := json.Unmarshal(text, &facts); err != nil {
		return err
	}
	if counts != nil {
		if err := addCounts(facts, counts); err != nil {
			return err
		}
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(facts)
}

// addCounts adds the results of decoding a replay, except its last tick.
func addCounts(facts map[string]json.RawMessage, counts *terminal.Counts) error {
	unknown, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(
		&demv1.Summary{UnknownFields: counts.Unknown, MoreUnknownFields: counts.MoreUnknown})
	if err != nil {
		return err
	}
	found, err := json.Marshal(struct {
		End    string           `json:"end"`
		Detail string           `json:"end_detail,omitempty"`
		Events map[string]int64 `json:"events"`
	}{counts.End, counts.Detail, counts.Events})
	if err != nil {
		return err
	}
	return errors.Join(json.Unmarshal(unknown, &facts), json.Unmarshal(found, &facts)) // both add to the map
}

// describe returns the description. It may return both a partial description and the error that makes it partial.
func (c *infoCmd) describe(ctx context.Context, p Program, in io.Reader, name string) (replay *replaydv1.Replay, err error) {
	if c.Addr != "" {
		err = c.ask(func(daemon *client.Client) error {
			view := replaydv1.ReplayView_value["REPLAY_VIEW_"+strings.ToUpper(c.View)]
			replay, err = daemon.View(ctx, name, replaydv1.ReplayView(view))
			return err
		})
		return replay, err
	}
	file, err := openLocal(ctx, p, in, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if c.View == "full" {
		return describe.Replay(ctx, file)
	}
	return describe.Participants(ctx, file, codec.Secrets{})
}

// count decodes the whole replay and counts its events, up to where decoding fails. It sets the replay's last tick.
func (c *infoCmd) count(ctx context.Context, con Console, p Program, replay *replaydv1.Replay, counts *terminal.Counts) error {
	var end *replaydv1.StreamEnd
	var lastTick int32
	progress := newProgress(con)
	s := streaming{target: &c.Target, program: p, each: func(r client.Response) error {
		progress.add(len(r.Wire))
		if r.Batch == nil {
			end = cmp.Or(r.Message.GetEnd(), end)
			return nil
		}
		for event, err := range r.Batch.Events() {
			if err != nil {
				return err
			}
			counts.Events[event.Kind]++
			lastTick = event.Tick
		}
		return nil
	}}
	err := s.run(ctx, &replaydv1.StreamEventsRequest{Replay: c.Replay, MaxBatchEvents: 4096})
	progress.done()
	counts.End = "error"
	if end != nil {
		lastTick = end.GetLastTick()
		counts.End = strings.ToLower(strings.TrimPrefix(end.GetReason().String(), "END_REASON_"))
		counts.Detail = end.GetDetail()
		counts.Unknown, counts.MoreUnknown = end.GetDem().GetUnknownFields(), end.GetDem().GetMoreUnknownFields()
	} else if err != nil {
		counts.Detail = Message(err)
	}
	replay.LastTick = &lastTick
	return err
}
