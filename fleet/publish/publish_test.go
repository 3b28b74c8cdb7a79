package publish_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/decoders/teehistorian/facts"
	"github.com/replayd/replayd/fleet/publish"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestFormats: a consumer has the events of StreamEvents, for each format and encoding, with and without a filter. Publishing the
// same again does nothing.
func TestFormats(t *testing.T) {
	h, daemon := newHub(t), serve(t, samples)
	c, conn := dial(t, daemon), connect(t, h.url)
	for name, kinds := range map[string][]string{
		finished: {"join", "player_new", "drop"}, "datafile/sample.map": {"tile_layer"}, "dem/sample.dem": {"combat_log", "chat"},
		"sc2replay/5.0.SC2Replay": {"unit_born", "chat"}, "teehistorian/killed/d3a324eb-75e3-43b2-8684-d2cb343e85ec.teehistorian": nil,
	} {
		for i, o := range []publish.Options{
			{Encoding: publish.JSON}, {Encoding: publish.Proto}, {Encoding: publish.JSON, Request: &replaydv1.StreamEventsRequest{Include: client.Kinds(kinds...)}},
		} {
			o.Subject, o.Stream = fmt.Sprintf("test.%d", i), fmt.Sprintf("test-%d", i)
			req := &replaydv1.StreamEventsRequest{Replay: "root/" + name, Include: o.Request.GetInclude()}
			if kinds == nil {
				req.Include = nil
				o.Request = nil
				if i == 2 {
					continue
				}
			}
			want, err := wanted(t, c, req)
			if err != nil || len(want) == 0 {
				t.Fatal(name, len(want), err)
			}
			p := open(t, c, conn, o)
			for range 2 {
				if err := p.Replay(within(t), "root/"+name); err != nil {
					t.Fatal(name, err)
				}
			}
			got := consume(t, messagesOf(t, conn, o.Stream, fmt.Sprintf("test.%d.*.%s", i, publish.Tokens("root/"+name))))
			same(t, name, got.lines, want)
			if kinds := strings.Join(got.kinds, " "); kinds != "start events end" {
				t.Error(name, kinds)
			}
			if reason := got.reasons[0]; reason != "FINISHED" && kinds != nil || reason != "TRUNCATED" && kinds == nil {
				t.Error(name, got.reasons)
			}
			if p.Stats.Events.Load() != uint64(len(want)) {
				t.Error("counted:", p.Stats.Events.Load())
			}
		}
	}
}

// TestPayloads: starts, ends and errors have what docs/messages.md says.
func TestPayloads(t *testing.T) {
	h, dir := newHub(t), t.TempDir()
	whole := read(t, samples+"/"+finished)
	damaged := slices.Clone(whole)
	copy(damaged[len(damaged)/2:], strings.Repeat("\xff", 64))
	write(t, dir+"/damaged", damaged)
	daemon := serve(t, dir)
	c, conn := dial(t, daemon), connect(t, h.url)
	want, failed := wanted(t, c, &replaydv1.StreamEventsRequest{Replay: "root/damaged"})
	if failed == nil {
		t.Fatal("it is not damaged")
	}
	for i, encoding := range []publish.Encoding{publish.JSON, publish.Proto} {
		o := publish.Options{Encoding: encoding, Subject: fmt.Sprintf("test.%d", i), Stream: fmt.Sprintf("test-%d", i)}
		p := open(t, c, conn, o)
		for range 3 {
			err := p.Replay(within(t), "root/damaged")
			if e, ok := errors.AsType[*client.Error](err); p.Stats.Messages.Load() > 0 && err != nil &&
				(!ok || e.Reason != replaydv1.ErrorReason_ERROR_REASON_CORRUPT) {
				t.Error(err)
			}
		}
		all := messagesOf(t, conn, o.Stream, o.Subject+".>")
		got := consume(t, all)
		same(t, "damaged", got.lines, want)
		e, _ := errors.AsType[*client.Error](failed)
		offset := e.Metadata["offset"]
		if !slices.Equal(got.kinds, []string{"start", "events", "error"}) || got.reasons[0] != "CORRUPT" ||
			got.last.Headers().Get(publish.HeaderOffset) != offset || offset == "" {
			t.Error(got.kinds, got.reasons, got.last.Headers())
		}
		if most := (len(all) - 2) * 512; len(want) > most {
			t.Errorf("%d events in messages of 512 at most: %d", len(want), most)
		}
		if version := all[0].Headers().Get(publish.HeaderFacts); version != strconv.Itoa(facts.Version) || got.last.Headers().Get(publish.HeaderFacts) != "" {
			t.Errorf("the start has facts of version %q", version)
		}
		start := &replaydv1.StreamEventsResponse{}
		if encoding == publish.Proto {
			if err := proto.Unmarshal(all[0].Data(), start); err != nil || start.GetStart().GetReplay().GetIdentity() != game {
				t.Error(err, start)
			}
			continue
		}
		for _, c := range []struct {
			data []byte
			has  []string
		}{
			{all[0].Data(), []string{`{"start":{"replay":{"name":"root/damaged",`, `"identity":"` + game + `"`}},
			{got.last.Data(), []string{`{"error":{"code":"data_loss",`, `"reason":"CORRUPT"`, `"offset":"` + offset + `"`}},
		} {
			for _, text := range c.has {
				if !json.Valid(c.data) || !bytes.Contains(c.data, []byte(text)) {
					t.Errorf("no %s in %s", text, c.data)
				}
			}
		}
	}
}

// TestRefused: what would mix up the messages of a subject is refused.
func TestRefused(t *testing.T) {
	h, daemon := newHub(t), serve(t, samples)
	c, conn := dial(t, daemon), connect(t, h.url)
	p := open(t, c, conn, publish.Options{})
	if err := p.Replay(within(t), "root/"+finished); err != nil {
		t.Fatal(err)
	}
	before := p.Stats.Messages.Load()
	for what, o := range map[string]publish.Options{
		"another encoding": {Encoding: publish.Proto},
		"other kinds":      {Request: &replaydv1.StreamEventsRequest{Include: client.Kinds("join")}},
		"other kinds not":  {Request: &replaydv1.StreamEventsRequest{Exclude: client.Kinds("join")}},
		"with players":     {Request: &replaydv1.StreamEventsRequest{ResolvePlayers: true}},
	} {
		if err := open(t, c, conn, o).Replay(within(t), "root/"+finished); !errors.Is(err, publish.ErrSelection) {
			t.Error(what, err)
		}
	}
	if n := len(messagesOf(t, conn, publish.DefaultStream, ">")); uint64(n) != before {
		t.Error(n, "messages, want", before)
	}
	for _, subject := range []string{"a.b", "replayd", "replayd.event"} {
		if _, err := publish.Open(within(t), c, conn, publish.Options{Subject: subject}); !errors.Is(err, publish.ErrStream) {
			t.Error(subject, err)
		}
	}
	for _, subject := range []string{"a..b", ".", "a b", "a.*", "a.>", "$JS", "a.", strings.Repeat("a", 300)} {
		if _, err := publish.Open(within(t), c, conn, publish.Options{Subject: subject, Stream: "other"}); err == nil {
			t.Error(subject, "is accepted")
		}
	}
	if _, err := publish.Open(within(t), c, conn, publish.Options{Subject: "replayd.events.more"}); err != nil {
		t.Error("subjects that the stream has:", err)
	}
	var missing *client.Error
	if err := p.Replay(within(t), "root/none"); !errors.As(err, &missing) || missing.Reason != replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	if err := p.Replay(ctx, "root/"+finished); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
