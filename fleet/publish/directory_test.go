package publish_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/fleet/publish"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// another returns a sample game with another identity.
func another(t *testing.T, digit string) ([]byte, string) {
	t.Helper()
	uuid := strings.TrimPrefix(game, "teehistorian:")
	other := digit + uuid[1:]
	return bytes.ReplaceAll(read(t, samples+"/"+finished), []byte(uuid), []byte(other)), "teehistorian:" + other
}

// directory publishes the root until stop is called.
func directory(t *testing.T, p *publish.Publisher) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan error, 1)
	go func() { ended <- p.Directory(ctx, "root") }()
	return func() error {
		cancel()
		return <-ended
	}
}

// watcher looks at what is published.
type watcher struct {
	t    *testing.T
	conn *nats.Conn
}

// at returns the messages of a subject so far. There may be none.
func (w watcher) at(filter string) *subscriber {
	w.t.Helper()
	return consume(w.t, messagesOf(w.t, w.conn, publish.DefaultStream, filter))
}

// ends waits until the last message of a subject has a reason.
func (w watcher) ends(filter, reason string) *subscriber {
	w.t.Helper()
	js, err := jetstream.New(w.conn)
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := js.Stream(within(w.t), publish.DefaultStream)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() {
		if w.t.Failed() {
			for _, msg := range messagesOf(w.t, w.conn, publish.DefaultStream, ">") {
				w.t.Log(msg.Subject(), msg.Headers().Get(nats.MsgIdHdr))
			}
		}
	}()
	until(w.t, filter+" ends: "+reason, func() bool {
		msg, err := s.GetLastMsgForSubject(within(w.t), filter)
		return err == nil && msg.Header.Get(publish.HeaderReason) == reason
	})
	return w.at(filter)
}

// TestDirectory: games that are live, that appear, that are replaced, that were finished before, that have odd names, and copies.
func TestDirectory(t *testing.T) {
	h, dir := newHub(t), t.TempDir()
	old := time.Now().Add(-time.Hour)
	age := func(name string) {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	whole := read(t, samples+"/"+finished)
	second, secondID := another(t, "5")
	third, thirdID := another(t, "6")
	fourth, fourthID := another(t, "7")
	write(t, dir+"/live", whole[:3000])
	write(t, dir+"/old", second)
	age("old")
	write(t, dir+"/a.map", read(t, samples+"/datafile/sample.map")) // has no such kinds
	daemon := serve(t, dir)
	c, conn := dial(t, daemon), connect(t, h.url)
	w := watcher{t, conn}
	o := publish.Options{Request: &replaydv1.StreamEventsRequest{Include: client.Kinds("join", "player_new", "console_command")}}
	p := open(t, c, conn, o)
	stop := directory(t, p)

	until(t, "the live game is begun", func() bool { return p.Stats.Replays.Load() == 1 })
	const odd = "odd \u00fc*>%.name"
	write(t, dir+"/"+odd, third) // appears, as a whole
	got := w.ends("replayd.events."+thirdID+"."+publish.Tokens("root/"+odd), "FINISHED")
	want, err := wanted(t, c, &replaydv1.StreamEventsRequest{Replay: "root/" + odd, Include: o.Request.Include})
	if err != nil || len(want) == 0 {
		t.Fatal(err)
	}
	same(t, odd, got.lines, want)

	appendTo(t, dir+"/live", whole[3000:6000])
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	appendTo(t, dir+"/live", whole[6000:]) // it ends while nobody publishes
	age("live")
	if err := os.Rename(dir+"/live", dir+"/renamed"); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/missed", fourth) // appears and ends while nobody publishes
	p = open(t, c, conn, o)
	stop = directory(t, p)
	got = w.ends("replayd.events."+game+".root.live", "FINISHED")
	same(t, "live", got.lines, want)
	if name := got.last.Headers().Get(publish.HeaderName); name != "root/renamed" {
		t.Error("its new name:", name)
	}
	w.ends("replayd.events."+fourthID+".root.missed", "FINISHED")

	write(t, dir+"/copy", third) // of what is published
	fifth, fifthID := another(t, "8")
	write(t, dir+"/new", fifth)
	if err := os.Rename(dir+"/new", dir+"/missed"); err != nil { // another file in its place
		t.Fatal(err)
	}
	w.ends("replayd.events."+fifthID+".root.*", "FINISHED")
	if n := len(messagesOf(t, conn, publish.DefaultStream, "replayd.events."+secondID+".>")); n != 0 {
		t.Error("a game that was finished before is published")
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	o.All = true
	stop = directory(t, open(t, c, conn, o))
	w.ends("replayd.events."+secondID+".root.old", "FINISHED")
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	all := messagesOf(t, conn, publish.DefaultStream, ">")
	bySubject := map[string][]jetstream.Msg{}
	for _, msg := range all {
		bySubject[msg.Subject()] = append(bySubject[msg.Subject()], msg)
	}
	identities := map[string]bool{}
	for subject, list := range bySubject {
		if kinds := consume(t, list).kinds; !slices.Equal(kinds, []string{"start", "events", "end"}) {
			t.Error(subject, kinds)
		}
		id := list[0].Headers().Get(publish.HeaderIdentity)
		if identities[id] {
			t.Error("a second subject of", id)
		}
		identities[id] = true
	}
	if len(identities) != 5 {
		t.Error(len(identities), "replays are published, want 5")
	}
}

// TestMissed: of the replays that were whole when the publisher began, those are published that were written since the stream was made.
func TestMissed(t *testing.T) {
	h, dir := newHub(t), t.TempDir()
	daemon := serve(t, dir)
	c, conn := dial(t, daemon), connect(t, h.url)
	p := open(t, c, conn, publish.Options{})
	sample := read(t, samples+"/datafile/sample.map")
	write(t, dir+"/missed.map", sample)
	write(t, dir+"/a-old.map", slices.Concat(sample, []byte("of another identity")))
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(dir+"/a-old.map", old, old); err != nil {
		t.Fatal(err)
	}
	until(t, "the daemon knows both", func() bool {
		n := 0
		for r := range c.Replays(within(t), &replaydv1.ListReplaysRequest{}) {
			if r.GetState() == replaydv1.ReplayState_REPLAY_STATE_FINISHED {
				n++
			}
		}
		return n == 2
	})
	stop := directory(t, p)
	watcher{t, conn}.ends("replayd.events.*.root.missed%2Emap", "FINISHED")
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := len(messagesOf(t, conn, publish.DefaultStream, "replayd.events.*.root.a-old%2Emap")); n != 0 {
		t.Error("a map that was there before is published")
	}
}

// TestRemoved: a game that is removed has an end that says so, and goes on after it when it is there again. A file that takes the name of
// another one that is followed has a subject of its own.
func TestRemoved(t *testing.T) {
	h, dir := newHub(t), t.TempDir()
	whole := read(t, samples+"/"+finished)
	write(t, dir+"/live", whole[:6000])
	daemon := serve(t, dir)
	c, conn := dial(t, daemon), connect(t, h.url)
	w := watcher{t, conn}
	p := open(t, c, conn, publish.Options{})
	stop := directory(t, p)
	until(t, "events", func() bool { return p.Stats.Events.Load() > 0 })
	if err := os.Remove(dir + "/live"); err != nil {
		t.Fatal(err)
	}
	subject := "replayd.events." + game + ".root.live"
	w.ends(subject, "REMOVED")
	events := p.Stats.Events.Load()
	write(t, dir+"/live", whole[:7000])
	until(t, "it is there again", func() bool { return p.Stats.Events.Load() > events })
	other, otherID := another(t, "9")
	write(t, dir+"/other", other)
	if err := os.Rename(dir+"/other", dir+"/live"); err != nil {
		t.Fatal(err)
	}
	got := w.ends("replayd.events."+otherID+".*.*", "FINISHED")
	want, err := wanted(t, c, &replaydv1.StreamEventsRequest{Replay: "root/live"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the other", got.lines, want)
	w.ends(subject, "REPLACED")
	write(t, dir+"/back", whole)
	got = w.ends(subject, "FINISHED")
	same(t, "the first", got.lines, want)
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !slices.Equal(got.reasons, []string{"REMOVED", "REPLACED", "FINISHED"}) {
		t.Error(got.reasons)
	}
	if err := os.Truncate(dir+"/back", 5000); err != nil { // what was whole stays so
		t.Fatal(err)
	}
	messages := p.Stats.Messages.Load()
	if err := p.Replay(within(t), "root/back"); err != nil || p.Stats.Messages.Load() != messages {
		t.Error("after the end:", err)
	}
}
