package archive

import (
	"context"
	"errors"
	"io/fs"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/replay/table/tablefile"
)

// Bring stages the exports below a place that were written before, each replay's tables as files of Parquet of its own, and returns their
// number. Replays that the archive has stay as they are. Merge adds the rows. known returns the table of a kind as this program writes it, or
// nil: files of Parquet have no comments, and columns get those of that table. It may be nil.
func (a *Archive) Bring(ctx context.Context, from Place, known func(format, kind string) *arrow.Schema) (n int, err error) {
	if err := a.load(ctx); err != nil {
		return 0, err
	}
	err = from.List(ctx, export.FinishedDir, func(f File) error {
		found, err := export.Find(ctx, from, f.Name)
		if err == nil && found != nil {
			s := stagedFile{Staged: found.Staged}
			if _, known := a.state.replays[s.id()]; known {
				return nil
			}
			if err = found.Stage(ctx, from, a.place, known); err == nil {
				n++
			}
		}
		if errors.Is(err, tablefile.ErrForeign) || errors.Is(err, fs.ErrNotExist) {
			a.log.WarnContext(ctx, "an export cannot be read, and is left out", "name", f.Name, "error", err)
			return nil
		}
		return err
	})
	return n, err
}
