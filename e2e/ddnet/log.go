package ddnet

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Game holds the facts about one game in the server's log. A game lasts from
// the load of a map to the next load. The decoded events of the recording must
// agree with it.
type Game struct {
	// Recording is the path of the teehistorian file.
	Recording string
	// Entered and Left are the client ids of the players who entered and left
	// the game, in order. A player who stays through a map change enters again.
	Entered, Left []int32
}

var (
	recordingLine = regexp.MustCompile(`teehistorian: recording to '([^']*)'`)
	enteredLine   = regexp.MustCompile(`server: player has entered the game\. (?:ClientID|cid)=(\d+)`)
	leftLine      = regexp.MustCompile(`game: leave player='(\d+):`)
)

// Log returns everything that the server has printed so far.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return "" // Start has created the file, and only the directory's owner removes it.
	}
	return string(text)
}

// Games returns the games in the log so far, oldest first. It ignores an incomplete last line.
func (s *Server) Games() []Game {
	var games []Game
	for line := range strings.Lines(s.Log()) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		if match := recordingLine.FindStringSubmatch(line); match != nil {
			games = append(games, Game{Recording: filepath.Join(s.dir, match[1])})
			continue
		}
		if len(games) == 0 {
			continue
		}
		game := &games[len(games)-1]
		if id, ok := clientID(enteredLine, line); ok {
			game.Entered = append(game.Entered, id)
		} else if id, ok := clientID(leftLine, line); ok {
			game.Left = append(game.Left, id)
		}
	}
	return games
}

func clientID(pattern *regexp.Regexp, line string) (int32, bool) {
	match := pattern.FindStringSubmatch(line)
	if match == nil {
		return 0, false
	}
	id, err := strconv.ParseInt(match[1], 10, 32)
	return int32(id), err == nil
}

func (s *Server) logPath() string { return filepath.Join(s.dir, "server.log") }

// tail returns the end of the log, for error messages.
func (s *Server) tail() string {
	const lines = 10
	all := strings.Split(strings.TrimSpace(s.Log()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
