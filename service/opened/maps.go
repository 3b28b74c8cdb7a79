package opened

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/tiles"
)

// mapBelow returns codec.Options.Map for the maps below a directory.
func mapBelow(ctx context.Context, dir string) func(*replaydv1.Replay, func(io.ReaderAt, int64) error) error {
	return func(r *replaydv1.Replay, use func(io.ReaderAt, int64) error) (err error) {
		game := r.GetTeehistorian()
		path, err := tiles.Find(ctx, dir, game.GetMapName(), game.GetMapSha256(), game.GetMapSize())
		if errors.Is(err, tiles.ErrNoMap) {
			return fmt.Errorf("%w: %w", codec.ErrNoMap, err)
		}
		if err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		return use(file, info.Size())
	}
}
