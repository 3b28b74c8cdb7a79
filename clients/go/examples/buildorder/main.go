// Buildorder prints the build order of each player in a StarCraft II replay.
//
//	buildorder localhost:7171 sc2/game.SC2Replay        a replay that the daemon has
//	buildorder -upload game.SC2Replay localhost:7171    a local file
//
// It needs tracker events, which replays have since version 2.0.8.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	replayd "github.com/replayd/replayd/clients/go"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

func main() {
	upload := flag.String("upload", "", "send this `file` to the daemon")
	until := flag.Duration("until", 10*time.Minute, "how much of the game to print")
	flag.Parse()
	if err := run(os.Stdout, flag.Args(), *upload, *until); err != nil {
		fmt.Fprintln(os.Stderr, "buildorder:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(w io.Writer, args []string, upload string, until time.Duration) error {
	if len(args) == 0 || len(args) == 1 && upload == "" {
		return errors.New("usage: buildorder [-until DURATION] DAEMON REPLAY, or buildorder -upload FILE DAEMON")
	}
	client, err := replayd.Dial(args[0])
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	req := &replaydv1.StreamEventsRequest{Include: replayd.Kinds(
		"player_info", "player_stats", "unit_born", "unit_init", "unit_type_change", "upgrade",
	)}
	if upload == "" {
		req.Replay = args[1]
		return printOrders(w, client.Stream(context.Background(), req), until)
	}
	file, err := os.Open(upload)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return printOrders(w, client.Decode(context.Background(), file, req), until)
}

// player is a player of the game.
type player struct {
	name   string
	supply float32 // of the last player_stats
}

func printOrders(w io.Writer, s *replayd.Stream, until time.Duration) error {
	players := map[uint32]*player{}
	owners := map[uint32]uint32{} // of units, by their tags
	for event, err := range s.Events() {
		if err != nil {
			return err
		}
		at := clock(event.Tick, s.Replay())
		if at > until {
			return nil
		}
		line := func(id uint32, what string) {
			if p := players[id]; p != nil && what != "" && event.Tick > 0 {
				_, _ = fmt.Fprintf(w, "%2d:%02d  %3.0f  %-24s %s\n", int(at.Minutes()), int(at.Seconds())%60, p.supply, p.name, what)
			}
		}
		switch v := event.Value().(type) {
		case *sc2replayv1.PlayerInfo:
			if id := v.GetRef().GetPlayerId(); id != 0 && !v.GetObserver() {
				players[id] = &player{name: fmt.Sprintf("%s (%s)", v.GetRef().GetName(), v.GetRace())}
			}
		case *sc2replayv1.PlayerStats:
			if p := players[v.GetPlayerId()]; p != nil {
				p.supply = v.GetFoodUsed()
			}
		case *sc2replayv1.UnitInit: // comes when a building or warp-in begins
			owners[v.GetUnit().GetTag()] = v.GetControlPlayerId()
			line(v.GetControlPlayerId(), v.GetUnit().GetTypeName())
		case *sc2replayv1.UnitBorn: // of a unit that is trained this comes at its end
			owners[v.GetUnit().GetTag()] = v.GetControlPlayerId()
			if !incidental(v.GetUnit().GetTypeName()) {
				line(v.GetControlPlayerId(), v.GetUnit().GetTypeName())
			}
		case *sc2replayv1.UnitTypeChange:
			if improved(v.GetPreviousTypeName(), v.GetUnit().GetTypeName()) {
				line(owners[v.GetUnit().GetTag()], v.GetPreviousTypeName()+" -> "+v.GetUnit().GetTypeName())
			}
		case *sc2replayv1.Upgrade:
			if !strings.HasPrefix(v.GetUpgradeTypeName(), "Spray") && !strings.HasPrefix(v.GetUpgradeTypeName(), "RewardDance") {
				line(v.GetPlayerId(), v.GetUpgradeTypeName())
			}
		}
	}
	return nil
}

// clock returns the time on the clock that the game showed at a tick.
func clock(tick int32, replay *replaydv1.Replay) time.Duration {
	rate := replay.GetSc2Replay().GetStart().GetLoopsPerClockSecond()
	if rate <= 0 {
		return 0
	}
	return time.Duration(math.Round(float64(tick) / rate * float64(time.Second)))
}

// incidental reports whether nobody builds a unit of the type.
func incidental(unit string) bool {
	switch unit {
	case "Larva", "Egg", "Broodling", "BroodlingEscort", "Interceptor", "InvisibleTargetDummy", "LocustMP", "AutoTurret", "MULE", "KD8Charge":
		return true
	}
	return strings.HasPrefix(unit, "Beacon") || strings.HasSuffix(unit, "Weapon")
}

// improved reports whether a unit became something that a build order names: not of those that burrowed, lifted off or
// changed their stance.
func improved(from, to string) bool {
	switch to {
	case "Lair", "Hive", "OrbitalCommand", "PlanetaryFortress", "GreaterSpire", "WarpGate":
		return from != to+"Flying"
	}
	return false
}
