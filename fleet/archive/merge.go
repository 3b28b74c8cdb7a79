package archive

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/replay/table/tablefile"
)

const (
	heldBytes   = 16 << 20 // of rows before they are compressed
	waitingRows = 64 << 20 // of compressed rows in memory
)

// merging is a commit that is being made.
type merging struct {
	*Archive

	attempt string
	record  *record
	schemas map[string]schema // of tables whose schema has grown
	tables  map[string]*merged
	files   map[string][]dataFile // by table
	budget  *tablefile.Budget
	held    int
	named   int
}

// merged is a file of rows that is being written.
type merged struct {
	table       string
	day         *int32
	schema      *arrow.Schema
	name, draft string
	file        *os.File
	buffer      *bufio.Writer
	written     counter
	out         tablefile.Writer
	pending     []arrow.RecordBatch
	held        int
	rows        [][2]int64
	least, most string // replays
}

// counter counts the bytes of a file.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// commit commits staged exports, and removes them.
func (a *Archive) commit(ctx context.Context, staged []stagedFile, report *Report) error {
	m := a.begun()
	defer m.close()
	var done []string
	day := ""
	err := m.readAll(ctx, staged, func(s *stagedFile, found *opened, err error) error {
		if s.Day != day {
			if err := m.finishAll(ctx); err != nil {
				return err
			}
			day = s.Day
		}
		if err == nil {
			err = m.add(ctx, s, found)
		}
		if errors.Is(err, errBad) || errors.Is(err, errUnfit) {
			a.log.WarnContext(ctx, "a staged export is not added, and stays", "name", s.name, "error", err)
			report.Bad++
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		done = append(done, s.name)
		return nil
	})
	if err != nil {
		return err
	}
	if len(done) == 0 {
		return nil
	}
	if err := m.finishAll(ctx); err != nil {
		return err
	}
	deleted, err := m.deleteOld(ctx)
	if err != nil {
		return err
	}
	if err := m.end(ctx, deleted); err != nil {
		return err
	}
	for _, name := range done {
		if err := a.place.Remove(ctx, name); err != nil {
			return err
		}
	}
	report.Commits++
	report.Replays += len(done)
	a.log.InfoContext(ctx, "committed", "commit", m.record.Number, "replays", len(done), "tables", len(m.record.Tables))
	return nil
}

// begun begins a commit.
func (a *Archive) begun() *merging {
	m := &merging{
		Archive: a, attempt: rand.Text()[:8], schemas: map[string]schema{}, tables: map[string]*merged{}, files: map[string][]dataFile{},
		record: &record{Number: a.state.last + 1, Time: a.now(), Tables: map[string]change{}},
	}
	m.budget = tablefile.NewBudget(waitingRows, func() (*os.File, error) { return export.CreateWaiting(a.place, export.StagedDir+"/rows") })
	return m
}

// end writes what describes the files, and the record. More are the files of deleted positions, and those that are left as they are, by table.
func (m *merging) end(ctx context.Context, more map[string][]dataFile) error {
	if err := m.manifests(ctx, more); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := m.write(ctx, m.record); err != nil {
		return err
	}
	return m.publishAll(ctx, slices.Sorted(maps.Keys(m.record.Tables)))
}

func (m *merging) close() {
	for _, t := range m.tables {
		_ = t.file.Close()
		_ = os.Remove(t.draft)
	}
	_ = m.budget.Close()
}

// add adds the rows of a staged export.
func (m *merging) add(ctx context.Context, s *stagedFile, found *opened) error {
	grown := maps.Clone(m.schemas)
	for i := range found.parts {
		p := &found.parts[i]
		before, ok := grown[p.table]
		if !ok {
			if t := m.state.tables[p.table]; t != nil {
				before = t.schemas[len(t.schemas)-1]
			}
		}
		after, numbered, err := before.with(p.schema)
		if err != nil {
			return fmt.Errorf("%s: %w", p.table, err)
		}
		p.schema = numbered
		grown[p.table] = after
	}
	m.schemas = grown
	index := int64(len(m.record.Replays))
	for _, p := range found.parts {
		if err := m.rows(ctx, p, s, found.identity, index); err != nil {
			return err
		}
	}
	m.record.Replays = append(m.record.Replays, replay{s.id(), s.Key})
	return nil
}

// rows adds the rows of one table of a replay.
func (m *merging) rows(ctx context.Context, p part, s *stagedFile, identity string, index int64) error {
	t, err := m.room(ctx, p.table, p.schema)
	if err != nil {
		return err
	}
	total := int64(0)
	err = p.each(func(r arrow.RecordBatch) (err error) {
		if t == nil {
			if t, err = m.begin(p.table, p.schema, dayOf(s.Day)); err != nil {
				return err
			}
		}
		total += r.NumRows()
		return m.append(t, t.with(r, identity))
	})
	if err != nil || total == 0 {
		return err
	}
	t.has(index, total, identity)
	return nil
}

// room returns the file of a table that is being written, nil if another one is to be begun.
func (m *merging) room(ctx context.Context, table string, schema *arrow.Schema) (*merged, error) {
	t := m.tables[table]
	if t != nil && (t.written.n >= m.o.FileBytes || !t.schema.Equal(schema)) {
		return nil, m.finish(ctx, t)
	}
	return t, nil
}

// append adds a record batch to a file.
func (m *merging) append(t *merged, r arrow.RecordBatch) error {
	for _, c := range r.Columns() {
		t.held += int(c.Data().SizeInBytes())
		m.held += int(c.Data().SizeInBytes())
	}
	t.pending = append(t.pending, r)
	for m.held > heldBytes {
		if err := m.flush(slices.MaxFunc(slices.Collect(maps.Values(m.tables)), func(t, u *merged) int { return cmp.Compare(t.held, u.held) })); err != nil {
			return err
		}
	}
	return nil
}

// has notes that the next rows are those of a replay.
func (t *merged) has(index, rows int64, identity string) {
	t.rows = append(t.rows, [2]int64{index, rows})
	t.least, t.most = min(cmp.Or(t.least, identity), identity), max(t.most, identity)
}

// begin begins a file.
func (m *merging) begin(table string, schema *arrow.Schema, day *int32) (*merged, error) {
	t := &merged{table: table, day: day, schema: schema, name: m.name(table)}
	var err error
	if t.file, err = export.CreateDraft(m.place, t.name); err != nil {
		return nil, err
	}
	t.draft, t.buffer = t.file.Name(), bufio.NewWriterSize(t.file, 64<<10)
	t.written.to = t.buffer
	m.tables[table] = t
	t.out, err = tablefile.New(tablefile.Parquet, &t.written, schema, nil, m.budget)
	return t, err
}

// name returns the name of the next file of a table.
func (m *merging) name(table string) string {
	m.named++
	return fmt.Sprintf("%s/%s/%08d-%s-%d.parquet", table, dataDir, m.record.Number, m.attempt, m.named)
}

// with returns a record batch with the columns that all tables have.
func (t *merged) with(r arrow.RecordBatch, identity string) arrow.RecordBatch {
	n := int(r.NumRows())
	names := array.NewStringBuilder(memory.DefaultAllocator)
	days := array.NewDate32Builder(memory.DefaultAllocator)
	names.Reserve(n)
	days.Reserve(n)
	for range n {
		names.Append(identity)
		if t.day == nil {
			days.AppendNull()
		} else {
			days.Append(arrow.Date32(*t.day))
		}
	}
	columns := []arrow.Array{names.NewArray(), days.NewArray()}
	for i, c := range r.Columns() {
		columns = append(columns, array.MakeFromData(numbered(c.Data(), t.schema.Field(i+len(common)).Type)))
	}
	return array.NewRecordBatch(t.schema, columns, int64(n))
}

// flush writes the pending rows of a file.
func (m *merging) flush(t *merged) error {
	if len(t.pending) == 0 {
		return nil
	}
	err := t.out.Write(t.pending)
	m.held -= t.held
	t.pending, t.held = nil, 0
	return err
}

// finish writes the end of a file, and puts the file.
func (m *merging) finish(ctx context.Context, t *merged) error {
	err := m.flush(t)
	if err == nil {
		err = errors.Join(t.out.Close(nil), t.buffer.Flush(), t.file.Chmod(0o644), t.file.Close())
	}
	if err != nil {
		return err
	}
	if err := m.place.Put(ctx, t.name, t.draft); err != nil {
		return err
	}
	_ = os.Remove(t.draft) // a Place may have copied the file
	delete(m.tables, t.table)
	f := &tableFile{day: t.day, bytes: t.written.n, bounds: [2]string{t.least, t.most}}
	for _, r := range t.rows {
		f.rows += r[1]
	}
	m.files[t.table] = append(m.files[t.table], f.data(t.name, m.place.URL))
	c := m.record.Tables[t.table]
	c.Files = append(c.Files, rowFile{t.name, t.day, f.bytes, t.least, t.most, t.rows})
	m.record.Tables[t.table] = c
	return nil
}

// finishAll finishes all files.
func (m *merging) finishAll(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(m.tables)) {
		if err := m.finish(ctx, m.tables[name]); err != nil {
			return err
		}
	}
	return nil
}

// deletedRows are rows of a file that are deleted: the first and the one after the last.
type deletedRows struct {
	name, file  string
	first, next int64
}

// deleteOld writes the positions of earlier rows of the commit's replays. It returns the files by table.
func (m *merging) deleteOld(ctx context.Context) (map[string][]dataFile, error) {
	old := map[int64]map[string]bool{} // replays by commit
	for _, r := range m.record.Replays {
		for _, commit := range m.state.replays[r.Name].commits {
			if old[commit] == nil {
				old[commit] = map[string]bool{}
			}
			old[commit][r.Name] = true
		}
	}
	type place struct {
		table string
		day   int32
		known bool
	}
	found := map[place][]deletedRows{}
	for _, number := range slices.Sorted(maps.Keys(old)) {
		r, err := m.Archive.record(ctx, number)
		if err != nil {
			return nil, err
		}
		for table, c := range r.Tables {
			for _, f := range c.Files {
				if m.state.tables[table].files[f.Name] == nil {
					continue // it was rewritten
				}
				at := place{table: table}
				if f.Day != nil {
					at.day, at.known = *f.Day, true
				}
				first := int64(0)
				for _, rows := range f.Rows {
					if old[number][r.Replays[rows[0]].Name] {
						found[at] = append(found[at], deletedRows{f.Name, m.place.URL(f.Name), first, first + rows[1]})
					}
					first += rows[1]
				}
			}
		}
	}
	files := map[string][]dataFile{}
	places := slices.SortedFunc(maps.Keys(found), func(a, b place) int { return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.day, b.day)) })
	for _, at := range places {
		rows := found[at]
		slices.SortFunc(rows, func(a, b deletedRows) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.first, b.first)) })
		of := map[string]int64{}
		for _, r := range rows {
			of[r.name] += r.next - r.first
		}
		gone := &tableFile{contents: deletes, of: of}
		if at.known {
			gone.day = &at.day
		}
		f := gone.data(m.name(at.table), m.place.URL)
		if err := m.writeDeleted(ctx, &f, rows); err != nil {
			return nil, err
		}
		files[at.table] = append(files[at.table], f)
		c := m.record.Tables[at.table]
		c.Deletes = append(c.Deletes, deletedFile{f.name, f.day, f.bytes, of})
		m.record.Tables[at.table] = c
	}
	return files, nil
}

var deletedSchema = arrow.NewSchema([]arrow.Field{
	{Name: "file_path", Type: arrow.BinaryTypes.String, Metadata: arrow.NewMetadata([]string{tablefile.FieldID}, []string{fmt.Sprint(deletedPathID)})},
	{Name: "pos", Type: arrow.PrimitiveTypes.Int64, Metadata: arrow.NewMetadata([]string{tablefile.FieldID}, []string{fmt.Sprint(deletedRowID)})},
}, nil)

// writeDeleted writes a file of deleted positions.
func (m *merging) writeDeleted(ctx context.Context, f *dataFile, all []deletedRows) (err error) {
	file, err := export.CreateDraft(m.place, f.name)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // no effect after a rename
	to := &counter{to: file}
	out, err := tablefile.New(tablefile.Parquet, to, deletedSchema, nil, m.budget)
	for _, rows := range all {
		b := array.NewRecordBuilder(memory.DefaultAllocator, deletedSchema)
		for i := rows.first; i < rows.next; i++ {
			b.Field(0).(*array.StringBuilder).Append(rows.file)
			b.Field(1).(*array.Int64Builder).Append(i)
		}
		if err == nil {
			err = out.Write([]arrow.RecordBatch{b.NewRecordBatch()})
		}
		f.rows += rows.next - rows.first
	}
	if err == nil {
		err = out.Close(nil)
	}
	if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	f.bytes = to.n
	return m.place.Put(ctx, f.name, file.Name())
}

// manifests writes the manifests of the commit.
func (m *merging) manifests(ctx context.Context, more map[string][]dataFile) error {
	var names []string
	for name, c := range m.record.Tables {
		ref := schemaRef{}
		if t := m.state.tables[name]; t != nil {
			ref = schemaRef{t.schemas[len(t.schemas)-1], len(t.schemas) - 1}
		}
		if grown, ok := m.schemas[name]; ok && !reflect.DeepEqual(grown, ref.schema) {
			if ref.Last > 0 {
				ref.id++
			}
			ref.schema, c.Schema = grown, &grown
		}
		var files [2][]dataFile
		for _, f := range slices.Concat(m.files[name], more[name]) {
			files[f.contents] = append(files[f.contents], f)
			if f.commit == 0 {
				names = append(names, f.name)
			}
		}
		for _, of := range []contents{rows, deletes} {
			if len(files[of]) == 0 {
				continue
			}
			at, b, err := manifestOf(m.record.Number, of, ref, files[of], m.place.URL)
			if err != nil {
				return err
			}
			at.Name = fmt.Sprintf("%s/%s/%08d-%s-%s.avro", name, metadataDir, m.record.Number, m.attempt, [...]string{"rows", "deletes"}[of])
			if err := export.PutBytes(ctx, m.place, at.Name, b); err != nil {
				return err
			}
			c.Manifests = append(c.Manifests, at)
			names = append(names, at.Name)
		}
		m.record.Tables[name] = c
	}
	return m.place.Sync(names)
}
