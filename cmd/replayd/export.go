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
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/export"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/table/tablefile"
	"github.com/replayd/replayd/service"
)

type exportCmd struct {
	target
	selection

	Replay []string `arg:"" help:"Files or objects in buckets, or with --addr names of replays."`

	To             string  `help:"The directory to write to." required:"" placeholder:"DIR" env:"-"`
	Format         string  `help:"The format of the files." enum:"parquet,arrow,csv,jsonl" default:"parquet" env:"-"`
	Again          bool    `help:"Also export what is there already."`
	ResolvePlayers bool    `help:"Add the name, clan, team and role of each client to teehistorian events."`
	Reveal         secrets `help:"Do not redact secrets such as timeout codes: all, or some by name, such as connection_id,antibot. Only without --addr; a daemon has its own --reveal-secrets." placeholder:"NAMES" name:"reveal-secrets"`
}

// exportMemory is the memory above which an export collects garbage more often, in bytes. An export needs some 40 MB, of which the
// decoder's state is a third. Pages of the program itself, some 40 MB, are not part of it.
const exportMemory = 76 << 20

// Run exports each replay. It continues after one that is damaged or missing, and returns the first error.
func (c *exportCmd) Run(ctx context.Context, con console) error {
	debug.SetGCPercent(50) // most of the memory is record batches, which are garbage soon
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(exportMemory)
	}
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

// export exports one replay. A damaged one is exported as far as it can be read; its error is returned, too.
func (c *exportCmd) export(ctx context.Context, in io.Reader, replay string, progress *progress, note func(string)) error {
	req := &replaydv1.StreamEventsRequest{
		Replay: replay, ResolvePlayers: c.ResolvePlayers, Encoding: replaydv1.Encoding_ENCODING_ARROW,
	}
	c.apply(req)
	key, err := export.Selection(req, c.Reveal.Secrets)
	if err != nil {
		return err
	}
	o := export.Options{
		Name: replay, Place: export.Dir{Path: c.To}, Format: tablefile.Format(c.Format), Selection: key, Again: c.Again,
		Tables: tableVersion, Note: note,
		Progress: func(bytes int, read, total int64) {
			progress.reach(read, total)
			progress.add(bytes)
		},
	}
	if c.Addr == "" && replay != "-" && !bucket.Is(replay) { // an object is read only once
		if o.Sum, o.Size, err = sumOf(replay); err != nil {
			return absent(err)
		}
	}
	if c.Addr == "" { // it is not sent anywhere
		req.ArrowCompression = replaydv1.ArrowCompression_ARROW_COMPRESSION_NONE
	}
	e := export.New(o)
	defer e.Close()
	s := streaming{target: &c.target, in: in, reveal: c.Reveal.Secrets, note: note, each: func(r client.Response) error { return e.Add(ctx, r) }}
	err = s.run(ctx, req)
	err = finishExport(ctx, e, err)
	if e.Detail() != "" && err == nil {
		note(replay + ": " + e.Detail())
	}
	return err
}

// finishExport finishes an export whose stream ended with an error or nil. A damaged replay is finished as far as it could be read, and
// its error is returned, also if it was exported before. That an export is there already is no error otherwise.
func finishExport(ctx context.Context, e *export.Export, err error) error {
	if errors.Is(err, export.ErrThere) {
		if damage := e.Damage(); damage != nil {
			return damagedError{damage}
		}
		return nil
	}
	if err != nil {
		if code := exitCode(err); code != exitCorrupt && code != exitTruncated || !e.Damaged(damageOf(err)) {
			return err
		}
	}
	if finished := e.Finish(ctx); finished != nil {
		return finished
	}
	return err
}

// damagedError is the damage of a replay that was exported before.
type damagedError struct{ *export.Damage }

func (e damagedError) Error() string { return e.Detail }

// damageOf describes the error of a damaged replay.
func damageOf(err error) export.Damage {
	f, _ := failureOf(err)
	return export.Damage{Reason: f.Reason, Offset: f.Offset, Detail: f.Detail}
}

// tableVersion returns a short text that changes when the tables of a format do.
func tableVersion(format string) string {
	for _, c := range service.Codecs() {
		if c.Format.String() == format {
			return c.Tables.Version()
		}
	}
	return fmt.Sprintf("unknown format %s", format)
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
