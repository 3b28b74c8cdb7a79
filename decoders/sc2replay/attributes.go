package sc2replay

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"

	"github.com/replayd/replayd/decoders"
)

// firstWithSource is the base build since which attributes begin with a byte that identifies their source.
const firstWithSource = 17326

const (
	attributeSize  = 13 // namespace, id, scope, value
	attributeSpeed = 3000
	attributeRace  = 3001
)

// readAttributes reads replay.attributes.events, which has little-endian records of fixed size.
func (p *Replay) readAttributes() {
	data, found, err := p.member(memberAttributes, maxSmall)
	size := len(data)
	if !found {
		p.absent(memberAttributes)
		return
	}
	if size == 0 { // the form in which the game's API writes it
		p.status(memberAttributes, 0, 0, err)
		return
	}
	a := &p.Attributes
	rest := data
	if p.Start.Version.BaseBuild >= firstWithSource {
		a.Source, a.HasSource = uint32(rest[0]), true
		rest = rest[1:]
	}
	if len(rest) < 8 {
		p.status(memberAttributes, size, 0, errors.Join(err, decoders.ErrTruncated))
		return
	}
	le := binary.LittleEndian
	a.MapNamespace = le.Uint32(rest)
	// The number of records follows, but some replays have fewer.
	rest = rest[8:]
	for ; len(rest) >= attributeSize; rest = rest[attributeSize:] {
		id := le.Uint32(rest[4:])
		attribute := Attribute{
			Namespace: le.Uint32(rest), Id: id, Name: []byte(attributeNames[id]), Scope: uint32(rest[8]),
		}
		attribute.setValue([4]byte(rest[9:]))
		a.Attributes = append(a.Attributes, attribute)
	}
	p.Has.Attributes = true
	if err == nil && len(rest) > 0 {
		err = decoders.Errorf(decoders.SC2Replay, int64(size-len(rest)), decoders.NoTick, memberAttributes, decoders.ErrTruncated,
			"%d bytes of an attribute", len(rest))
	}
	p.status(memberAttributes, size, size-len(rest), err)
}

// setValue sets the value. It is up to four characters, written as a little-endian number, or a plain number.
func (a *Attribute) setValue(v [4]byte) {
	text := make([]byte, 0, len(v))
	for _, c := range slices.Backward(v[:]) {
		if c != 0 {
			text = append(text, c)
		}
	}
	if slices.ContainsFunc(text, func(c byte) bool { return c < ' ' || c > '~' }) {
		a.Number, a.HasNumber = binary.LittleEndian.Uint32(v[:]), true
		return
	}
	a.Value = bytes.TrimSpace(text)
}

// attribute returns the value of an attribute of a player, or "" if there is none.
func (p *Replay) attribute(id, scope uint32) string {
	for i := range p.Attributes.Attributes {
		if a := &p.Attributes.Attributes[i]; a.Id == id && a.Scope == scope {
			return string(a.Value)
		}
	}
	return ""
}

// attributeNames are the names of the known attributes, see docs/formats/sc2replay.md, "Attributes".
var attributeNames = map[uint32]string{
	500: "controller", 1000: "rules", 1001: "premade_game",
	2000: "team_layout", 2001: "teams",
	2002: "team_1v1", 2003: "team_2v2", 2004: "team_3v3", 2005: "team_4v4", 2006: "team_ffa", 2007: "team_5v5", 2008: "team_6v6",
	3000: "game_speed", 3001: "race", 3002: "color", 3003: "handicap", 3004: "difficulty", 3006: "lobby_delay",
	3007: "role", 3008: "observer_type", 3009: "game_mode", 3010: "locked_alliances", 3011: "logo",
	3012: "tandem_leader", 3013: "commander", 3014: "commander_level", 3015: "game_duration", 3016: "commander_mastery_level",
	4000: "privacy", 4001: "custom_observer_ui", 4010: "lobby_mode",
	5000: "mastery_talent_1", 5001: "mastery_talent_2", 5002: "mastery_talent_3",
	5003: "mastery_talent_4", 5004: "mastery_talent_5", 5005: "mastery_talent_6",
}

func init() {
	for id := uint32(2010); id <= 2024; id++ {
		attributeNames[id] = "team_private"
	}
	for id := uint32(3100); id <= 3300; id++ {
		attributeNames[id] = "ai_build"
	}
}

// readMetadata reads replay.gamemetadata.json.
func (p *Replay) readMetadata() {
	for _, name := range []string{memberMetadata, memberMetadata12} {
		data, found, err := p.member(name, maxSmall)
		if !found {
			continue
		}
		read := len(data)
		if err == nil && read > 0 {
			if err = p.parseMetadata(data); err != nil {
				read = 0
			}
		}
		p.Metadata.Json = data
		p.Has.Metadata = len(data) > 0
		p.status(name, len(data), read, err)
		return
	}
	p.absent(memberMetadata)
}

// parseMetadata parses the JSON. Every value is optional.
func (p *Replay) parseMetadata(data []byte) error {
	var j struct {
		Title          string  `json:"Title"`
		GameVersion    string  `json:"GameVersion"`
		DataBuild      string  `json:"DataBuild"`
		DataVersion    string  `json:"DataVersion"`
		BaseBuild      string  `json:"BaseBuild"`
		Duration       float64 `json:"Duration"`
		IsNotAvailable any     `json:"IsNotAvailable"`
		Players        []struct {
			PlayerID     uint32   `json:"PlayerID"`
			MMR          *float64 `json:"MMR"`
			APM          *float64 `json:"APM"`
			Result       string   `json:"Result"`
			SelectedRace string   `json:"SelectedRace"`
			AssignedRace string   `json:"AssignedRace"`
		} `json:"Players"`
	}
	err := json.Unmarshal(data, &j)
	if _, odd := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !odd {
		// A value of the wrong type is ignored. Any other error is final.
		return decoders.Errorf(decoders.SC2Replay, 0, decoders.NoTick, memberMetadata, decoders.ErrCorrupt, "%v", err)
	}
	m := &p.Metadata
	*m = GameMetadata{
		Title: []byte(j.Title), GameVersion: []byte(j.GameVersion), DataBuild: []byte(j.DataBuild),
		DataVersion: []byte(j.DataVersion), BaseBuild: []byte(j.BaseBuild), Duration: j.Duration,
	}
	m.IsNotAvailable = j.IsNotAvailable != nil && j.IsNotAvailable != false
	for _, q := range j.Players {
		player := MetadataPlayer{
			PlayerId: q.PlayerID, Result: []byte(q.Result),
			SelectedRace: []byte(q.SelectedRace), AssignedRace: []byte(q.AssignedRace),
		}
		if q.MMR != nil && *q.MMR != noRating {
			player.Mmr, player.HasMmr = *q.MMR, true
		}
		if q.APM != nil {
			player.Apm, player.HasApm = *q.APM, true
		}
		m.Players = append(m.Players, player)
	}
	return nil
}
