package main

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/icza/s2prot/build"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

func TestCommittedTableIsCurrent(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../decoders/sc2replay/protocol/protocol.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("protocol.txt is out of date: run this tool again")
	}
}

// TestEqualToPublished compares every layout of every base build that s2prot has, including aliases, with the layout
// that replayd uses.
func TestEqualToPublished(t *testing.T) {
	builds := slices.Sorted(maps.Keys(build.Builds))
	for alias := range build.Duplicates {
		builds = append(builds, alias)
	}
	slices.Sort(builds)
	compared := 0
	for _, b := range builds {
		published, ok := build.Builds[b]
		if !ok {
			published = build.Builds[build.Duplicates[b]]
		}
		p, err := parse(published)
		if err != nil {
			t.Fatalf("%d: %v", b, err)
		}
		chosen, match := protocol.Default().Select(b)
		if match != protocol.Exact && match != protocol.Alias {
			t.Errorf("%d: found as %v", b, match)
		}
		table, err := protocol.Default().Table(chosen)
		if err != nil {
			t.Fatal(err)
		}
		compared += compare(t, b, p, table)
	}
	t.Logf("%d layouts of %d builds are equal", compared, len(builds))
}

func compare(t *testing.T, b int, p *published, table *protocol.Table) (compared int) {
	t.Helper()
	equal := func(what string, typ int, tags bool, got *protocol.Type) {
		t.Helper()
		compared++
		want, err := p.expand(typ, tags, nil)
		if err != nil {
			t.Errorf("%d: %s: %v", b, what, err)
		} else if got.String() != want {
			t.Errorf("%d: %s is\n%v, published\n%s", b, what, got, want)
		}
	}
	user, ok := p.roots["replay_userid"]
	if !ok {
		user = p.roots["replay_playerid"]
	}
	equal("user", user, false, table.User)
	equal("header", p.roots["replay_header"], true, table.Header)
	equal("details", p.roots["game_details"], true, table.Details)
	equal("initData", p.roots["replay_initdata"], false, table.InitData)
	for s, name := range []string{"game", "message", "tracker"} {
		stream := protocol.Stream(s)
		n := 0
		for _, e := range table.Events(stream) {
			if e != nil {
				n++
			}
		}
		if n != len(p.events[name]) {
			t.Errorf("%d: %d %s events, published %d", b, n, name, len(p.events[name]))
		}
		if root, ok := p.roots[name+"_eventid"]; ok {
			if got, _ := p.expand(root, false, nil); got != (&protocol.Type{Kind: protocol.Int, Bits: table.IDBits[stream]}).String() {
				t.Errorf("%d: number of %s events is %s", b, name, got)
			}
		}
		for _, want := range p.events[name] {
			got := table.Event(stream, want.id)
			if got == nil || got.Name != want.name {
				t.Errorf("%d: %s event %d is %v, published %s", b, name, want.id, got, want.name)
				continue
			}
			equal(name+" "+want.name, want.typ, stream == protocol.Tracker, got.Type)
		}
	}
	return compared
}
