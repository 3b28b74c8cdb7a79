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
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/service"
)

type infoCmd struct {
	Target

	Replay string `arg:"" help:"A file, - for the standard input, or with --addr a replay's name."`
	View   string `help:"What is described: full, the header and the players in it, or participants, everybody who took part in a teehistorian file." enum:"full,participants" default:"full"`
	Count  bool   `help:"Decode the whole replay and add the number of events of each kind, last_tick, end, and which fields of a demo's messages are not known."`
}

// Run prints the description.
func (c *infoCmd) Run(ctx context.Context, con Console, p Program) error {
	if c.Count && c.Replay == "-" && c.Addr == "" {
		return usageError{errors.New("--count reads the replay twice, so it cannot be the standard input")}
	}
	replay, err := c.describe(ctx, p, con.In)
	if replay == nil {
		return err
	}
	text, marshalErr := protojson.MarshalOptions{UseProtoNames: true}.Marshal(replay)
	if marshalErr != nil {
		return marshalErr
	}
	facts := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &facts); err != nil {
		return err
	}
	if c.Count && err == nil {
		err = c.count(ctx, con, p, facts)
	}
	encoder := json.NewEncoder(con.Out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if encodeErr := encoder.Encode(facts); encodeErr != nil {
		return encodeErr
	}
	return err
}

// describe returns the description. It may return both a partial description and the error that makes it partial.
func (c *infoCmd) describe(ctx context.Context, p Program, in io.Reader) (replay *replaydv1.Replay, err error) {
	if c.Addr != "" {
		err = c.ask(func(daemon *client.Client) error {
			view := replaydv1.ReplayView_value["REPLAY_VIEW_"+strings.ToUpper(c.View)]
			replay, err = daemon.View(ctx, c.Replay, replaydv1.ReplayView(view))
			return err
		})
		return replay, err
	}
	file, err := openLocal(ctx, p, in, c.Replay)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if c.View == "full" {
		return service.Describe(ctx, file)
	}
	return service.DescribeParticipants(ctx, file, codec.Secrets{})
}

// count decodes the whole replay and adds the counts to facts, even if decoding fails.
func (c *infoCmd) count(ctx context.Context, con Console, p Program, facts map[string]json.RawMessage) error {
	counts := map[string]int64{}
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
			counts[event.Kind]++
			lastTick = event.Tick
		}
		return nil
	}}
	err := s.run(ctx, &replaydv1.StreamEventsRequest{Replay: c.Replay, MaxBatchEvents: 4096})
	progress.done()
	reason := "error"
	if end != nil {
		lastTick = end.GetLastTick()
		reason = strings.ToLower(strings.TrimPrefix(end.GetReason().String(), "END_REASON_"))
		if end.GetDetail() != "" {
			facts["end_detail"] = asJSON(end.GetDetail())
		}
		addUnknownFields(facts, end.GetDem())
	} else if err != nil {
		facts["end_detail"] = asJSON(Message(err))
	}
	facts["end"] = asJSON(reason)
	facts["last_tick"] = json.RawMessage(fmt.Sprint(lastTick))
	facts["events"] = asJSON(counts)
	return err
}

// addUnknownFields adds the fields of messages that the decoder of a demo does not know, if there are any.
func addUnknownFields(facts map[string]json.RawMessage, of *demv1.Summary) {
	fields := &demv1.Summary{UnknownFields: of.GetUnknownFields(), MoreUnknownFields: of.GetMoreUnknownFields()}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(fields)
	if err == nil {
		_ = json.Unmarshal(text, &facts) // it adds to the map
	}
}

// asJSON marshals a text or a map of numbers.
func asJSON[T string | map[string]int64](v T) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null") // neither can fail
	}
	return b
}
