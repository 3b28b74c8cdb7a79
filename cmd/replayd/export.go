package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/table/tablefile"
)

type exportCmd struct {
	target
	selection

	Replay []string `arg:"" help:"Files, or with --addr names of replays."`

	To             string `help:"The directory to write to." required:"" placeholder:"DIR" env:"-"`
	Format         string `help:"The format of the files." enum:"parquet,arrow,csv,jsonl" default:"parquet" env:"-"`
	Again          bool   `help:"Also export what is there already."`
	ResolvePlayers bool   `help:"Add the name, clan, team and role of each client to teehistorian events."`
	Reveal         bool   `help:"Do not redact secrets such as timeout codes. Only without --addr; a daemon has its own --reveal-secrets." name:"reveal-secrets"`
}

// Run exports each replay. It continues after one that is damaged or missing, and returns the first error.
func (c *exportCmd) Run(ctx context.Context, con console) error {
	debug.SetGCPercent(50) // most of the memory is record batches, which are garbage soon
	progress := newProgress(con)
	if isTerminal(con.err) {
		progress.to = con.err // nothing is written to the output
	}
	defer progress.done()
	note := func(text string) {
		progress.done()
		_, _ = fmt.Fprintln(con.err, "replayd:", text)
	}
	var first error
	for i, replay := range c.Replay {
		if len(c.Replay) > 1 {
			progress.label = fmt.Sprintf("%d of %d: ", i+1, len(c.Replay))
		}
		err := c.export(ctx, con.in, replay, progress, note)
		if ctx.Err() != nil {
			return err
		}
		if err == nil {
			continue
		}
		if len(c.Replay) > 1 {
			note(replay + ": " + message(err))
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// errThere means that a replay was exported before.
var errThere = errors.New("the replay is there already")

// export exports one replay. A damaged one is exported as far as it can be read; its error is returned, too.
func (c *exportCmd) export(ctx context.Context, in io.Reader, replay string, progress *progress, note func(string)) error {
	e := &export{
		dir: c.To, format: tablefile.Format(c.Format), selection: selectionKey(c), progress: progress,
		tables: map[string]*exportTable{}, again: c.Again,
	}
	if c.Addr == "" && replay != "-" {
		var err error
		if e.sum, e.size, err = sumOf(replay); err != nil {
			return absent(err)
		}
	}
	defer e.abandon()
	req := &replaydv1.StreamEventsRequest{
		Replay: replay, ResolvePlayers: c.ResolvePlayers, Encoding: replaydv1.Encoding_ENCODING_ARROW,
	}
	c.apply(req)
	s := streaming{target: &c.target, in: in, reveal: c.Reveal, note: note, each: func(r client.Response) error { return e.response(r) }}
	err := s.run(ctx, req)
	if errors.Is(err, errThere) {
		return nil
	}
	damaged := false
	if code := exitCode(err); err != nil {
		if damaged = code == exitCorrupt || code == exitTruncated; !damaged || e.start == nil {
			return err
		}
		e.reason, e.detail = "DAMAGED", message(err)
	}
	if finished := e.finish(); finished != nil {
		return finished
	}
	if e.detail != "" && !damaged {
		note(replay + ": " + e.detail)
	}
	return err
}

// selectionKey describes what of a replay is exported, so that an export of something else is not taken for the same.
func selectionKey(c *exportCmd) string {
	text := fmt.Sprintf("%v %v %v", deref(c.selection), c.ResolvePlayers, c.Reveal)
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// deref returns the selection in a form that prints the values, not the pointers.
func deref(s selection) []any {
	all := []any{s.Kind, s.ExcludeKind, s.Player, s.Team, s.Class, s.Field, s.Group, s.Layer}
	for _, tick := range []*int32{s.FromTick, s.ToTick} {
		if tick == nil {
			all = append(all, "any")
		} else {
			all = append(all, *tick)
		}
	}
	return all
}

// sumOf returns the SHA-256 sum and the size of a file.
func sumOf(path string) (string, int64, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }()
	if stat, err := f.Stat(); err != nil || !stat.Mode().IsRegular() {
		return "", 0, err // opening it as a replay returns the right error
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}
