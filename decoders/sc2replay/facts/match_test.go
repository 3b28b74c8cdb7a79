package facts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay"
)

// somebody returns the player_info of a user, with the events' number of the player.
func somebody(user uint32, name string, team uint32, fill func(*sc2replay.PlayerInfo)) *sc2replay.Event {
	return at(0, user+1, sc2replay.KindPlayerInfo, func(ev *sc2replay.Event) {
		ev.Player.Name = []byte(name)
		ev.PlayerInfo = sc2replay.PlayerInfo{Ref: ev.Player, HasRef: true, Team: team, Race: []byte("Zerg")}
		if fill != nil {
			fill(&ev.PlayerInfo)
		}
	})
}

// saved is when the replay of a test was saved.
const saved = decoders.Time(1_700_000_000_000_000)

// described returns the description of a game of 2,240 gameloops, 100 seconds.
func described(results ...uint32) []*sc2replay.Event {
	return []*sc2replay.Event{
		at(0, 0, sc2replay.KindStart, func(ev *sc2replay.Event) {
			ev.Start = sc2replay.Start{ElapsedGameLoops: 2240, LoopsPerRealSecond: 22.4}
			ev.Start.DecodeInfo.Names = sc2replay.NameTable{Expansion: []byte("LotV"), ExpansionGuessed: true}
		}),
		at(0, 0, sc2replay.KindDetails, func(ev *sc2replay.Event) {
			ev.Details = sc2replay.Details{
				Title: []byte("Testbed"), CacheHandles: [][]byte{[]byte("mod"), []byte("map")}, TimeUtc: saved, HasTimeUtc: true,
			}
			for _, r := range results {
				ev.Details.PlayerList = append(ev.Details.PlayerList, sc2replay.DetailsPlayer{Result: r})
			}
		}),
		at(0, 0, sc2replay.KindAttributes, func(ev *sc2replay.Event) {
			ev.Attributes.Attributes = []sc2replay.Attribute{
				{Name: []byte("teams"), Scope: 16, Value: []byte("1v1")}, {Name: []byte("game_mode"), Scope: 16, Value: []byte("Amm")},
				{Name: []byte("teams"), Scope: 1, Value: []byte("no")},
			}
		}),
		at(0, 0, sc2replay.KindGameMetadata, func(ev *sc2replay.Event) { ev.GameMetadata.Title = []byte("Summary") }),
	}
}

// TestMatch: a game is what its description says; who won, and how that is known.
func TestMatch(t *testing.T) {
	won := func(p *sc2replay.PlayerInfo) { p.Result = sc2replay.ResultWin }
	lost := func(p *sc2replay.PlayerInfo) { p.Result, p.Computer = sc2replay.ResultLoss, true }
	watches := func(p *sc2replay.PlayerInfo) { p.Observer, p.Result = true, sc2replay.ResultWin }
	const head = "2000 fact_match - Testbed of map, LotV true, 1v1 Amm, from 0 for 2240, 100 s at 2023-11-14T22:11:40Z, chosen false, won by "
	for name, tt := range map[string]struct {
		events []*sc2replay.Event
		want   string
	}{
		"by the details": {
			append(described(2, 1), somebody(0, "Bob", 0, lost), somebody(1, "Ann", 1, won), somebody(2, "Cy", 2, watches)),
			head + "1, source 1: Bob Zerg 0 3 true Ann Zerg 1 2 false",
		},
		"by the summary": {append(described(0), somebody(1, "Ann", 0, won)), head + "0, source 2: Ann Zerg 0 2 false"},
		"not known":      {append(described(0), somebody(1, "Ann", 0, nil)), head + "-, source 0: Ann Zerg 0 0 false"},
		"two of a team": {
			append(described(1, 1), somebody(0, "Bob", 3, won), somebody(1, "Ann", 3, won)),
			head + "3, source 1: Bob Zerg 3 2 false Ann Zerg 3 2 false",
		},
		"one team": {
			append(described(1, 1), somebody(0, "Bob", 0, won), somebody(1, "Ann", 0, lost)),
			head + "-, source 1: Bob Zerg 0 2 false Ann Zerg 0 3 true",
		},
		"two teams": {
			append(described(1, 1), somebody(0, "Bob", 0, won), somebody(1, "Ann", 1, won)),
			head + "-, source 1: Bob Zerg 0 2 false Ann Zerg 1 2 false",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, conclude(append(tt.events, ended(2000, sc2replay.PartStateComplete))...)[0]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestChosen: where the map chooses the players, the game begins with the first of their main buildings. A rate of actions counts up to
// the time when the player left.
func TestChosen(t *testing.T) {
	rule := func(p *sc2replay.PlayerInfo) {
		p.ObserverSource, p.Mmr, p.HasMmr = sc2replay.ObserverSourceRule, 4000, true
	}
	got := conclude(append(described(1), somebody(0, "Ann", 0, rule), born(0, 0, unit(1, "Nexus", other), 3), born(5, 0, unit(2, "Nexus", other), 3),
		born(224, 1, unit(3, "Nexus", other), 3), born(448, 1, unit(4, "Nexus", other), 3), at(500, 1, sc2replay.KindCmd, nil),
		at(672, 1, sc2replay.KindGameUserLeave, nil), ended(2240, sc2replay.PartStateComplete))...)
	want := []string{
		"224 fact_build_step 1 Nexus begun - supply - upgrade false unit true", "448 fact_build_step 1 Nexus begun - supply - upgrade false unit true",
		"2240 fact_match - Testbed of map, LotV true, 1v1 Amm, from 224 for 2016, 90 s at 2023-11-14T22:11:40Z, " +
			"chosen true, won by -, source 1: Ann Zerg 0 0 false",
		"2240 fact_player 1 at 3 quotient - capped - of 0 actions 1 left 672 made 0 0 lost 0 0 supply - result 0 apm 2 mmr 4000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestChat: who can read a message follows from the recipient, the teams, who observes and who has left.
func TestChat(t *testing.T) {
	observer := func(p *sc2replay.PlayerInfo) { p.Observer = true }
	computer := func(p *sc2replay.PlayerInfo) { p.Computer = true }
	say := func(user uint32, name string, to sc2replay.Recipient) *sc2replay.Event {
		return at(9, user+1, sc2replay.KindChat, func(ev *sc2replay.Event) {
			ev.Player.Name, ev.Player.HasPlayerId = []byte(name), false
			ev.Chat = sc2replay.Chat{Recipient: to, Text: []byte("gl")}
		})
	}
	nobody := say(0, "", sc2replay.RecipientAll)
	nobody.HasPlayer = false
	got := conclude(
		somebody(0, "Ann", 0, nil), somebody(1, "Bob", 0, nil), somebody(2, "Cy", 1, nil), somebody(3, "Dan", 0, observer),
		somebody(4, "Eve", 1, observer), somebody(5, "AI", 0, computer),
		say(0, "Ann", sc2replay.RecipientAll), say(0, "Ann", sc2replay.RecipientAllies), say(0, "Ann", sc2replay.RecipientObservers),
		say(3, "Dan", sc2replay.RecipientAllies), say(3, "Dan", sc2replay.RecipientObservers), say(2, "Cy", sc2replay.RecipientAllies),
		say(0, "Ann", sc2replay.RecipientIndividual), nobody, say(9, "Who", sc2replay.RecipientAllies),
		at(10, 2, sc2replay.KindPlayerLeave, nil), say(0, "Ann", sc2replay.RecipientAllies),
	)
	want := []string{
		"9 fact_chat 1 Ann observer false to 1 [Bob Cy Dan Eve]: gl", "9 fact_chat 1 Ann observer false to 2 [Bob]: gl",
		"9 fact_chat 1 Ann observer false to 5 [Dan Eve]: gl", "9 fact_chat 4 Dan observer true to 2 [Eve]: gl",
		"9 fact_chat 4 Dan observer true to 5 [Eve]: gl", "9 fact_chat 3 Cy observer false to 2 []: gl",
		"9 fact_chat 1 Ann observer false to 3 []: gl", "9 fact_chat -  observer false to 1 [Ann Bob Cy Dan Eve]: gl",
		"9 fact_chat 10 Who observer false to 2 []: gl", "9 fact_chat 1 Ann observer false to 2 []: gl",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
