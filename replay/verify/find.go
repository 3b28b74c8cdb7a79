package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
)

// ErrNoMap means that a recording's map was not found.
var ErrNoMap = errors.New("the map of the recording is not there")

// ErrOtherMap means that a map is not that of the recording.
var ErrOtherMap = errors.New("it is not the map of the recording")

// FindMap returns the path of a recording's map among the files *.map below a directory, by its SHA-256. Without one the error
// wraps ErrNoMap.
func FindMap(ctx context.Context, dir string, h *teehistorian.Header) (path string, err error) {
	if h.MapSHA256 == "" {
		return "", fmt.Errorf("%w: the recording does not have its SHA-256", ErrNoMap)
	}
	err = filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil && p == dir {
			return err
		}
		if err != nil || ctx.Err() != nil || !entry.Type().IsRegular() || !strings.HasSuffix(p, ".map") {
			return ctx.Err()
		}
		if info, err := entry.Info(); err != nil || h.MapSize > 0 && info.Size() != h.MapSize {
			return nil //nolint:nilerr // It is gone, and so not the map.
		}
		if sum, err := sumOf(p); err == nil && strings.EqualFold(sum, h.MapSHA256) {
			path = p
			return fs.SkipAll
		}
		return nil
	})
	if err == nil && path == "" {
		err = fmt.Errorf("%w: no file below %s is %s, SHA-256 %s", ErrNoMap, dir, h.MapName, h.MapSHA256)
	}
	return path, err
}

// ReadMap reads a map, which must be that of the recording. The error for another one wraps ErrOtherMap.
func ReadMap(path string, h *teehistorian.Header) (_ *physics.Map, err error) {
	sum, err := sumOf(path)
	if err != nil {
		return nil, err
	}
	if h.MapSHA256 != "" && !strings.EqualFold(sum, h.MapSHA256) {
		return nil, fmt.Errorf("%w: its SHA-256 is %s, not %s", ErrOtherMap, sum, h.MapSHA256)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return OpenMap(file, info.Size())
}

func sumOf(path string) (_ string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
