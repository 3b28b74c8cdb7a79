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
	req := &replaydv1.StreamEventsRequest{Include: replayd.Kinds("fact_build_step")}
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

// printOrders prints each step when it is complete, with the time when it was begun if that is known.
func printOrders(w io.Writer, s *replayd.Stream, until time.Duration) error {
	for event, err := range s.Events() {
		if err != nil {
			return err
		}
		e, _ := event.Message().(*sc2replayv1.Event)
		step := e.GetFactBuildStep()
		if !step.GetUpgrade() && step.GetUnit().GetClass() == sc2replayv1.UnitClass_UNIT_CLASS_UNSPECIFIED {
			continue // such as larvae
		}
		at, how := event.Tick, "done"
		switch {
		case step.GetEnd() != sc2replayv1.StepEnd_STEP_END_COMPLETE:
			at, how = step.GetBeganTick(), "never complete"
		case step.BeganTick != nil:
			at, how = step.GetBeganTick(), ""
		case step.ReckonedTick != nil:
			at, how = step.GetReckonedTick(), "reckoned"
		}
		if since := clock(at, s.Replay()); since <= until {
			_, _ = fmt.Fprintf(w, "%2d:%02d  %3.0f  %-24s %-24s %s\n",
				int(since.Minutes()), int(since.Seconds())%60, step.GetSupply(), e.GetPlayer().GetName(), step.GetName(), how)
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
