package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/replayd/replayd/proto/eventjson"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
)

type infoCmd struct {
	target

	Replay string `arg:"" help:"A file, - for the standard input, or with --addr a replay's name."`
	Count  bool   `help:"Decode all of it and add: events of each kind, last_tick, end."`
}

// Run prints the description.
func (c *infoCmd) Run(ctx context.Context, con console) error {
	if c.Count && c.Replay == "-" && c.Addr == "" {
		return usageError{errors.New("--count reads the replay twice, which the standard input cannot be")}
	}
	replay, err := c.describe(ctx, con.in)
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
		err = c.count(ctx, con, facts)
	}
	encoder := json.NewEncoder(con.out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if encodeErr := encoder.Encode(facts); encodeErr != nil {
		return encodeErr
	}
	return err
}

// describe asks for the description. It may return both what could be told and why there is no more.
func (c *infoCmd) describe(ctx context.Context, in io.Reader) (replay *replaydv1.Replay, err error) {
	if c.Addr != "" {
		err = c.ask(ctx, func(ctx context.Context, client replaydv1.ReplayServiceClient) error {
			resp, err := client.GetReplay(ctx, &replaydv1.GetReplayRequest{Replay: c.Replay})
			replay = resp.GetReplay()
			return err
		})
		return replay, err
	}
	file, err := openLocal(in, c.Replay)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return service.Describe(ctx, file)
}

// count decodes the whole replay and adds what was counted to the facts. What was counted before an error is added too.
func (c *infoCmd) count(ctx context.Context, con console, facts map[string]json.RawMessage) error {
	counts := map[string]int64{}
	var end *replaydv1.StreamEnd
	var lastTick int32
	progress := newProgress(con)
	d := decoded{
		event: func(p *eventjson.Printer, _ place, event []byte, _ [][]byte) error {
			kind, tick, err := p.Kind(event)
			counts[kind]++
			lastTick = tick
			return err
		},
		batched: func() error { return nil },
		other: func(r *replaydv1.StreamEventsResponse) error {
			if r.GetEnd() != nil {
				end = r.GetEnd()
			}
			return nil
		},
	}
	req := &replaydv1.StreamEventsRequest{Replay: c.Replay, MaxBatchEvents: 4096}
	r := resumer{target: &c.target, req: req, each: func(raw []byte) error {
		progress.add(len(raw))
		return d.response(raw)
	}}
	err := r.run(ctx)
	progress.done()
	reason := "error"
	if end != nil {
		lastTick = end.GetLastTick()
		reason = strings.ToLower(strings.TrimPrefix(end.GetReason().String(), "END_REASON_"))
		if end.GetDetail() != "" {
			facts["end_detail"] = asJSON(end.GetDetail())
		}
	} else if err != nil {
		facts["end_detail"] = asJSON(message(err))
	}
	facts["end"] = asJSON(reason)
	facts["last_tick"] = json.RawMessage(fmt.Sprint(lastTick))
	facts["events"] = asJSON(counts)
	return err
}

// asJSON is a text or a map of numbers as JSON.
func asJSON[T string | map[string]int64](v T) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null") // neither can fail
	}
	return b
}
