package archive

import (
	"archive/zip"
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
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
	m := &merging{
		Archive: a, attempt: rand.Text()[:8], schemas: map[string]schema{}, tables: map[string]*merged{}, files: map[string][]dataFile{},
		record: &record{Number: a.state.last + 1, Time: a.now(), Tables: map[string]change{}},
	}
	m.budget = tablefile.NewBudget(waitingRows, func() (*os.File, error) { return export.CreateWaiting(a.place, export.StagedDir+"/rows") })
	defer m.close()
	var done []string
	day := ""
	for _, s := range staged {
		if s.Day != day {
			if err := m.finishAll(ctx); err != nil {
				return err
			}
			day = s.Day
		}
		err := m.add(ctx, &s)
		if errors.Is(err, errBad) {
			a.log.WarnContext(ctx, "a staged export cannot be read, and stays", "name", s.name, "error", err)
			report.Bad++
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		done = append(done, s.name)
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
	if err := m.manifests(ctx, deleted); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := a.write(ctx, m.record); err != nil {
		return err
	}
	if err := a.publishAll(ctx, slices.Sorted(maps.Keys(m.record.Tables))); err != nil {
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

func (m *merging) close() {
	for _, t := range m.tables {
		_ = t.file.Close()
		_ = os.Remove(t.draft)
	}
	_ = m.budget.Close()
}

// errBad means that a staged export cannot be read.
var errBad = errors.New("it is no staged export")

func bad(err error) error { return fmt.Errorf("%w: %w", errBad, err) }

// part is a table of a staged export.
type part struct {
	file   *zip.File
	table  string
	schema *arrow.Schema       // with numbers
	rows   []arrow.RecordBatch // nil if they are to be read again
}

// maxKept is the most bytes of a staged export's rows that are not read again.
const maxKept = 16 << 20

// add adds the rows of a staged export.
func (m *merging) add(ctx context.Context, s *stagedFile) error {
	at, closer, err := m.place.Open(ctx, s.name)
	if err != nil {
		return err
	}
	defer closer.Close() //nolint:errcheck // nothing was written
	z, err := export.OpenStaged(at, s.size)
	if err != nil {
		return bad(err)
	}
	// All is looked at before the first row is written.
	var parts []part
	grown := maps.Clone(m.schemas)
	identity, kept := "", 0
	for _, f := range z.File {
		kind, ok := strings.CutSuffix(f.Name, ".arrow")
		if !ok || kind == "" || strings.ContainsAny(kind, `/\`) || kind[0] == '.' {
			return bad(fmt.Errorf("it has a file %q", f.Name))
		}
		p := part{file: f, table: path.Join(s.Format, kind)}
		found, err := p.check(&kept)
		if err != nil {
			return bad(err)
		}
		id, _ := found.Metadata().GetValue("replayd.identity")
		if identity = cmp.Or(identity, id); id == "" || id != identity {
			return bad(fmt.Errorf("%s is of another replay", f.Name))
		}
		before, ok := grown[p.table]
		if !ok {
			if t := m.state.tables[p.table]; t != nil {
				before = t.schemas[len(t.schemas)-1]
			}
		}
		after, numbered, err := before.with(found)
		if err != nil {
			return bad(err)
		}
		p.schema = numbered
		grown[p.table] = after
		parts = append(parts, p)
	}
	m.schemas = grown
	index := int64(len(m.record.Replays))
	for _, p := range parts {
		if err := m.rows(ctx, p, s, identity, index); err != nil {
			return err
		}
	}
	m.record.Replays = append(m.record.Replays, replay{s.id(), s.Key})
	return nil
}

// check reads the file to its end, and returns its schema. It keeps the rows while all kept rows are few.
func (p *part) check(kept *int) (*arrow.Schema, error) {
	r, done, err := open(p.file)
	if err != nil {
		return nil, err
	}
	defer done()
	p.rows = []arrow.RecordBatch{}
	for r.Next() {
		if p.rows == nil {
			continue
		}
		for _, c := range r.RecordBatch().Columns() {
			*kept += int(c.Data().SizeInBytes())
		}
		if *kept > maxKept {
			p.rows = nil
			continue
		}
		r.RecordBatch().Retain()
		p.rows = append(p.rows, r.RecordBatch())
	}
	return r.Schema(), r.Err()
}

// each calls add for the rows.
func (p *part) each(add func(arrow.RecordBatch) error) error {
	for _, r := range p.rows {
		if err := add(r); err != nil {
			return err
		}
	}
	if p.rows != nil {
		return nil
	}
	r, done, err := open(p.file)
	if err != nil {
		return err
	}
	defer done()
	for r.Next() {
		if err := add(r.RecordBatch()); err != nil {
			return err
		}
	}
	return r.Err()
}

// open opens a file in Arrow's file format as a stream of messages, which it contains.
func open(f *zip.File) (*ipc.Reader, func(), error) {
	from, err := f.Open()
	if err != nil {
		return nil, nil, err
	}
	buffered := bufio.NewReaderSize(from, 64<<10)
	if _, err := buffered.Discard(len("ARROW1\x00\x00")); err != nil {
		return nil, nil, errors.Join(err, from.Close())
	}
	r, err := ipc.NewReader(buffered)
	if err != nil {
		return nil, nil, errors.Join(err, from.Close())
	}
	return r, func() { r.Release(); _ = from.Close() }, nil
}

// rows adds the rows of one table of a replay.
func (m *merging) rows(ctx context.Context, p part, s *stagedFile, identity string, index int64) error {
	t := m.tables[p.table]
	if t != nil && (t.written.n >= m.o.FileBytes || !t.schema.Equal(p.schema)) {
		if err := m.finish(ctx, t); err != nil {
			return err
		}
		t = nil
	}
	total := int64(0)
	err := p.each(func(r arrow.RecordBatch) (err error) {
		if t == nil {
			if t, err = m.begin(p, s); err != nil {
				return err
			}
		}
		record := t.with(r, identity)
		total += record.NumRows()
		for _, c := range record.Columns() {
			t.held += int(c.Data().SizeInBytes())
			m.held += int(c.Data().SizeInBytes())
		}
		t.pending = append(t.pending, record)
		for m.held > heldBytes {
			if err := m.flush(slices.MaxFunc(slices.Collect(maps.Values(m.tables)), func(t, u *merged) int { return cmp.Compare(t.held, u.held) })); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || total == 0 {
		return err
	}
	t.rows = append(t.rows, [2]int64{index, total})
	t.least, t.most = min(cmp.Or(t.least, identity), identity), max(t.most, identity)
	return nil
}

// begin begins a file.
func (m *merging) begin(p part, s *stagedFile) (*merged, error) {
	t := &merged{table: p.table, day: dayOf(s.Day), schema: p.schema, name: m.name(p.table)}
	var err error
	if t.file, err = export.CreateDraft(m.place, t.name); err != nil {
		return nil, err
	}
	t.draft, t.buffer = t.file.Name(), bufio.NewWriterSize(t.file, 64<<10)
	t.written.to = t.buffer
	m.tables[p.table] = t
	t.out, err = tablefile.New(tablefile.Parquet, &t.written, p.schema, nil, m.budget)
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
	f := dataFile{name: t.name, day: t.day, bytes: t.written.n}
	for _, r := range t.rows {
		f.rows += r[1]
	}
	f.bounds = [2]map[int][]byte{{replayID: []byte(t.least)}, {replayID: []byte(t.most)}}
	if t.day != nil {
		f.bounds[0][dayID], f.bounds[1][dayID] = bytesOf(*t.day), bytesOf(*t.day)
	}
	m.files[t.table] = append(m.files[t.table], f)
	c := m.record.Tables[t.table]
	c.Files = append(c.Files, rowFile{t.name, t.day, t.rows})
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
	file        string
	first, next int64
}

// deleteOld writes the positions of earlier rows of the commit's replays. It returns the files by table.
func (m *merging) deleteOld(ctx context.Context) (map[string][]dataFile, error) {
	old := map[int64]map[string]bool{} // replays by commit
	for _, r := range m.record.Replays {
		if before, ok := m.state.replays[r.Name]; ok {
			if old[before.commit] == nil {
				old[before.commit] = map[string]bool{}
			}
			old[before.commit][r.Name] = true
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
				at := place{table: table}
				if f.Day != nil {
					at.day, at.known = *f.Day, true
				}
				first := int64(0)
				for _, rows := range f.Rows {
					if old[number][r.Replays[rows[0]].Name] {
						found[at] = append(found[at], deletedRows{m.place.URL(f.Name), first, first + rows[1]})
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
		f := dataFile{name: m.name(at.table), bounds: [2]map[int][]byte{{deletedPathID: []byte(rows[0].file)}, {deletedPathID: []byte(rows[len(rows)-1].file)}}}
		if at.known {
			f.day = &at.day
		}
		if err := m.writeDeleted(ctx, &f, rows); err != nil {
			return nil, err
		}
		files[at.table] = append(files[at.table], f)
		c := m.record.Tables[at.table]
		c.Deletes = append(c.Deletes, f.name)
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
func (m *merging) manifests(ctx context.Context, deleted map[string][]dataFile) error {
	var names []string
	for name, c := range m.record.Tables {
		ref := schemaRef{}
		if t := m.state.tables[name]; t != nil {
			ref = schemaRef{t.schemas[len(t.schemas)-1], len(t.schemas) - 1}
		}
		if grown, ok := m.schemas[name]; ok && grown.Last > ref.Last {
			if ref.Last > 0 {
				ref.id++
			}
			ref.schema, c.Schema = grown, &grown
		}
		for _, of := range []struct {
			contents
			name  string
			files []dataFile
		}{{rows, "rows", m.files[name]}, {deletes, "deletes", deleted[name]}} {
			if len(of.files) == 0 {
				continue
			}
			at, b, err := manifestOf(m.record.Number, of.contents, ref, of.files, m.place.URL)
			if err != nil {
				return err
			}
			at.Name = fmt.Sprintf("%s/%s/%08d-%s-%s.avro", name, metadataDir, m.record.Number, m.attempt, of.name)
			if err := export.PutBytes(ctx, m.place, at.Name, b); err != nil {
				return err
			}
			c.Manifests = append(c.Manifests, at)
			names = append(names, at.Name)
		}
		for _, f := range slices.Concat(m.files[name], deleted[name]) {
			names = append(names, f.name)
		}
		m.record.Tables[name] = c
	}
	return m.place.Sync(names)
}
