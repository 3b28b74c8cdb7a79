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
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// addHeader adds the facts of a replay's header and small members to its description.
func addHeader(r *replaydv1.Replay, p *sc2replay.Replay, in source.Input) error {
	id, err := identity(in)
	if err != nil {
		return err
	}
	r.Identity = id
	r.Coordinates = &replaydv1.Coordinates{
		UnitsPerCell: new(1.0), Origin: replaydv1.Origin_ORIGIN_BOTTOM_LEFT, YAxis: replaydv1.VerticalAxis_VERTICAL_AXIS_UP,
	}
	r.TicksPerSecond = new(p.Start.LoopsPerRealSecond)
	r.LastTick = new(int32(min(p.Start.ElapsedGameLoops, math.MaxInt32)))
	r.Duration = durationpb.New(seconds(p.Start.RealSeconds))

	header := new(sc2replayv1.Header)
	start, err := message(&sc2replay.Event{Kind: sc2replay.KindStart, Start: p.Start})
	if err != nil {
		return err
	}
	header.Start = start.GetStart()
	r.Doubts = doubtsOf(header.GetStart().GetDecodeInfo())
	if p.Has.Details {
		m, err := message(&sc2replay.Event{Kind: sc2replay.KindDetails, Details: p.Details})
		if err != nil {
			return err
		}
		header.Details = m.GetDetails()
		r.MapName = header.GetDetails().GetTitle()
		if p.Details.HasTimeUtc {
			r.StartTime = timestamppb.New(p.Details.TimeUtc.Time().Add(-seconds(p.Start.RealSeconds)))
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
	r.Lineup = codec.Lineup(r.GetPlayers())
	r.Header = &replaydv1.Replay_Sc2Replay{Sc2Replay: header}
	return nil
}

var results = map[sc2replayv1.Result]replaydv1.PlayerResult{
	sc2replayv1.Result_RESULT_WIN:  replaydv1.PlayerResult_PLAYER_RESULT_WIN,
	sc2replayv1.Result_RESULT_LOSS: replaydv1.PlayerResult_PLAYER_RESULT_LOSS,
	sc2replayv1.Result_RESULT_TIE:  replaydv1.PlayerResult_PLAYER_RESULT_TIE,
}

// message converts an event to protobuf's struct. It is only for headers. Events of streams are appended as bytes.
func message(ev *sc2replay.Event) (*sc2replayv1.Event, error) {
	m := new(sc2replayv1.Event)
	return m, proto.Unmarshal(AppendEvent(nil, ev), m)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// maxHashed is the largest number of bytes of a file that are hashed, more than ten times the size of the largest replays.
const maxHashed = 64 << 20

// identity returns a replay's identity, a hash of all its bytes up to maxHashed. A file that was modified later has another
// identity, so that old cursors do not match it.
func identity(in source.Input) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(in.At, 0, min(in.Size, maxHashed))); err != nil {
		return "", err
	}
	return "sc2replay:sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
