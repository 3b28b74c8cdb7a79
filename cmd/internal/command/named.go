package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/internal/nearest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/describe"
)

// named adds the name of what was read to an error about its contents.
func named(name string, err error) error {
	if err == nil || name == "-" {
		return err
	}
	text := Message(err)
	switch code := exitCode(err); {
	case strings.Contains(text, name), code != ExitCorrupt && code != ExitTruncated:
		return err
	case unrecognized(err):
		var formats []string
		for _, c := range describe.Codecs() {
			formats = append(formats, c.Format.String())
		}
		text = "not a replay: its content is of none of the formats " + strings.Join(formats, ", ")
	}
	return explainedError{error: err, text: name + ": " + text}
}

// unrecognized reports whether an error says that a file is of no known format.
func unrecognized(err error) bool {
	if client.ReasonOf(err) == replaydv1.ErrorReason_ERROR_REASON_UNKNOWN_FORMAT {
		return true
	}
	e, ok := errors.AsType[*decoders.Error](err)
	return ok && e.Format == decoders.Unknown && errors.Is(err, decoders.ErrUnsupported)
}

// Absent is NotFound if err says that a file or directory does not exist, and otherwise err. It names a file of the same directory
// that was probably meant.
func Absent(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		dir, base := filepath.Split(at.Path)
		if meant := nearest.Of(base, namesIn(dir)...); meant != "" {
			err = fmt.Errorf("%w, did you mean %q?", err, dir+meant)
		}
	}
	return absentError{err}
}

// mostNames is the number of files of a directory that are compared with a name.
const mostNames = 10000

// namesIn returns names of files in a directory, none if it cannot be read.
func namesIn(dir string) []string {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(mostNames)
	return names
}

// orNewest calls f with the name of a replay. If the name is that of a directory, it calls f again with the replay in it that was
// changed last, and notes which one that is.
func (t *Target) orNewest(ctx context.Context, notes io.Writer, p Program, name string, f func(name string) error) error {
	if t.Addr != "" {
		name = Directory(name)
	}
	err := f(name)
	if !t.directory(err) {
		return named(name, err)
	}
	var newest *replaydv1.Replay
	n := 0
	list := lsCmd{Target: *t, Dir: name}
	if failed := list.each(ctx, p, func(r *replaydv1.Replay) error {
		if n++; newest == nil || !r.GetModifyTime().AsTime().Before(newest.GetModifyTime().AsTime()) {
			newest = r
		}
		return nil
	}); failed != nil {
		return err // of the name, which may be none of a directory
	}
	if newest == nil {
		return NotFound(fmt.Errorf("%s has no replays", name))
	}
	if n > 1 {
		_, _ = fmt.Fprintf(notes, "replayd: the newest of %d replays: %s\n", n, newest.GetName())
	}
	return named(newest.GetName(), f(newest.GetName()))
}

// directory reports whether an error, also one of a daemon, says that a name is that of a directory.
func (t *Target) directory(err error) bool {
	return errors.Is(err, source.ErrDirectory) || t.Addr != "" && says(err, source.ErrDirectory)
}

// says reports whether an error of a daemon is that a name is wrong for the reason of another error.
func says(err, reason error) bool {
	return status.Code(err) == codes.InvalidArgument && strings.HasSuffix(Message(err), reason.Error())
}
