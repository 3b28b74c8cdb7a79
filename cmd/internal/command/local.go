package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
)

// openLocal opens the file at path, or in as the standard input if path is "-", or the object of a URL.
func openLocal(ctx context.Context, p Program, in io.Reader, path string) (*source.File, error) {
	if path == "-" {
		return source.FromReader(in, path, source.Limits{})
	}
	switch object, err := p.objects(path); {
	case err != nil:
		return nil, err
	case object:
		file, err := p.Objects.Open(ctx, path)
		if errors.Is(err, source.ErrDirectory) { // the names of objects in a list lack the parameters of the URL
			return nil, usageError{errors.New("it is a directory of the bucket: replayd ls lists its replays")}
		}
		return file, err
	}
	file, err := source.OpenLocal(path, source.Limits{})
	if errors.Is(err, source.ErrDirectory) {
		return nil, fmt.Errorf("%s %w: replayd ls lists its replays", path, err)
	}
	return file, Absent(err)
}

// local lists the replays below a local directory, or the one of a file.
func (c *lsCmd) local(ctx context.Context, p Program, each func(*replaydv1.Replay) error) error {
	dir := c.Dir
	if dir == "" {
		dir = "."
	}
	objects, err := p.objects(dir)
	if err != nil {
		return err
	}
	root, name := catalog.Root{Alias: "local", Dir: dir}, ""
	if objects {
		root.Dir = ""
		if root.Store, name, err = p.Objects.Store(ctx, dir); err != nil {
			return err
		}
	} else if stat, err := os.Stat(dir); err != nil {
		return Absent(err)
	} else if !stat.IsDir() {
		return c.file(ctx, p, each)
	}
	cat, err := catalog.New([]catalog.Root{root}, catalog.Options{Limits: source.Limits{}})
	if err != nil {
		return err
	}
	server, err := service.NewServer(service.Config{Catalog: cat, Version: version})
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	for req := c.request("local"); ; {
		page, err := server.ListReplays(ctx, req)
		if err != nil {
			return err
		}
		for _, r := range page.GetReplays() {
			rel := strings.TrimPrefix(r.GetName(), "local/")
			if root.Store != nil {
				r.Name = name + "/" + rel
			} else {
				r.Name = filepath.Join(dir, filepath.FromSlash(rel)) // a path that the other commands accept
				if c.played() {
					addPlayed(ctx, r)
				}
			}
			if err := each(r); err != nil {
				return err
			}
		}
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			return nil
		}
	}
}

// file lists a single file.
func (c *lsCmd) file(ctx context.Context, p Program, each func(*replaydv1.Replay) error) error {
	file, err := openLocal(ctx, p, nil, c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	r, err := describe.Replay(ctx, file)
	if err != nil {
		return named(c.Dir, err)
	}
	if c.played() {
		addPlayed(ctx, r)
	}
	return each(r)
}

// mostListed is the size in bytes of the largest file that is decoded to list it: a second's work, or less.
const mostListed = 64 << 20

// addPlayed adds to the description of a file what takes decoding: who took part where the header does not say so, how long it is, and
// whether it has ended. What cannot be decoded is not known.
func addPlayed(ctx context.Context, to *replaydv1.Replay) {
	if to.GetFormat() == replaydv1.Format_FORMAT_DEM && to.LastTick != nil { // it is at the end of the file
		to.State = replaydv1.ReplayState_REPLAY_STATE_FINISHED
	}
	switch to.GetFormat() {
	case replaydv1.Format_FORMAT_TEEHISTORIAN: // all of it is decoded, for the end, too
		if to.GetSizeBytes() > mostListed {
			return
		}
	case replaydv1.Format_FORMAT_DEM: // the beginning is enough
		if to.GetLineup() != "" {
			return
		}
	default:
		return
	}
	file, err := source.OpenLocal(to.GetName(), source.Limits{})
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	r, err := describe.Participants(ctx, file, codec.Secrets{})
	if err != nil {
		return
	}
	to.Participants, to.Lineup = r.GetParticipants(), r.GetLineup()
	if s := r.GetState(); s != replaydv1.ReplayState_REPLAY_STATE_UNSPECIFIED { // what is new may be whole, which its time does not tell
		to.State = s
	}
	if to.GetFormat() == replaydv1.Format_FORMAT_TEEHISTORIAN && to.GetDuration() == nil && r.GetTicksPerSecond() > 0 {
		to.Duration = durationpb.New(time.Duration(float64(r.GetPlayersTick()) / r.GetTicksPerSecond() * float64(time.Second)))
	}
}
