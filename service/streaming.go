package service

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/cursor"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
)

// Stream streams the events of one replay, or of a chain of them, to send. Its errors are those of the packages below;
// the gRPC handler turns them into statuses.
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
	if !access.Of(ctx).Reaches(req.GetReplay()) {
		return catalog.NotFound(req.GetReplay())
	}
	name, err := s.resolve(ctx, req)
	if err != nil {
		return err
	}
	file, err := s.open(ctx, name, req.GetFollow())
	if err != nil {
		return err
	}
	if err := seen(ctx, name, file.Info().Format); err != nil {
		_ = file.Close()
		return err
	}
	spend(ctx, file)
	c, err := Subscribe(ctx, file, req)
	if err != nil {
		_ = file.Close()
		return err
	}
	if err := s.attend(ctx, c.Replay, file, req.GetFollow()); err != nil {
		_ = file.Close()
		return err
	}
	c.Drain, c.Version = s.drain, s.Version
	c.Turns, c.Caller = s.Turns, s.callerKey(ctx)
	if req.GetFollowSuccessors() {
		next, err := s.successors(ctx, file, c.Replay, req)
		if err != nil {
			c.Replay.Close()
			return err
		}
		defer next.end()
		c.Successors = next
	}
	return stream.Run(ctx, c, send)
}

// open opens a replay. A file that is to be followed and too short yet to tell what it is, as every file is when its
// writer has just created it, is waited for.
func (s *Server) open(ctx context.Context, name string, follow bool) (*source.File, error) {
	file, err := s.Catalog.Open(name)
	if err != nil || !follow || s.Watcher == nil || !unborn(file) {
		return file, err
	}
	if err := s.awaitFormat(ctx, file); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// unborn tells whether a file is too short to tell what it is.
func unborn(file *source.File) bool {
	info := file.Info()
	return info.Format == decoders.Unknown && info.Compression == source.Plain && info.Size < decoders.SniffLen
}

func (s *Server) awaitFormat(ctx context.Context, file *source.File) error {
	changed, err := s.Watcher.Subscribe(file.Path())
	if err != nil {
		return err
	}
	defer changed.Close()
	for unborn(file) {
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

// attend adds to a replay what the server has: checkpoints, and watching when it is to be followed. The replay then owns
// the file.
func (s *Server) attend(ctx context.Context, r *stream.Replay, file *source.File, follow bool) error {
	r.RevealSecrets = s.RevealSecrets
	r.Complete = s.complete
	r.Roster = s.roster(r.Codec, access.Of(ctx))
	closeWith(&r.Close, func() { _ = file.Close() })
	info := file.Info()
	if info.ID != (source.ID{}) {
		r.Checkpoints = func(identity string) encode.Checkpoints {
			return s.checkpoints.Of(checkpointKey{fileKeyOf(&info), identity}, info.Version)
		}
	}
	if !follow {
		return nil
	}
	if s.Watcher == nil {
		return errors.New("following needs a watcher")
	}
	if r.Codec.RandomAccess {
		return nil // such a file is whole or not there at all
	}
	r.Live = true
	return s.live.follow(access.Of(ctx), r, file, func() (*source.File, error) { return s.Catalog.Open(info.Name) })
}

// roster returns a function that tells who was there where the replay before one ended; nil for formats without.
func (s *Server) roster(codec *encode.Codec, g *access.Grant) func(*replaydv1.Replay) []byte {
	if codec.CarryRoster == nil {
		return nil
	}
	return func(r *replaydv1.Replay) []byte {
		return s.rosterSeen(context.Background(), g, codec.Lineage(r).Previous)
	}
}

// fileKey is a file under one of its names.
type fileKey struct {
	id   source.ID
	name string
}

func fileKeyOf(info *source.Info) fileKey { return fileKey{info.ID, info.Name} }

// checkpointKey is the replay in a file: under the same name and id another may come to lie.
type checkpointKey struct {
	file     fileKey
	identity string
}

// resolve finds the replay that a request means: the one that it names; or, when nothing lies there any more, or it follows
// successors or names a directory, the one that its cursor is of; or, when it follows and names a directory, the newest in
// there. It waits when there is none yet.
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
			return name, nil // that it is not there is what is wrong
		}
		return found, err
	}
	switch {
	case err != nil && req.GetFollow() && !missing:
		return "", err
	case isDir && req.GetFollow():
		return s.newest(ctx, name)
	}
	return name, nil
}

// followable tells whether a replay may grow.
func followable(info *source.Info) bool {
	codec, err := codecOf(info.Format)
	return err == nil && !codec.RandomAccess && info.Growable()
}

// newest returns the newest replay of a directory that can be followed, as soon as there is one.
func (s *Server) newest(ctx context.Context, dir string) (string, error) {
	if s.Watcher == nil {
		return "", errors.New("following needs a watcher")
	}
	interest := s.index.Interest(dir, "", scopeOf(ctx))
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

// ofCursor finds the replay that a cursor is of, wherever in its root it lies: the stream that it comes from may have gone on
// to a later one than the request names, and files are renamed, moved and compressed.
func (s *Server) ofCursor(ctx context.Context, name string, at cursor.Cursor) (string, error) {
	alias, _, _ := strings.Cut(name, "/")
	found, err := s.index.OfCursor(ctx, at, alias, scopeOf(ctx))
	if err != nil {
		return "", err
	}
	if found == nil {
		return "", fmt.Errorf("%w, and none below %q is", stream.ErrCursorReplay, alias)
	}
	return found.Name, nil
}
