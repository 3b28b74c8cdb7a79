package service

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/cursor"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/watch"
)

// Stream streams the events of one replay, or of a chain of them, to send. Its errors are those of the packages below;
// the gRPC handler turns them into statuses.
func (s *Server) Stream(ctx context.Context, req *replaydv1.StreamEventsRequest, send stream.Send) error {
	if err := checkName("replay", req.GetReplay()); err != nil {
		return err
	}
	if req.GetFollowSuccessors() && !req.GetFollow() {
		return badRequest("follow_successors", "needs follow")
	}
	name, err := s.resolve(ctx, req)
	if err != nil {
		return err
	}
	file, err := s.open(ctx, name, req.GetFollow())
	if err != nil {
		return err
	}
	c, err := Subscribe(ctx, file, req)
	if err != nil {
		_ = file.Close()
		return err
	}
	if err := s.attend(c.Replay, file, req.GetFollow()); err != nil {
		_ = file.Close()
		return err
	}
	c.Drain, c.Version = s.drain, s.Version
	if req.GetFollowSuccessors() {
		next, err := s.successors(file, c.Replay, req)
		if err != nil {
			c.Replay.Close()
			return err
		}
		defer next.close()
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
func (s *Server) attend(r *stream.Replay, file *source.File, follow bool) error {
	r.RevealSecrets = s.RevealSecrets
	r.Close = func() { _ = file.Close() }
	info := file.Info()
	if info.ID != (source.ID{}) {
		r.Checkpoints = func(identity string) encode.Checkpoints {
			return s.checkpoints.Of(checkpointKey{fileKeyOf(&info), identity})
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
	return s.live.follow(r, file, func() (*source.File, error) { return s.Catalog.Open(info.Name) }, s.chains[info.Format])
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

// resolve finds the replay that a request means: the one that it names, or, when it follows and names a directory, the
// one in there that its cursor is of, or the newest. It waits when there is none yet.
func (s *Server) resolve(ctx context.Context, req *replaydv1.StreamEventsRequest) (string, error) {
	name := req.GetReplay()
	if !req.GetFollow() {
		return name, nil
	}
	isDir, err := s.Catalog.IsDir(name)
	if err != nil {
		return "", err
	}
	at, hasCursor := cursor.Cursor{}, len(req.GetCursor()) > 0
	if hasCursor {
		if at, err = cursor.Parse(req.GetCursor()); err != nil {
			return "", badRequest("cursor", err.Error())
		}
	}
	switch {
	case hasCursor && (isDir || req.GetFollowSuccessors()):
		return s.ofCursor(ctx, name, isDir, at)
	case isDir:
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
	where, err := s.Catalog.Path(dir)
	if err != nil {
		return "", err
	}
	if s.Watcher == nil {
		return "", errors.New("following needs a watcher")
	}
	changed, err := s.Watcher.Subscribe(where)
	if err != nil {
		return "", err
	}
	defer changed.Close()
	for {
		info, err := s.Catalog.Newest(ctx, dir, followable)
		switch {
		case err == nil:
			return info.Name, nil
		case !errors.Is(err, catalog.ErrNotFound):
			return "", err
		}
		select {
		case <-changed.C:
		case <-time.After(minRetry): // of a file that gets its first bytes late nobody tells
		case <-ctx.Done():
			return "", ctx.Err()
		case <-s.drain:
			return "", stream.ErrDraining
		}
	}
}

// ofCursor finds the replay that a cursor is of: the stream that it comes from may have gone on to a later one than the
// request names.
func (s *Server) ofCursor(ctx context.Context, name string, isDir bool, at cursor.Cursor) (string, error) {
	chain := s.chains[at.Format]
	if chain == nil {
		return "", stream.ErrCursorReplay
	}
	dir := name
	if !isDir {
		dir = path.Dir(name)
	}
	found, err := chain.find(ctx, dir, func(r *replaydv1.Replay) bool {
		return cursor.HashOf(r.GetIdentity()) == at.Replay
	})
	if err != nil {
		return "", err
	}
	if found == "" {
		return "", fmt.Errorf("%w, and none in %q is", stream.ErrCursorReplay, dir)
	}
	return found, nil
}

// successors finds one replay after another.
type successors struct {
	server   *Server
	chain    *chain
	req      *replaydv1.StreamEventsRequest
	changed  *watch.Subscription
	file     *source.File // of the replay that is streamed
	searched bool         // all of its directory was looked at
}

var _ stream.Successors = (*successors)(nil)

func (s *Server) successors(file *source.File, r *stream.Replay, req *replaydv1.StreamEventsRequest) (*successors, error) {
	if r.Codec.Succeeds == nil {
		return nil, badRequest("follow_successors", fmt.Sprintf("replays of format %v have none", r.Codec.Format))
	}
	where, err := s.Catalog.Path(path.Dir(file.Info().Name))
	if err != nil {
		return nil, err
	}
	changed, err := s.Watcher.Subscribe(where)
	if err != nil {
		return nil, err
	}
	return &successors{server: s, chain: s.chains[r.Codec.Format], req: req, changed: changed, file: file}, nil
}

func (n *successors) close() { n.changed.Close() }

// Changed implements stream.Successors.
func (n *successors) Changed() <-chan struct{} { return n.changed.C }

// Next implements stream.Successors.
func (n *successors) Next(ctx context.Context) (*stream.Replay, time.Duration, error) {
	info := n.file.Info()
	old := !n.searched && time.Since(info.Modified) >= liveFor
	found, err := n.chain.next(ctx, n.file, old)
	if found.replay == nil || err != nil {
		n.searched = n.searched || old && err == nil
		return nil, found.retry, err
	}
	file, err := n.server.Catalog.Open(found.info.Name)
	if err != nil {
		return nil, 0, err
	}
	r, err := replayOf(ctx, file, n.req)
	if err == nil {
		err = n.server.attend(r, file, found.info.Growable())
	}
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	n.file, n.searched = file, false
	return r, 0, nil
}
