package export

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/internal/frozen"
)

// TestFrozenReplays: the table of replays has the columns that it had.
func TestFrozenReplays(t *testing.T) {
	var lines []string
	for _, f := range replayFields {
		line := fmt.Sprintf("%s %s", f.Name, f.Type)
		if f.Nullable {
			line += "?"
		}
		lines = append(lines, line)
	}
	frozen.Check(t, filepath.Join("..", ".."), "replays", lines)
}
