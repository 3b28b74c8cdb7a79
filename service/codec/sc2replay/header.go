package sc2replay

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/decoders/sc2replay"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/source"
)

// loopsPerSecond is how many ticks a second of the game's own time has.
const loopsPerSecond = 16

// addHeader adds what is known of a replay to its description.
func addHeader(r *replaydv1.Replay, p *sc2replay.Replay, in source.Input) error {
	id, err := identity(in)
	if err != nil {
		return err
	}
	r.Identity = id
	r.Coordinates = &replaydv1.Coordinates{
		UnitsPerCell: new(1.0), Origin: replaydv1.Origin_ORIGIN_BOTTOM_LEFT, YAxis: replaydv1.VerticalAxis_VERTICAL_AXIS_UP,
	}
	r.TicksPerSecond = new(float64(loopsPerSecond))
	r.LastTick = new(int32(min(p.Start.ElapsedGameLoops, math.MaxInt32)))
	r.Duration = durationpb.New(seconds(p.Start.GameSeconds))

	header := new(sc2replayv1.Header)
	start, err := message(&sc2replay.Event{Kind: sc2replay.KindStart, Start: p.Start})
	if err != nil {
		return err
	}
	header.Start = start.GetStart()
	if p.Has.Details {
		m, err := message(&sc2replay.Event{Kind: sc2replay.KindDetails, Details: p.Details})
		if err != nil {
			return err
		}
		header.Details = m.GetDetails()
		r.MapName = header.GetDetails().GetTitle()
		if saved := saved(p.Details.TimeUtc); !saved.IsZero() {
			r.StartTime = timestamppb.New(saved.Add(-seconds(p.Start.RealSeconds)))
		}
	}
	if p.Has.Metadata {
		m, err := message(&sc2replay.Event{Kind: sc2replay.KindGameMetadata, GameMetadata: p.Metadata})
		if err != nil {
			return err
		}
		header.GameMetadata = m.GetGameMetadata()
		if r.GetMapName() == "" {
			r.MapName = header.GetGameMetadata().GetTitle()
		}
	}
	for i := range p.Players {
		m, err := message(&sc2replay.Event{Kind: sc2replay.KindPlayerInfo, PlayerInfo: p.Players[i]})
		if err != nil {
			return err
		}
		q := m.GetPlayerInfo()
		header.Players = append(header.Players, q)
		if !q.GetObserver() {
			r.Players = append(r.Players, &replaydv1.Player{
				Id: int32(q.GetRef().GetPlayerId()), Name: q.GetRef().GetName(), Team: new(int32(q.GetTeam())),
				Character: q.GetRace(), Result: results[q.GetResult()],
			})
		}
	}
	r.Header = &replaydv1.Replay_Sc2Replay{Sc2Replay: header}
	return nil
}

var results = map[sc2replayv1.Result]replaydv1.PlayerResult{
	sc2replayv1.Result_RESULT_WIN:  replaydv1.PlayerResult_PLAYER_RESULT_WIN,
	sc2replayv1.Result_RESULT_LOSS: replaydv1.PlayerResult_PLAYER_RESULT_LOSS,
	sc2replayv1.Result_RESULT_TIE:  replaydv1.PlayerResult_PLAYER_RESULT_TIE,
}

// message makes protobuf's struct of an event. It is for headers: events of streams go by their bytes.
func message(ev *sc2replay.Event) (*sc2replayv1.Event, error) {
	m := new(sc2replayv1.Event)
	return m, proto.Unmarshal(AppendEvent(nil, ev), m)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// filetime is how many units of 100 ns lie between 1601, from which replays count, and 1970.
const filetime = 116_444_736_000_000_000

// saved returns when a replay was saved, the zero time for a nonsensical one.
func saved(utc int64) time.Time {
	t := utc - filetime
	if t <= 0 || t > 1<<57 {
		return time.Time{}
	}
	return time.Unix(t/1e7, t%1e7*100)
}

// maxHashed bounds how much of a file is hashed, in bytes: more than ten times what the largest replays have.
const maxHashed = 64 << 20

// identity names a replay by all of its bytes, so that the cursors of a file are not good for what was made of it later.
func identity(in source.Input) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(in.At, 0, min(in.Size, maxHashed))); err != nil {
		return "", err
	}
	return "sc2replay:sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
