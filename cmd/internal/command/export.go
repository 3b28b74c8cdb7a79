package command

import (
	"cmp"
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
	"github.com/replayd/replayd/cmd/internal/terminal"
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/fleet/workdir"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/table/tablefile"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/opened"
)

// TableSelection is a Selection for tables. Classes without kinds, and a game event, are tables with a column for each field or key.
type TableSelection struct {
	Selection

	Event string `help:"Only the game events of a demo with this name, such as player_death, as a table with a column for each key." placeholder:"NAME"`
}

// Apply puts the selection into a request.
func (s *TableSelection) Apply(req *replaydv1.StreamEventsRequest) error {
	s.Selection.Apply(req)
	switch {
	case s.Event != "":
		if len(s.Kind)+len(s.Type)+len(s.Class)+len(s.Field) > 0 {
			return usageError{errors.New("--event is a table of its own: leave out --kind, --type, --class and --field")}
		}
		opened.Choose(req, "game_event."+s.Event)
	case len(s.Class) > 0 && len(s.Kind) == 0:
		opened.Widen(req)
	}
	return nil
}

type exportCmd struct {
	Target
	TableSelection

	Replay []string `arg:"" help:"Files or objects in buckets, or with --addr names of replays. A directory is all replays below."`

	To             string  `help:"The directory to write to." required:"" placeholder:"DIR" env:"-"`
	Format         string  `help:"The format of the files." enum:"parquet,arrow,csv,jsonl" default:"parquet" env:"-"`
	Staged         bool    `help:"Write one file for each replay, whose rows 'replayd-fleet merge' adds to tables of many replays. Implies --again; --format is ignored."`
	Again          bool    `help:"Also export what is there already."`
	Maps           string  `help:"The directory with the maps of games, for kinds that need them, such as sample_character. Default: that of each replay. Only without --addr." type:"existingdir" placeholder:"DIR"`
	ResolvePlayers bool    `help:"Add the name, clan, team and role of each client to teehistorian events."`
	Reveal         Secrets `help:"Do not redact secrets such as timeout codes: all, or some by name, such as connection_id,antibot. Only without --addr; a daemon has its own --reveal-secrets." placeholder:"NAMES" name:"reveal-secrets"`

	place *drafted
}

// drafted is a directory as a Place, with a directory for drafts in it during writing. The next export removes the drafts of a
// killed one.
type drafted struct {
	export.Dir

	work *workdir.Dir
}

// Drafts implements export.Place. Without a directory that others leave alone, drafts lie beside the files.
func (d *drafted) Drafts(name string) (string, error) {
	if d.work == nil && d.Temp == "" {
		if work, err := workdir.New(filepath.Join(d.Path, ".replayd-work")); err == nil {
			d.work, d.Temp = work, work.Path()
		}
	}
	return d.Dir.Drafts(name)
}

func (d *drafted) close() {
	if d.work != nil {
		d.work.Close()
	}
}

// exportMemory is the memory above which an export collects garbage more often, in bytes. An export needs some 40 MB, of which the
// decoder's state is a third. Pages of the program itself, some 40 MB, are not part of it.
const exportMemory = 76 << 20

// Run exports each replay. It continues after one that is damaged or missing, and returns the first error.
func (c *exportCmd) Run(ctx context.Context, con Console, p Program) error {
	p.maps = c.Maps
	debug.SetGCPercent(800) // up to the limit of memory: most of it is record batches, which soon become garbage
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(exportMemory)
	}
	progress := newProgress(con)
	defer progress.done()
	note := func(text string) {
		progress.done()
		_, _ = fmt.Fprintln(con.Err, "replayd:", text)
	}
	c.place = &drafted{Dir: export.Dir{Path: c.To}}
	defer c.place.close()
	var first error
	for i, replay := range c.Replay {
		if len(c.Replay) > 1 {
			progress.label = fmt.Sprintf("%d of %d: ", i+1, len(c.Replay))
		}
		err := c.replays(ctx, p, con.In, replay, progress, note)
		if ctx.Err() != nil {
			return err
		}
		if err == nil {
			continue
		}
		if len(c.Replay) > 1 {
			note(Message(err))
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// replays exports a replay, or all replays below a directory.
func (c *exportCmd) replays(ctx context.Context, p Program, in io.Reader, name string, progress *progress, note func(string)) error {
	if c.Addr != "" {
		name = Directory(name)
	}
	err := c.export(ctx, p, in, name, progress, note)
	if !c.directory(err) {
		return named(name, err)
	}
	var names []string
	list := lsCmd{Target: c.Target, Dir: name}
	if failed := list.each(ctx, p, func(r *replaydv1.Replay) error { names = append(names, r.GetName()); return nil }); failed != nil {
		return err // of the name, which may be none of a directory
	}
	if len(names) == 0 {
		return NotFound(fmt.Errorf("%s has no replays", name))
	}
	label := progress.label
	var first error
	for i, name := range names {
		progress.label = fmt.Sprintf("%s%d of %d: ", label, i+1, len(names))
		err := named(name, c.export(ctx, p, in, name, progress, note))
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			note(Message(err))
			first = cmp.Or(first, err)
		}
	}
	return first
}

// export exports one replay, and notes what was written. It exports a damaged one as far as it can be read, and returns its error, too.
func (c *exportCmd) export(ctx context.Context, p Program, in io.Reader, replay string, progress *progress, note func(string)) error {
	req := &replaydv1.StreamEventsRequest{
		Replay: replay, ResolvePlayers: c.ResolvePlayers, Encoding: replaydv1.Encoding_ENCODING_ARROW,
	}
	if err := c.Apply(req); err != nil {
		return err
	}
	key, err := export.Selection(req, c.Reveal.Secrets)
	if err != nil {
		return err
	}
	o := export.Options{
		Name: replay, Place: c.place, Format: tablefile.Format(c.Format), Selection: key, Facts: export.HasFacts(req), Again: c.Again, Staged: c.Staged,
		Tables: describe.TableVersion, Note: note,
		Progress: func(bytes int, read, total int64) {
			progress.reach(read, total)
			progress.add(bytes)
		},
	}
	if c.Addr == "" {
		object, err := p.objects(replay)
		if err != nil {
			return err
		}
		if replay != "-" && !object { // an object is read only once
			if o.Sum, o.Size, err = SumOf(replay); err != nil {
				return Absent(err)
			}
		}
	}
	e := export.New(o)
	defer e.Close()
	if c.Addr == "" {
		err = exportLocal(ctx, p, in, req, c.Reveal.Secrets, e)
	} else {
		s := streaming{target: &c.Target, program: p, note: note, each: func(r client.Response) error { return e.Add(ctx, r) }}
		err = s.run(ctx, req)
	}
	there := errors.Is(err, export.ErrThere)
	damage := damageOf(err)
	err = e.Conclude(ctx, err, damage)
	switch {
	case there:
		note(fmt.Sprintf("%s: is in %s already; --again writes it again", replay, c.To))
	case err == nil || damage != nil:
		note(replay + ": " + c.wrote(ctx, e))
	}
	if e.Detail() != "" && err == nil {
		note(replay + ": " + e.Detail())
	}
	return err
}

// wrote says what an export has written.
func (c *exportCmd) wrote(ctx context.Context, e *export.Export) string {
	var bytes int64
	for _, name := range e.Names() {
		if n, err := c.place.Size(ctx, name); err == nil {
			bytes += n
		}
	}
	if c.Staged {
		return fmt.Sprintf("%d events staged, %s, in %s", e.Events(), terminal.Size(bytes), c.To)
	}
	tables := "tables"
	if len(e.Names()) == 2 { // one besides the manifest
		tables = "table"
	}
	return fmt.Sprintf("%d events in %d %s, %s, in %s", e.Events(), max(0, len(e.Names())-1), tables, terminal.Size(bytes), c.To)
}

// exportLocal streams a replay to an export without a daemon.
func exportLocal(
	ctx context.Context, p Program, in io.Reader, req *replaydv1.StreamEventsRequest, reveal decoders.Secrets, e *export.Export,
) error {
	file, err := openStreamed(ctx, p, in, req)
	if err != nil {
		return err
	}
	return service.StreamColumns(ctx, file, req, localOf(p, req, reveal), func(f *frame.Frame) error {
		defer f.Free()
		return e.AddFrame(ctx, f)
	})
}

// damageOf describes the damage of a replay whose stream ended with an error. It is nil for other errors, and without one.
func damageOf(err error) *export.Damage {
	if d := export.DamageOf(err, Message); d != nil {
		return d
	}
	if code, ok := statusExit(err); ok && (code == ExitCorrupt || code == ExitTruncated) {
		return &export.Damage{Reason: "FAILED", Detail: Message(err)}
	}
	return nil
}

// SumOf returns the SHA-256 sum and the size of a file.
func SumOf(path string) (string, int64, error) {
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
