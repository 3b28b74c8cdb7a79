package streamtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// readActors adds the players and the teams of who did something and of whom it was done to.
func (e *event) readActors(actors ...json.RawMessage) error {
	for _, raw := range actors {
		var a struct {
			PlayerID *int32 `json:"player_id"`
			Team     *int32 `json:"team"`
		}
		if len(raw) == 0 {
			continue
		}
		if err := json.Unmarshal(raw, &a); err != nil {
			return err
		}
		e.players, e.teams = append(e.players, some(a.PlayerID)...), append(e.teams, some(a.Team)...)
	}
	return nil
}

func (e *event) readDem(line []byte, b *body) error {
	switch e.kind {
	case "chat", "ping", "map_line", "chat_wheel":
		e.players = atLeastZero(b.PlayerID)
	case "player_info":
		e.players = atLeastZero(b.Slot)
	case "sample_player":
		e.players, e.teams = atLeastZero(b.PlayerID), some(b.Team)
	case "user_cmd", "ability_change", "voice":
		e.players = atLeastZero(b.PlayerSlot)
	case "fact_kill":
		return e.readActors(b.Killer, b.Victim)
	case "fact_damage", "fact_blind":
		return e.readActors(b.Attacker, b.Victim)
	case "fact_ward", "fact_draft", "fact_player_round", "fact_objective", "fact_purchase", "fact_grenade", "fact_buyback", "fact_rune", "fact_smoke":
		return e.readActors(b.Player, b.Actor, b.Buyer)
	case "damage":
		e.players = append(atLeastZero(b.AttackerSlot), atLeastZero(b.VictimSlot)...)
	case "chat_event":
		var players []int32
		if err := json.Unmarshal(b.Players, &players); len(b.Players) > 0 && err != nil {
			return err
		}
		for _, p := range players[:min(2, len(players))] {
			e.players = append(e.players, atLeastZero(&p)...)
		}
	case "combat_log":
		for _, t := range []uint32{b.AttackerTeam, b.TargetTeam} {
			if t != 0 {
				e.teams = append(e.teams, int32(t))
			}
		}
	default:
		e.class = b.Class
	}
	e.typ = b.typeOf(e.kind)
	for _, f := range b.Fields {
		var named struct {
			Field string `json:"field"`
		}
		if err := json.Unmarshal(f, &named); err != nil {
			return err
		}
		e.fields = append(e.fields, field{named.Field, string(f)})
	}
	if len(e.fields) > 0 {
		const open = `"fields":[`
		at := bytes.Index(line, []byte(open)) + len(open)
		e.head, e.tail = string(line[:at]), string(line[at:])
		for i, f := range e.fields {
			e.tail = strings.TrimPrefix(e.tail, f.text)
			if i < len(e.fields)-1 {
				e.tail = strings.TrimPrefix(e.tail, ",")
			}
		}
		if e.with(e.fields) != e.text {
			return fmt.Errorf("cannot be put together again: %s", e.with(e.fields))
		}
	}
	return nil
}
