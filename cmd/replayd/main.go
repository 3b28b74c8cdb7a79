// Command replayd decodes game replays. It runs as a daemon that streams their events over gRPC, or as a command-line tool.
package main

import "github.com/replayd/replayd/cmd/internal/command"

func main() { command.Main(command.Program{Name: "replayd"}) }
