// Command replayd-fleet is replayd for many machines: in addition, it reads buckets of objects and streams of NATS, keeps a queue
// of jobs with workers, and publishes events to NATS.
package main

import (
	"errors"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/fleet/publish"
	"github.com/replayd/replayd/fleet/queue"
)

const name = "replayd-fleet"

// commands are the commands that replayd does not have.
type commands struct {
	Jobs    jobsCmd    `cmd:"" help:"Put replays into a queue, for workers that export them, and see what became of them."`
	Work    workCmd    `cmd:"" help:"Export the replays of a queue, until stopped."`
	Merge   mergeCmd   `cmd:"" help:"Add the rows of staged exports to tables of many replays, which engines read as Apache Iceberg."`
	Publish publishCmd `cmd:"" help:"Publish the events of a daemon's replays to NATS JetStream, each once, for consumers without gRPC."`
}

func main() { command.Main(newProgram()) }

// newProgram returns the program. Run it once.
func newProgram() command.Program {
	objects := &buckets{}
	roots := &streams{buckets: objects}
	return command.Program{
		Name: name, Commands: &commands{}, ServeFlags: roots, Objects: objects, Streams: roots, ExitCode: exitCode,
	}
}

// exitCode returns the exit code of an error of the queue, or of publishing.
func exitCode(err error) (code int, ok bool) {
	for _, known := range []struct {
		err  error
		code int
	}{
		{queue.ErrUnknown, command.ExitNotFound},
		{queue.ErrState, command.ExitUsage},
		{publish.ErrSelection, command.ExitUsage},
		{publish.ErrStream, command.ExitUsage},
	} {
		if errors.Is(err, known.err) {
			return known.code, true
		}
	}
	if _, ok := errors.AsType[unreachableError](err); ok {
		return command.ExitLost, true
	}
	if e, ok := errors.AsType[jobError](err); ok {
		return command.ReasonExit(e.Reason), true
	}
	return 0, false
}
