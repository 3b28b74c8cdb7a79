package dem_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestMatches: what people ask of a match is in the events, with names. The files are bundled with the command.
func TestMatches(t *testing.T) {
	for name, data := range map[string][]byte{"dota": demtest.Match(), "cs2": demtest.Round(), "deadlock": demtest.Fight()} {
		t.Run(name, func(t *testing.T) {
			golden(t, filepath.Join("..", "..", "testdata", "dem", name+".dem"), data)
			var out strings.Builder
			decode(t, data, dem.Options{}, func(d *dem.Decoder, ev *dem.Event) {
				switch ev.Kind {
				case dem.KindSerializer, dem.KindClassInfo, dem.KindGameEventType, dem.KindStringTable, dem.KindStringTableEntry:
					return
				case dem.KindFault:
					t.Errorf("%s", readable(d, ev))
				}
				fmt.Fprintln(&out, readable(d, ev))
			})
			golden(t, filepath.Join("..", "..", "testdata", "dem", name+".golden"), []byte(out.String()))
		})
	}
}

// told returns what an event says under some headings, for events that people ask for.
func asked(d *dem.Decoder, ev *dem.Event) string {
	fields := func(fields []dem.FieldValue) (out string) {
		for i := range fields {
			if f := &fields[i]; len(f.Name) > 0 {
				out += fmt.Sprintf(" %s=%s", d.Name(f.Field), f.Name)
			} else if d.Name(f.Field) == "CBodyComponent.place" {
				out += fmt.Sprintf(" place=%v", f.Vector)
				if f.ValueCase == dem.FieldValueValueNone {
					out += "?"
				}
			}
		}
		return out
	}
	switch ev.Kind {
	case dem.KindChat:
		return fmt.Sprintf("%s (%s): %s", ev.Chat.PlayerName, ev.Chat.HeroName, ev.Chat.Text)
	case dem.KindChatEvent:
		return fmt.Sprintf("%s %s", ev.ChatEvent.TypeName, ev.ChatEvent.HeroNames)
	case dem.KindPing:
		return fmt.Sprintf("%s pings", ev.Ping.PlayerName)
	case dem.KindOrder:
		return fmt.Sprintf("%s %s", ev.Order.TypeName, ev.Order.AbilityName)
	case dem.KindPlayerInfo:
		return fmt.Sprintf("%d is %s, %d, bot %v", ev.PlayerInfo.Slot, ev.PlayerInfo.Name, ev.PlayerInfo.SteamId, ev.PlayerInfo.IsBot)
	case dem.KindGameEvent:
		out := string(ev.GameEvent.Name)
		for i := range ev.GameEvent.Keys {
			if k := &ev.GameEvent.Keys[i]; k.ValueCase == dem.GameEventKeyValuePlayer {
				out += fmt.Sprintf(" %s=%d %s %d", k.Name, k.Player, k.PlayerName, k.SteamId)
			}
		}
		return out
	case dem.KindEntityCreated:
		return "created" + fields(ev.EntityCreated.Fields)
	case dem.KindEntityUpdated:
		return "updated" + fields(ev.EntityUpdated.Fields)
	case dem.KindFileInfo:
		out := "draft"
		for _, p := range ev.FileInfo.Match.Draft {
			out += fmt.Sprintf(" %v %s", p.IsPick, p.HeroName)
		}
		return out
	}
	return ""
}

// TestNames: numbers have the names that the file or the table gives them, whatever else is asked for.
func TestNames(t *testing.T) {
	body := func(x, y, z float32) string { return fmt.Sprintf(" place=%v", dem.Vector{X: x, Y: y, Z: z}) }
	const name = " m_pEntity.m_nameStringableIndex="
	for file, test := range map[string]struct {
		data []byte
		want map[dem.Kind][]string
	}{
		"dota": {demtest.Match(), map[dem.Kind][]string{
			dem.KindChat:       {"another (npc_dota_hero_lina): gl hf", "somebody (npc_dota_hero_axe): gg"},
			dem.KindChatEvent:  {"CHAT_MESSAGE_HERO_KILL [npc_dota_hero_lina npc_dota_hero_axe]", "CHAT_MESSAGE_TOWER_KILL [npc_dota_hero_axe]", "CHAT_MESSAGE_ROSHAN_KILL []"},
			dem.KindPing:       {"somebody pings"},
			dem.KindOrder:      {"DOTA_UNIT_ORDER_CAST_POSITION axe_culling_blade"},
			dem.KindPlayerInfo: {"0 is somebody, 76561197960265729, bot false", "1 is another, 76561197960265730, bot false"},
			dem.KindEntityCreated: {
				"created m_pGameRules.m_nGameState=DOTA_GAMERULES_STATE_PRE_GAME", "created m_vecPlayerTeamData.0000.m_nSelectedHeroID=npc_dota_hero_axe m_vecPlayerTeamData.0001.m_nSelectedHeroID=npc_dota_hero_lina", "created",
				"created" + name + "npc_dota_hero_axe" + body(-6700, -6300, 384), "created" + name + "npc_dota_hero_lina" + body(6700.5, 6300, 384),
				"created" + name + "item_blink m_nAbilityID=item_blink", "created" + name + "npc_dota_observer_wards" + body(-1500, 900, 256),
			},
			dem.KindEntityUpdated: {
				"updated", "updated" + body(-2000, -1800.25, 256), "updated m_pGameRules.m_nGameState=DOTA_GAMERULES_STATE_GAME_IN_PROGRESS", "updated" + body(100, 90, 128), "updated" + body(130, 128, 128),
				"updated", "updated" + body(-1500, 900, 256), "updated",
			},
			dem.KindFileInfo: {"draft false npc_dota_hero_invoker true npc_dota_hero_axe true npc_dota_hero_lina"},
		}},
		"cs2": {demtest.Round(), map[dem.Kind][]string{
			dem.KindPlayerInfo: {"0 is somebody, 76561197960265729, bot false", "1 is Larry, 0, bot true"},
			dem.KindGameEvent: {
				"round_start", "bomb_planted userid=0 somebody 76561197960265729",
				"player_death userid=0 somebody 76561197960265729 attacker=1 Larry 0 assister=-1  0", "bomb_defused userid=1 Larry 0", "round_end",
			},
			dem.KindEntityCreated: {"created", "created", "created" + body(-1000.5, 2000, 64), "created" + body(1000, -500, 64), "created"},
			dem.KindEntityUpdated: {
				"updated", "updated" + body(-900, 1900, 64), "updated", "updated", "updated" + body(-900, 1900, 20), "updated" + body(0, 0, 0) + "?",
			},
		}},
	} {
		for kind, want := range test.want {
			for _, alone := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %v, alone=%v", file, kind, alone), func(t *testing.T) {
					opts := dem.Options{}
					if alone {
						opts.Kinds = func(k dem.Kind) bool { return k == kind }
					}
					var got []string
					decode(t, test.data, opts, func(d *dem.Decoder, ev *dem.Event) {
						if ev.Kind == kind {
							got = append(got, asked(d, ev))
						}
					})
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}
