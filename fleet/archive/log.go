package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/replayd/replayd/fleet/export"
)

// record is a commit in the log.
type record struct {
	Number int64 `json:"number"`
	Time   int64 `json:"time"` // in milliseconds since 1970, later than that of the record before
	// Replays are the replays whose rows the commit adds. Earlier rows of them are deleted.
	Replays []replay `json:"replays,omitempty"`
	// Rewrites means that the rows are those of files that the tables no longer have: replays have what they had.
	Rewrites bool              `json:"rewrites,omitempty"`
	Tables   map[string]change `json:"tables,omitempty"` // by FORMAT/KIND
}

// replay is a replay of a commit.
type replay struct {
	Name string `json:"name"`          // FORMAT/BASE, as export.Staged has them
	Key  string `json:"key,omitempty"` // of the contents; missing if the commit rewrites
}

// change is what a commit changes of a table.
type change struct {
	Schema  *schema       `json:"schema,omitempty"` // if it is a new one
	Files   []rowFile     `json:"files,omitempty"`
	Deletes []deletedFile `json:"deletes,omitempty"`
	Gone    []string      `json:"gone,omitempty"` // names of files that the table no longer has
	// Manifests are those that the commit adds. Of one that rewrites they are all.
	Manifests []manifestRef `json:"manifests"`
}

// rowFile is a file of rows.
type rowFile struct {
	Name  string `json:"name"`
	Day   *int32 `json:"day"`
	Bytes int64  `json:"bytes"`
	// Least and Most are the identities of the replays between which all are.
	Least string `json:"least"`
	Most  string `json:"most"`
	// Rows has the number of rows of each replay in the order of the file, by the replay's index in the record.
	Rows [][2]int64 `json:"rows"`
}

// deletedFile is a file with the positions of deleted rows.
type deletedFile struct {
	Name  string           `json:"name"`
	Day   *int32           `json:"day"`
	Bytes int64            `json:"bytes"`
	Of    map[string]int64 `json:"of"` // how many rows of each file
}

const (
	logDir    = "commits"
	logEnd    = ".json"
	leaseName = "lease.json"
	maxRecord = 256 << 20
)

func logName(number int64) string { return fmt.Sprintf("%s/%08d%s", logDir, number, logEnd) }

// table is a table as the log has it.
type table struct {
	schemas   []schema
	manifests []manifestRef
	snapshots []snapshot // those that remain readable
	last      int64      // the commit of the last one
	files     map[string]*tableFile
}

// tableFile is a file that a table has.
type tableFile struct {
	commit   int64
	contents contents
	day      *int32
	bytes    int64
	rows     int64
	replays  int              // that have rows
	dead     int64            // of the rows, those that are deleted
	bounds   [2]string        // of the replays
	of       map[string]int64 // of deleted positions: how many of each file
}

// add adds the change of a commit.
func (t *table) add(r *record, c change) {
	if c.Schema != nil {
		t.schemas = append(t.schemas, *c.Schema)
	}
	for _, f := range c.Files {
		at := &tableFile{commit: r.Number, contents: rows, day: f.Day, bytes: f.Bytes, replays: len(f.Rows), bounds: [2]string{f.Least, f.Most}}
		for _, n := range f.Rows {
			at.rows += n[1]
		}
		t.files[f.Name] = at
	}
	operation := "append"
	for _, f := range c.Deletes {
		at := &tableFile{commit: r.Number, contents: deletes, day: f.Day, bytes: f.Bytes, of: f.Of}
		for name, n := range f.Of {
			at.rows += n
			if live := t.files[name]; live != nil {
				live.dead += n
			}
		}
		t.files[f.Name] = at
		operation = "overwrite"
	}
	for _, name := range c.Gone {
		delete(t.files, name)
	}
	if r.Rewrites {
		operation, t.manifests, t.snapshots = "replace", nil, nil
	}
	for _, m := range c.Manifests {
		m.Commit = r.Number
		t.manifests = append(t.manifests, m)
	}
	s := snapshot{commit: r.Number, time: r.Time, schema: len(t.schemas) - 1, operation: operation, manifests: slices.Clip(t.manifests), parent: t.last}
	t.last = r.Number
	t.snapshots = append(t.snapshots, s)
	t.snapshots = t.snapshots[max(0, len(t.snapshots)-kept):]
}

// names calls each for the names of all files of a table that engines may read.
func (t *table) names(name string, each func(string)) {
	for file := range t.files {
		each(file)
	}
	for _, m := range t.manifests {
		each(m.Name)
	}
	for _, s := range t.snapshots {
		each(metadataName(name, s.commit))
		each(listName(name, s.commit))
	}
}

// state is what the log says.
type state struct {
	last    int64 // the number of the last record
	time    int64
	replays map[string]committed
	tables  map[string]*table
	retired map[string]int64 // when a table had a file for the last time, in milliseconds since 1970
}

// committed says where the rows of a replay are.
type committed struct {
	key string
	// commits are the one that added its rows, and those that have rewritten some.
	commits []int64
}

func newState() *state {
	return &state{replays: map[string]committed{}, tables: map[string]*table{}, retired: map[string]int64{}}
}

// apply adds a record.
func (s *state) apply(r *record) {
	s.last, s.time = r.Number, r.Time
	for _, at := range r.Replays {
		was := s.replays[at.Name]
		if r.Rewrites {
			was.commits = append(was.commits, r.Number)
		} else {
			was = committed{at.Key, []int64{r.Number}}
		}
		s.replays[at.Name] = was
	}
	for name, c := range r.Tables {
		t := s.tables[name]
		if t == nil {
			t = &table{files: map[string]*tableFile{}}
			s.tables[name] = t
		}
		if r.Rewrites {
			t.names(name, func(file string) { s.retired[file] = r.Time })
		}
		t.add(r, c)
		if r.Rewrites {
			t.names(name, func(file string) { delete(s.retired, file) })
		}
	}
}

// load reads the records that the state does not have.
func (a *Archive) load(ctx context.Context) error {
	for {
		r, err := a.record(ctx, a.state.last+1)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		a.state.apply(r)
	}
}

// record reads a record.
func (a *Archive) record(ctx context.Context, number int64) (*record, error) {
	b, err := a.place.Read(ctx, logName(number), maxRecord)
	if err != nil {
		return nil, err
	}
	r := new(record)
	if err := json.Unmarshal(b, r); err != nil || r.Number != number {
		return nil, fmt.Errorf("%s is no record: %w", logName(number), errors.Join(err, fs.ErrInvalid))
	}
	return r, nil
}

// write puts a record, if there is none of its number.
func (a *Archive) write(ctx context.Context, r *record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if len(b) > maxRecord {
		return fmt.Errorf("a record of %d bytes is too long", len(b))
	}
	if err := export.CommitBytes(ctx, a.place, logName(r.Number), b, "", nil); err != nil {
		return err
	}
	if err := a.place.Sync([]string{logName(r.Number)}); err != nil {
		return err
	}
	a.state.apply(r)
	return nil
}

const (
	hint        = "version-hint.text"
	metadataDir = "metadata"
	dataDir     = "data"
)

// metadataName returns the name of the metadata of a table as of a commit.
func metadataName(table string, commit int64) string {
	return fmt.Sprintf("%s/%s/v%d.metadata.json", table, metadataDir, commit)
}

// listName returns the name of the list of manifests of a snapshot.
func listName(table string, commit int64) string {
	return fmt.Sprintf("%s/%s/snap-%d.avro", table, metadataDir, commit)
}

// publish makes the commits of a table visible that are not yet.
func (a *Archive) publish(ctx context.Context, name string) error {
	t := a.state.tables[name]
	at := path.Join(name, metadataDir, hint)
	version, err := a.place.Version(ctx, at)
	if err != nil {
		return err
	}
	seen := int64(0)
	b, err := a.place.Read(ctx, at, 64)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if seen, err = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err != nil { // it is damaged, and follows from the log
			a.log.WarnContext(ctx, "a table's hint is damaged, and written again", "name", at, "error", err)
			seen = 0
		}
	}
	last := t.snapshots[len(t.snapshots)-1].commit
	if seen >= last {
		return nil
	}
	for _, s := range t.snapshots {
		if s.commit <= seen {
			continue
		}
		if err := export.PutBytes(ctx, a.place, listName(name, s.commit), manifestList(s.commit, s.parent, s.manifests, a.place.URL)); err != nil {
			return err
		}
	}
	b, err = t.metadata(a.place.URL(name), func(s snapshot) string { return a.place.URL(listName(name, s.commit)) })
	if err != nil {
		return err
	}
	if err := export.PutBytes(ctx, a.place, metadataName(name, last), b); err != nil {
		return err
	}
	if err := a.place.Sync([]string{metadataName(name, last)}); err != nil {
		return err
	}
	return export.CommitBytes(ctx, a.place, at, strconv.AppendInt(nil, last, 10), version, nil)
}

// now returns the time of the next record.
func (a *Archive) now() int64 { return max(time.Now().UnixMilli(), a.state.time+1) }
