package dem

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// describe reads the beginning of the file. If that contains the offset of the information at the end, describe reads that too.
func describe(ctx context.Context, in source.Input, r *replaydv1.Replay) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	src, err := in.From(0)
	if err != nil {
		return err
	}
	d := dem.New(src, dem.Options{})
	defer d.Leave()
	err = tellHeader(d, in.At, r)
	if errors.Is(err, decoders.ErrMore) {
		return d.Close()
	}
	return err
}

// tellHeader adds the facts of a demo's header to its description. at, if not nil, reads the same file at any offset.
func tellHeader(d *dem.Decoder, at io.ReaderAt, r *replaydv1.Replay) error {
	h, identity, err := d.Header()
	if err != nil {
		return err
	}
	m := headerMessage(&h, identity)
	if at != nil {
		m.addInfo(at)
	}
	m.describe(r)
	return nil
}

// header holds the facts that a demo contains about itself.
type header struct {
	*demv1.Header
	identity string
	lastTick int32
}

func headerMessage(h *dem.FileHeader, identity [sha256.Size]byte) header {
	return header{
		identity: "dem:sha256:" + hex.EncodeToString(identity[:]),
		lastTick: -1,
		Header: &demv1.Header{FileHeader: &demv1.FileHeader{
			Stamp:                    text(h.Stamp),
			PatchVersion:             h.PatchVersion,
			ServerName:               text(h.ServerName),
			ClientName:               text(h.ClientName),
			MapName:                  text(h.MapName),
			GameDirectory:            text(h.GameDirectory),
			FullpacketsVersion:       h.FullpacketsVersion,
			AllowClientsideEntities:  h.AllowClientsideEntities,
			AllowClientsideParticles: h.AllowClientsideParticles,
			Addons:                   text(h.Addons),
			DemoVersionName:          text(h.DemoVersionName),
			DemoVersionGuid:          text(h.DemoVersionGuid),
			BuildNum:                 codec.Known(h.BuildNum),
			Game:                     codec.Known(text(h.Game)),
			ServerStartTick:          codec.Known(h.ServerStartTick),
		}},
	}
}

// text converts bytes to valid UTF-8.
func text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// addInfo adds the information from the end of the recording, if the demo has it.
func (h *header) addInfo(at io.ReaderAt) {
	_, info, tick, ok, err := dem.ReadInfo(at)
	if err != nil || !ok {
		return
	}
	h.lastTick = tick
	h.FileInfo = &demv1.FileInfo{
		PlaybackTime: info.PlaybackTime, PlaybackTicks: info.PlaybackTicks, PlaybackFrames: info.PlaybackFrames,
		RoundStartTicks: info.RoundStartTicks, Match: matchMessage(&info),
	}
}

// matchMessage returns what the information at the end of a recording says of the match, nil if that is nothing.
func matchMessage(info *dem.FileInfo) *demv1.Match {
	if !info.HasMatch {
		return nil
	}
	m := &info.Match
	match := &demv1.Match{
		Id: m.Id, GameMode: m.GameMode, GameModeName: codec.Known(string(m.GameModeName)), Winner: m.Winner, LeagueId: codec.Known(m.LeagueId), RadiantTeamId: codec.Known(m.RadiantTeamId),
		DireTeamId: codec.Known(m.DireTeamId), RadiantTeamTag: text(m.RadiantTeamTag), DireTeamTag: text(m.DireTeamTag),
	}
	if m.HasEndTime {
		match.EndTime = timestamppb.New(m.EndTime.Time())
	}
	for _, p := range m.Players {
		match.Players = append(match.Players, &demv1.MatchPlayer{
			HeroName: text(p.HeroName), PlayerName: text(p.PlayerName), IsFakeClient: p.IsFakeClient, SteamId: p.SteamId, Team: p.Team,
		})
	}
	for _, p := range m.Draft {
		match.Draft = append(match.Draft, &demv1.DraftPick{IsPick: p.IsPick, Team: p.Team, HeroId: p.HeroId, HeroName: codec.Known(string(p.HeroName))})
	}
	return match
}

// describe adds the header's facts to the description of a replay.
func (h *header) describe(r *replaydv1.Replay) {
	r.Identity = h.identity
	r.MapName = h.FileHeader.GetMapName()
	r.Header = &replaydv1.Replay_Dem{Dem: h.Header}
	r.Coordinates = &replaydv1.Coordinates{Origin: replaydv1.Origin_ORIGIN_MAP, YAxis: replaydv1.VerticalAxis_VERTICAL_AXIS_UP}
	info := h.FileInfo
	if info == nil {
		return
	}
	if lasts, speed := length(info.GetPlaybackTime(), info.GetPlaybackTicks()); lasts > 0 {
		r.Duration = durationpb.New(lasts)
		if speed > 0 {
			r.TicksPerSecond = &speed
		}
	}
	if h.lastTick >= 0 {
		r.LastTick = &h.lastTick
	}
	m := info.GetMatch()
	if end := m.GetEndTime(); end != nil && r.Duration != nil {
		r.StartTime = timestamppb.New(end.AsTime().Add(-r.Duration.AsDuration()))
	}
	r.Players = playersOf(m)
	r.Lineup = codec.Lineup(r.GetPlayers())
}

// playersOf returns the players of a match.
func playersOf(m *demv1.Match) (all []*replaydv1.Player) {
	for i, p := range m.GetPlayers() {
		player := &replaydv1.Player{Id: int32(i), Name: p.GetPlayerName(), Team: &p.Team, Character: p.GetHeroName()}
		switch m.GetWinner() {
		case 0:
		case p.GetTeam():
			player.Result = replaydv1.PlayerResult_PLAYER_RESULT_WIN
		default:
			player.Result = replaydv1.PlayerResult_PLAYER_RESULT_LOSS
		}
		all = append(all, player)
	}
	return all
}

// length returns the length of a recording, and its ticks per second, from the summary at its end. 0 means not known.
func length(seconds float32, ticks int32) (time.Duration, float64) {
	if !(seconds > 0 && seconds < math.MaxInt32) {
		return 0, 0
	}
	lasts := time.Duration(float64(seconds) * float64(time.Second))
	if ticks <= 0 {
		return lasts, 0
	}
	return lasts, math.Round(float64(ticks) / float64(seconds)) // both are rounded; the speeds of games are whole numbers
}

// summary returns the summary of a demo at the end of its stream.
func summary(s dem.Stats, h dem.Health) *replaydv1.StreamEnd_Dem {
	m := &demv1.Summary{
		Records: s.Records, Messages: s.Messages, EntityUpdates: s.EntityUpdates, EntitySkips: s.EntitySkips,
		EntityMismatches: s.EntityMismatches, EntityUnknown: s.EntityUnknown, Faults: s.Faults,
		UnknownTypes: unknownTypes(h.Types), Fields: h.Fields, FieldsLost: h.FieldsLost,
	}
	m.MoreUnknownFields = h.UnknownMore
	for _, u := range h.Unknown {
		m.UnknownFields = append(m.UnknownFields, &demv1.UnknownField{
			Message: u.Message, Number: int32(u.Number), WireType: int32(u.WireType), Changed: u.Changed, Count: u.Count,
		})
	}
	for _, class := range slices.Sorted(maps.Keys(h.Faults)) {
		if len(m.ClassFaults) == maxListed {
			break
		}
		m.ClassFaults = append(m.ClassFaults, &demv1.ClassFaults{Class: text([]byte(class)), Faults: h.Faults[class]})
	}
	return &replaydv1.StreamEnd_Dem{Dem: m}
}

// maxListed is the largest number of types and classes in a list. Games have some hundred.
const maxListed = 1 << 10

func unknownTypes(types []dem.TypeGuess) (out []*demv1.UnknownType) {
	for _, t := range types[:min(len(types), maxListed)] {
		out = append(out, &demv1.UnknownType{Name: text([]byte(t.Name)), ReadAs: codec.Known(t.ReadAs), Proofs: int32(t.Proofs), MayBeSigned: t.MaybeSigned})
	}
	return out
}

// firstTypes finds the unknown types of a demo's fields, at the place where its entities begin. Each stream needs them at its
// start, so firstTypes caches the results of the last demos.
type firstTypes struct {
	schemas *dem.Schemas

	mu    sync.Mutex
	known map[string][]*demv1.UnknownType // by identity
}

// maxKnown is the largest number of demos in the cache.
const maxKnown = 256

// of returns the types of the demo with the given identity, which it reads from at. It returns nil while the demo's entities have
// not begun.
func (f *firstTypes) of(identity string, at io.ReaderAt) []*demv1.UnknownType {
	f.mu.Lock()
	types, ok := f.known[identity]
	f.mu.Unlock()
	if ok {
		return types
	}
	d := dem.New(io.NewSectionReader(at, 0, math.MaxInt64), dem.Options{
		Schemas: f.schemas, Yield: 1, Kinds: func(k dem.Kind) bool { return k == dem.KindEntityCreated }, Classes: func(string) bool { return false },
	})
	defer d.Leave()
	var ev dem.Event
	for !d.EntitiesBegun() {
		if err := d.Next(&ev); err != nil && !errors.Is(err, dem.ErrYield) || d.Offset() > maxSignOn {
			return nil
		}
	}
	types = unknownTypes(d.Health().Types)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxKnown {
		f.known = map[string][]*demv1.UnknownType{}
	}
	f.known[identity] = types
	return types
}

// maxSignOn is the largest number of bytes of a demo that are read to describe it. Entities begin within 4 MiB.
const maxSignOn = 16 << 20
