//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/facts"
	"github.com/replayd/replayd/e2e/ddnet"
)

// calledLine matches what the server logs of a vote: the caller, and what it is about.
var calledLine = regexp.MustCompile(`'(\w+)' called (?:for )?vote to (?:change server option|kick) '(\w+)' \((.*)\)`)

// overLine matches what the server logs when a vote is over.
var overLine = regexp.MustCompile(`Vote (?:passed|failed)`)

// TestVotesAgreeWithLog: the facts of a recording have the votes that clients with protocol 0.7 call and answer, with the names of the
// callers, as the server's log and the clients have them. Servers record no votes of other clients.
func TestVotesAgreeWithLog(t *testing.T) {
	t.Parallel()
	ctx, srv, bots := start(t, ddnet.Config{Settings: []string{
		`add_vote hello "echo hello"`, "sv_spamprotection 0", "sv_vote_delay 0", "sv_join_vote_delay 0", "sv_vote_kick_min 0", "sv_vote_time 3", "sv_vote_kick_delay 0",
	}})
	// A server takes no votes to kick in its first five seconds.
	for votes, script := range []string{`
		anna join7
		bert join7
		carl join
		anna callvote option hello say it
		sleep 300ms
		bert vote no
		carl vote yes
	`, `
		sleep 6s
		bert callvote kick 0 go away
		sleep 300ms
		anna vote no
		sleep 300ms
		anna vote yes
		sleep 500ms
	`} {
		if err := bots.Run(ctx, script); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for len(overLine.FindAllString(srv.Log(), -1)) <= votes {
			if time.Since(began) > 30*time.Second {
				t.Fatal("a vote has no end")
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	var called, answered [][]string
	for _, ev := range factsOf(t, srv.Games()[0].Recording) {
		switch ev := ev.(type) {
		case teehistorian.FactCallVote:
			about := string(ev.Value)
			if ev.TargetClientId >= 0 {
				about = [...]string{"anna", "bert", "carl"}[ev.TargetClientId]
			}
			called = append(called, []string{string(ev.RequestedName), about, string(ev.Reason)})
		case teehistorian.FactVote:
			answered = append(answered, []string{string(ev.RequestedName), fmt.Sprint(ev.Vote)})
		}
	}
	var logged [][]string
	for _, m := range calledLine.FindAllStringSubmatch(srv.Log(), -1) {
		logged = append(logged, m[1:])
	}
	if len(logged) != 2 || !cmp.Equal(called, logged) {
		t.Errorf("called votes %q, the log has %q", called, logged)
	}
	if want := [][]string{{"bert", "-1"}, {"anna", "-1"}, {"anna", "1"}}; !cmp.Equal(answered, want) {
		t.Errorf("answers %q, want %q", answered, want)
	}
}

// factsOf returns the facts about votes in a recording.
func factsOf(t *testing.T, path string) (all []any) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d := teehistorian.New(file, teehistorian.Options{})
	header, err := d.Header()
	if err != nil {
		t.Fatal(err)
	}
	fold := facts.New(header, facts.Options{})
	var fact teehistorian.Event
	for ev, err := range decoders.All(d) {
		if err != nil {
			t.Fatal(err)
		}
		for fold.Apply(ev); fold.Next(&fact); {
			switch fact.Kind {
			case teehistorian.KindFactCallVote:
				all = append(all, fact.FactCallVote)
			case teehistorian.KindFactVote:
				all = append(all, fact.FactVote)
			}
		}
	}
	return all
}
