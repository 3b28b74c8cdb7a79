package streamtest

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// properties are the conditions that events of a kind can meet.
type properties struct{ players, teams, groups, layers, types, classes, fields, numbers bool }

// absentFrom holds, by game, the kinds of the messages that only other games of Source 2 have.
var absentFrom = map[string]map[string]bool{
	"dota": {"damage": true, "shot": true, "kill": true, "kill_streak": true, "impact": true, "ability_change": true},
	"csgo": {
		"combat_log": true, "modifier": true, "order": true, "chat_event": true, "ping": true, "map_line": true, "chat_wheel": true,
		"match_summary": true, "kill": true, "kill_streak": true, "impact": true, "ability_change": true,
	},
	"citadel": {"combat_log": true, "modifier": true, "order": true},
}

// needMap has the kinds that are refused without the map of the game.
var needMap = []string{
	"sample_character", "sample_shot",
	"fact_freeze", "fact_thaw", "fact_hit", "fact_hook", "fact_block", "fact_character_end", "fact_run",
}

// NeedsMap reports whether a request includes something that needs the map of the game.
func NeedsMap(req *replaydv1.StreamEventsRequest) bool {
	return slices.ContainsFunc(req.GetInclude(), func(f *replaydv1.EventFilter) bool {
		return slices.ContainsFunc(f.GetKinds(), func(kind string) bool { return slices.Contains(needMap, kind) })
	})
}

// documented returns the properties of each kind of a format, according to the documentation, and which of numberNames are numbers in all of
// them. Without the map it leaves out what needs it.
func documented(format string, list protoreflect.MessageDescriptor, withMap bool) (kinds map[string]properties, numbers [len(numberNames)]bool) {
	kinds = map[string]properties{}
	var others [len(numberNames)]bool
	oneof := list.Fields().ByNumber(1).Message().Oneofs().ByName("kind").Fields()
	for i := range oneof.Len() {
		name := string(oneof.Get(i).Name())
		if !withMap && slices.Contains(needMap, name) {
			continue
		}
		fields := oneof.Get(i).Message().Fields()
		has := func(field protoreflect.Name) bool { return fields.ByName(field) != nil }
		var p properties
		switch format {
		case "teehistorian":
			p = properties{players: has("client_id"), teams: has("team")}
		case "sc2replay":
			whole := []string{"start", "details", "lobby", "attributes", "game_metadata", "member", "end"}
			p.players = !slices.Contains(whole, name)
			p.teams = p.players
		case "dem":
			p.players = slices.Contains([]string{"chat", "ping", "map_line", "chat_wheel", "chat_event", "user_cmd", "player_info", "damage", "ability_change", "voice", "sample_player", "fact_kill", "fact_damage", "fact_player_round", "fact_objective", "fact_purchase", "fact_grenade", "fact_blind", "fact_buyback", "fact_rune", "fact_smoke", "fact_ward", "fact_draft"}, name)
			p.teams = slices.Contains([]string{"combat_log", "sample_player", "fact_kill", "fact_damage", "fact_player_round", "fact_objective", "fact_purchase", "fact_grenade", "fact_blind", "fact_buyback", "fact_rune", "fact_smoke", "fact_ward", "fact_draft"}, name)
			p.classes = strings.HasPrefix(name, "entity_") || name == "sample_entity"
			p.types = slices.Contains([]string{
				"combat_log", "chat_event", "order", "game_event", "modifier", "string_table_entry", "message", "command", "fault", "ability_change",
			}, name)
			p.fields = p.classes && name != "entity_left" && name != "entity_deleted"
		case "datafile":
			p = properties{groups: has("group"), layers: has("layer")}
		}
		for i, is := range numbersOf(oneof.Get(i).Message()) {
			p.numbers = p.numbers || is != isAbsent
			numbers[i], others[i] = numbers[i] || is == isNumber, others[i] || is == isOther
		}
		kinds[name] = p
	}
	for i, other := range others {
		numbers[i] = numbers[i] && !other
	}
	return kinds, numbers
}

// Everything returns the filters that select all events of a replay of a format, with the facts and samples, which a filter must name.
// The last one is that of the samples, of which an oracle knows those of all numbers of ticks that a Maker asks for.
func Everything(format replaydv1.Format) []*replaydv1.EventFilter { return everything(format, false) }

// EverythingPlayed is Everything for a game of DDNet whose map is there.
func EverythingPlayed() []*replaydv1.EventFilter {
	return everything(replaydv1.Format_FORMAT_TEEHISTORIAN, true)
}

func everything(format replaydv1.Format, withMap bool) []*replaydv1.EventFilter {
	name := protoreflect.Name(strings.ToLower(strings.TrimPrefix(format.String(), "FORMAT_")))
	list := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor().Fields().ByName(name)
	facts, samples := &replaydv1.EventFilter{}, &replaydv1.EventFilter{}
	kinds, _ := documented(string(name), list.Message(), withMap)
	for kind := range kinds {
		if strings.HasPrefix(kind, "fact_") {
			facts.Kinds = append(facts.Kinds, kind)
		}
		if strings.HasPrefix(kind, "sample_") {
			samples.Kinds = append(samples.Kinds, kind)
		}
	}
	all := []*replaydv1.EventFilter{{}}
	if len(facts.Kinds) > 0 {
		all = append(all, facts)
	}
	if len(samples.Kinds) == 0 {
		return nil
	}
	samples.Ticks = &replaydv1.TickRange{Every: new(leastEvery[string(name)])}
	return append(all, samples)
}
