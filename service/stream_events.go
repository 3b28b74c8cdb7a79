package service

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/temporary"
)

// StreamEvents implements the API.
func (s *Server) StreamEvents(
	req *replaydv1.StreamEventsRequest, out grpc.ServerStreamingServer[replaydv1.StreamEventsResponse],
) (err error) {
	ctx := out.Context()
	defer func() { err = s.fail(ctx, err, req.GetReplay()) }()
	if err := s.enter(ctx, streamCost); err != nil {
		return err
	}
	return s.Stream(ctx, req, s.counted(out))
}

// Stream streams the events of a replay, and with FollowSuccessors of its successors, to send. It returns errors of the
// packages below and of invalid requests unchanged; the gRPC handler converts them to statuses.
func (s *Server) Stream(ctx context.Context, req *replaydv1.StreamEventsRequest, send stream.Send) error {
	if err := checkName("replay", req.GetReplay()); err != nil {
		return err
	}
	switch {
	case req.GetFollowSuccessors() && !req.GetFollow():
		return badRequest("follow_successors", "needs follow")
	case req.GetSuccessorRule() != replaydv1.SuccessorRule_SUCCESSOR_RULE_UNSPECIFIED && !req.GetFollowSuccessors():
		return badRequest("successor_rule", "needs follow_successors")
	}
	if !reaches(access.Of(ctx), req.GetReplay()) {
		return catalog.NotFound(req.GetReplay())
	}
	c, err := s.config(ctx, req)
	if err != nil {
		return err
	}
	file, grows, err := s.openFor(ctx, req)
	if err != nil {
		return err
	}
	if c.Replay, err = s.newReplay(ctx, file, req, grows); err != nil {
		return err
	}
	if req.GetFollowSuccessors() {
		next, err := s.newChain(ctx, file, c.Replay, req)
		if err != nil {
			c.Replay.Close()
			return err
		}
		defer next.end()
		c.Successors = next
	}
	return stream.Run(ctx, c, send)
}

// openFor opens the replay that a request means.
func (s *Server) openFor(ctx context.Context, req *replaydv1.StreamEventsRequest) (*source.File, growth, error) {
	if temporary.Is(req.GetReplay()) {
		if req.GetFollowSuccessors() {
			return nil, whole, badRequest("follow_successors", "is not possible with a temporary replay")
		}
		file, _, err := s.openTemporary(ctx, req.GetReplay())
		return file, whole, err
	}
	name, err := s.resolve(ctx, req)
	if err != nil {
		return nil, whole, err
	}
	grows := whole
	if req.GetFollow() {
		grows = followed
	}
	file, err := s.open(ctx, name, req.GetFollow())
	return file, grows, err
}

// open opens a replay below a root. If it is to be followed and still too short for its format to be recognized, as every file is that was
// just created, open waits for it to grow.
func (s *Server) open(ctx context.Context, name string, follow bool) (*source.File, error) {
	file, err := s.Catalog.OpenContext(ctx, name)
	if err != nil || !follow || s.Watcher == nil || !tooShort(file) {
		return file, err
	}
	if err := s.awaitFormat(ctx, file); err != nil {
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

// awaitFormat waits until the format of a file can be recognized.
func (s *Server) awaitFormat(ctx context.Context, file *source.File) error {
	changed, err := s.Watcher.Subscribe(file.Path())
	if err != nil {
		return err
	}
	defer changed.Close()
	for tooShort(file) {
		select {
		case <-changed.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.drain:
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
func (s *Server) resolve(ctx context.Context, req *replaydv1.StreamEventsRequest) (string, error) {
	name := req.GetReplay()
	isDir, err := s.Catalog.IsDir(name)
	missing := errors.Is(err, catalog.ErrNotFound)
	if len(req.GetStart().GetCursor()) > 0 && (missing || err == nil && req.GetFollow() && (isDir || req.GetFollowSuccessors())) {
		at, err := cursor.Parse(req.GetStart().GetCursor())
		if err != nil {
			return "", badRequest("start.cursor", err.Error())
		}
		found, err := s.ofCursor(ctx, name, at)
		if missing && errors.Is(err, stream.ErrCursorReplay) {
			return name, nil // opening it returns the right error
		}
		return found, err
	}
	switch {
	case err != nil && req.GetFollow() && !missing:
		return "", err
	case isDir && req.GetFollow() && !s.Catalog.Grows(name):
		return "", errFixed
	case isDir && req.GetFollow():
		return s.newest(ctx, name)
	}
	return name, nil
}

// errFixed is the error of a request that follows a replay, or a directory, in a bucket.
var errFixed = badRequest("follow", "an object in a bucket never grows; leave out follow to read it")

// followable reports whether a replay may grow.
func followable(info *source.Info) bool {
	c, err := codecOf(info.Format)
	return err == nil && !c.RandomAccess && info.Growable()
}

// newest returns the newest replay of a directory that can be followed. It waits until there is one.
func (s *Server) newest(ctx context.Context, dir string) (string, error) {
	if s.Watcher == nil {
		return "", errNoWatcher
	}
	interest := s.familyOf(ctx, dir).Interest(dir, "")
	defer interest.Close()
	for {
		all, err := s.index.InDirectory(ctx, dir, scopeOf(ctx))
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
		select {
		case <-interest.C:
		case <-ctx.Done():
			return "", ctx.Err()
		case <-s.drain:
			return "", stream.ErrDraining
		}
	}
}

// ofCursor returns the name of a cursor's replay, wherever it lies in the family of the replay that the request names: its stream may
// have moved on to a successor, and files are renamed, moved and compressed.
func (s *Server) ofCursor(ctx context.Context, name string, at cursor.Cursor) (string, error) {
	found, err := s.familyOf(ctx, name).OfCursor(ctx, at)
	if err != nil {
		return "", err
	}
	if found == nil {
		alias, _, _ := strings.Cut(name, "/")
		return "", fmt.Errorf("%w, and none below %q is", stream.ErrCursorReplay, alias)
	}
	return found.Name, nil
}
