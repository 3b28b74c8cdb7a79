package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/replay/table/tablefile"
)

const (
	wornShare  = 4         // a file is worn if one of so many of its rows is deleted
	pageMemory = 128 << 20 // bytes of pages, roughly, of files that are read together
	readRows   = 16 << 10  // read at a time
	maxRuns    = 2 << 20   // replays in files that one commit rewrites, each file counted
)

// group are the files of a table and a day that become one, or as many as their size demands.
type group struct {
	table string
	names []string
	bytes int64
	runs  int
}

// rewrite rewrites files until none is due.
func (a *Archive) rewrite(ctx context.Context, report *Report) error {
	for {
		groups := a.due()
		if len(groups) == 0 {
			return nil
		}
		bytes, runs, n := int64(0), 0, 0
		for n < len(groups) && (n == 0 || bytes+groups[n].bytes <= a.o.CommitBytes && runs+groups[n].runs <= maxRuns) {
			bytes, runs = bytes+groups[n].bytes, runs+groups[n].runs
			n++
		}
		if err := a.rewriteSome(ctx, groups[:n], report); err != nil && !errors.Is(err, errDamaged) {
			return err
		}
	}
}

// due returns what is to be rewritten: many small files, and those with many deleted rows.
func (a *Archive) due() (all []group) {
	for _, table := range slices.Sorted(maps.Keys(a.state.tables)) {
		t := a.state.tables[table]
		small, worn := map[int64][]string{}, map[int64][]string{} // by day
		for name, f := range t.files {
			switch {
			case f.contents != rows || a.unreadable[name]:
			case f.dead > 0 && f.dead*wornShare >= f.rows:
				worn[f.partition()] = append(worn[f.partition()], name)
			case f.bytes < a.o.FileBytes/2:
				small[f.partition()] = append(small[f.partition()], name)
			}
		}
		for day, names := range small {
			if len(names) >= a.o.SmallFiles {
				worn[day] = append(worn[day], names...)
			}
		}
		columns := leavesOf(t.schemas[len(t.schemas)-1].Columns)
		for _, day := range slices.Sorted(maps.Keys(worn)) {
			names := worn[day]
			slices.SortFunc(names, func(n, m string) int { // the smallest ones first, so that rows are not rewritten often
				return cmp.Or(cmp.Compare(t.files[n].bytes, t.files[m].bytes), cmp.Compare(n, m))
			})
			g, memory := group{table: table}, int64(0)
			for _, name := range names {
				f := t.files[name]
				memory += columns * (min(f.rows, 64<<10)*9 + 8<<10)
				if len(g.names) >= 2 && (memory > pageMemory || g.bytes+f.bytes > a.o.CommitBytes || g.runs+f.replays > maxRuns) {
					break
				}
				g.names, g.bytes, g.runs = append(g.names, name), g.bytes+f.bytes, g.runs+f.replays
			}
			all = append(all, g)
		}
	}
	return all
}

// partition returns a number for the file's day.
func (f *tableFile) partition() int64 {
	if f.day == nil {
		return 1 << 40
	}
	return int64(*f.day)
}

// rewriteSome rewrites groups, by one commit.
func (a *Archive) rewriteSome(ctx context.Context, groups []group, report *Report) error {
	m := a.begun()
	m.record.Rewrites = true
	defer m.close()
	r := rewriting{merging: m, records: map[int64]*record{}, replays: map[string]int64{}}
	n := 0
	for _, g := range groups {
		if err := r.group(ctx, g); err != nil {
			return err
		}
		n += len(g.names)
	}
	left := map[string][]dataFile{}
	for table, c := range m.record.Tables {
		t := m.state.tables[table]
		there := func(name string) bool { return t.files[name] != nil && !slices.Contains(c.Gone, name) }
		for _, name := range slices.Sorted(maps.Keys(t.files)) {
			f := t.files[name]
			switch {
			case !there(name):
			case f.contents == deletes && !slices.ContainsFunc(slices.Collect(maps.Keys(f.of)), there):
				c.Gone = append(c.Gone, name)
			default:
				left[table] = append(left[table], f.data(name, m.place.URL))
			}
		}
		m.record.Tables[table] = c
	}
	if err := m.end(ctx, left); err != nil {
		return err
	}
	report.Commits++
	report.Rewritten += n
	a.log.InfoContext(ctx, "rewritten", "commit", m.record.Number, "files", n, "tables", len(m.record.Tables))
	return nil
}

// rewriting is a commit that rewrites.
type rewriting struct {
	*merging

	records map[int64]*record // those that were read
	replays map[string]int64  // indices in the record
}

// input is a file that is rewritten.
type input struct {
	*tablefile.Reader
	io.Closer

	name  string
	names []string // of the replays, in the order of the file
	rows  []int64  // of each
	dead  []bool   // whether they are deleted
	at    int
}

// group rewrites the files of a group. Rows stay sorted by replay.
func (r *rewriting) group(ctx context.Context, g group) (err error) {
	t := r.state.tables[g.table]
	var inputs []*input
	defer func() {
		for _, in := range inputs {
			err = errors.Join(err, in.Close())
		}
	}()
	for _, name := range g.names {
		in, err := r.open(ctx, g.table, name)
		if err != nil {
			return r.damaged(ctx, name, err)
		}
		inputs = append(inputs, in)
	}
	schema := t.schemas[len(t.schemas)-1].arrow()
	day := t.files[g.names[0]].day
	for {
		var in *input
		for _, other := range inputs {
			if other.at < len(other.names) && (in == nil || other.names[other.at] < in.names[in.at]) {
				in = other
			}
		}
		if in == nil {
			break
		}
		if err := r.replay(ctx, g.table, in, schema, day); err != nil {
			return err
		}
		in.at++
	}
	if err := r.finishAll(ctx); err != nil {
		return err
	}
	c := r.record.Tables[g.table]
	c.Gone = append(c.Gone, g.names...)
	r.record.Tables[g.table] = c
	return nil
}

// errDamaged means that a file of rows is damaged, and was noted as such.
var errDamaged = errors.New("it is damaged, and stays as it is")

// damaged notes that a file cannot be read, if that is why.
func (r *rewriting) damaged(ctx context.Context, name string, err error) error {
	if errors.Is(err, tablefile.ErrForeign) || errors.Is(err, io.EOF) {
		r.unreadable[name] = true
		r.log.WarnContext(ctx, "a file of a table is damaged, and is not rewritten", "name", name, "error", err)
		err = errors.Join(err, errDamaged)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// replay copies the rows of the replay that comes next in a file, or leaves them out.
func (r *rewriting) replay(ctx context.Context, table string, in *input, schema *arrow.Schema, day *int32) error {
	name, left := in.names[in.at], in.rows[in.at]
	t, err := r.room(ctx, table, schema)
	if err != nil {
		return err
	}
	identity := ""
	for left > 0 {
		rows, err := in.Read(int(min(left, readRows)))
		if err != nil {
			return r.damaged(ctx, in.name, err)
		}
		left -= rows.NumRows()
		if in.dead[in.at] {
			continue
		}
		if t == nil {
			if t, err = r.begin(table, schema, day); err != nil {
				return err
			}
		}
		rows = conform(rows, schema)
		identity = rows.Column(0).(*array.String).Value(0)
		if err := r.append(t, rows); err != nil {
			return err
		}
	}
	if in.dead[in.at] || identity == "" {
		return nil
	}
	index, known := r.replays[name]
	if !known {
		index = int64(len(r.record.Replays))
		r.replays[name] = index
		r.record.Replays = append(r.record.Replays, replay{Name: name})
	}
	t.has(index, in.rows[in.at], identity)
	return nil
}

// open opens a file.
func (r *rewriting) open(ctx context.Context, table, name string) (in *input, err error) {
	f := r.state.tables[table].files[name]
	by := r.records[f.commit]
	if by == nil {
		if by, err = r.Archive.record(ctx, f.commit); err != nil {
			return nil, err
		}
		r.records[f.commit] = by
	}
	at, closer, err := r.place.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	if _, local := at.(*os.File); !local { // a column at a time is asked for
		spool, err := export.CreateWaiting(r.place, name)
		if err == nil {
			_, err = io.Copy(spool, io.NewSectionReader(at, 0, f.bytes))
		}
		if err := errors.Join(err, closer.Close()); err != nil {
			return nil, errors.Join(err, spool.Close())
		}
		at, closer = spool, spool
	}
	in = &input{Closer: closer, name: name}
	if in.Reader, err = tablefile.NewReader(at, f.bytes); err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	files := by.Tables[table].Files
	for _, n := range files[slices.IndexFunc(files, func(f rowFile) bool { return f.Name == name })].Rows {
		replay := by.Replays[n[0]].Name
		in.names, in.rows = append(in.names, replay), append(in.rows, n[1])
		in.dead = append(in.dead, r.state.replays[replay].commits[0] > f.commit) // a later commit added the replay again
	}
	return in, nil
}
