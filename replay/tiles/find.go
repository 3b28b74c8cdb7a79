package tiles

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
)

// ErrNoMap means that a recording's map was not found.
var ErrNoMap = errors.New("the map of the recording is not there")

// Find returns the path of the map with a SHA-256 among the files *.map below a directory. size is the size of the map, 0 if it is not
// known, and name is for errors. Without the map the error wraps [ErrNoMap].
func Find(ctx context.Context, dir, name, digest string, size int64) (path string, err error) {
	if digest == "" {
		return "", fmt.Errorf("%w: the recording does not have its SHA-256", ErrNoMap)
	}
	err = filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil && p == dir {
			return err
		}
		if err != nil || ctx.Err() != nil || !entry.Type().IsRegular() || !strings.HasSuffix(p, ".map") {
			return ctx.Err()
		}
		if info, err := entry.Info(); err != nil || size > 0 && info.Size() != size {
			return nil //nolint:nilerr // It is gone, and so not the map.
		}
		if sum, err := Sum(p); err == nil && strings.EqualFold(sum, digest) {
			path = p
			return fs.SkipAll
		}
		return nil
	})
	if err == nil && path == "" {
		err = fmt.Errorf("%w: no file below %s is %s, SHA-256 %s", ErrNoMap, dir, name, digest)
	}
	return path, err
}

// Sum returns the SHA-256 of a file, in hexadecimal digits.
func Sum(path string) (_ string, err error) {
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
