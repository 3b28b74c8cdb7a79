package opened

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/temporary"
)

// find opens the replay that a request asks for.
func (o *Opener) find(ctx context.Context, q *request) (*source.File, error) {
	req := q.req
	if temporary.Is(req.GetReplay()) {
		if req.GetFollowSuccessors() {
			return nil, fault.BadRequest("follow_successors", "is not possible with a temporary replay")
		}
		file, _, err := o.Temporary.Open(access.Of(ctx).Key(), req.GetReplay())
		return file, err
	}
	name, err := o.resolve(ctx, req, q.Start.Cursor)
	if err != nil {
		return nil, err
	}
	file, err := o.Catalog.OpenContext(ctx, name)
	if err != nil || !req.GetFollow() || o.Watcher == nil || !tooShort(file) {
		return file, err
	}
	if err := o.awaitFormat(ctx, file); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// tooShort reports whether a file is too short for its format to be recognized.
func tooShort(file *source.File) bool {
	info := file.Info()
	return info.Format == decoders.Unknown && info.Growable() && info.Size < decoders.SniffLen
}

// awaitFormat waits until a file that is too short for its format to be recognized, as every new file is, has grown enough.
func (o *Opener) awaitFormat(ctx context.Context, file *source.File) error {
	changed, err := o.Watcher.Subscribe(file.Path())
	if err != nil {
		return err
	}
	defer changed.Close()
	for tooShort(file) {
		select {
		case <-changed.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-o.Drain:
			return stream.ErrDraining
		}
		if err := file.Check(); err != nil {
			return err
		}
	}
	return nil
}

// resolve returns the name of the replay that a request means. That is the named replay, with these exceptions:
//   - The request has a cursor, and it follows successors, names a directory, or names a file that no longer exists: the
//     replay of the cursor.
//   - The request follows and names a directory: the newest replay in it. resolve waits until there is one.
func (o *Opener) resolve(ctx context.Context, req *replaydv1.StreamEventsRequest, at *cursor.Cursor) (string, error) {
	name := req.GetReplay()
	isDir, err := o.Catalog.IsDir(name)
	missing := errors.Is(err, catalog.ErrNotFound)
	if at != nil && (missing || err == nil && req.GetFollow() && (isDir || req.GetFollowSuccessors())) {
		found, err := o.ofCursor(ctx, name, *at)
		if missing && errors.Is(err, stream.ErrCursorReplay) {
			return name, nil // opening it returns the right error
		}
		return found, err
	}
	switch {
	case err != nil && req.GetFollow() && !missing:
		return "", err
	case isDir && req.GetFollow() && !o.Catalog.Grows(name):
		return "", errFixed
	case isDir && req.GetFollow():
		return o.newest(ctx, name)
	}
	return name, nil
}

// errFixed is the error of a request that follows a directory of a bucket.
var errFixed = fault.BadRequest("follow", "no game is written below a bucket; name the replay")

// followable reports whether a replay may grow.
func followable(info *source.Info) bool {
	c, err := describe.CodecOf(info.Format)
	return err == nil && mayGrow(info, c)
}

// newest returns the newest replay of a directory that can be followed. It waits until there is one, unless whoever writes there says
// that there will be none.
func (o *Opener) newest(ctx context.Context, dir string) (string, error) {
	if o.Watcher == nil {
		return "", errNoWatcher
	}
	interest := o.Index.Family(dir, scope.Of(ctx)).Interest(dir, "")
	defer interest.Close()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		all, err := o.Index.InDirectory(ctx, dir, scope.Of(ctx))
		if err != nil {
			return "", err
		}
		var newest *index.Entry
		for _, e := range all {
			if followable(&e.Info) && access.Of(ctx).Sees(e.Format) && (newest == nil || !e.Modified.Before(newest.Modified)) {
				newest = e
			}
		}
		if newest != nil {
			return newest.Name, nil
		}
		if why := o.Catalog.OverIn(ctx, dir); why != "" && access.Of(ctx).Sees(decoders.Dem) { // of no other format
			return "", fmt.Errorf("%w: nothing is written below %q: %s", catalog.ErrNotFound, dir, why)
		}
		select {
		case <-interest.C:
		case <-again.C: // the index knows nothing of what OverIn reads
		case <-ctx.Done():
			return "", ctx.Err()
		case <-o.Drain:
			return "", stream.ErrDraining
		}
	}
}

// ofCursor returns the name of a cursor's replay anywhere in the family of the replay that the request names: its stream may have
// moved on to a successor, and files are renamed, moved and compressed.
func (o *Opener) ofCursor(ctx context.Context, name string, at cursor.Cursor) (string, error) {
	found, err := o.Index.Family(name, scope.Of(ctx)).OfCursor(ctx, at)
	if err != nil {
		return "", err
	}
	if found == nil {
		alias, _, _ := strings.Cut(name, "/")
		return "", fmt.Errorf("%w, and none below %q is", stream.ErrCursorReplay, alias)
	}
	return found.Name, nil
}
