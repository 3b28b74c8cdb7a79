package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/encoding/protojson"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/table/tablefile"
)

// exportBudget is how many bytes of values all tables of an export hold before the largest of them is written as a row group.
// The row groups of frequent kinds have about this size.
const exportBudget = 16 << 20

// maxGroupRows limits the rows of a row group.
const maxGroupRows = 1 << 20

// export is the export of one replay.
type export struct {
	dir       string
	format    tablefile.Format
	selection string
	again     bool
	sum       string // SHA-256 of the file; empty if it is not known
	size      int64
	progress  *progress

	start          *replaydv1.Replay
	server         string // version
	reason, detail string
	tables         map[string]*exportTable
	held           int
	events         uint64
	old            *manifest // of the last export; nil if there is none
}

// exportTable is one file being written.
type exportTable struct {
	path, temporary string
	file            *os.File
	buffer          *bufio.Writer
	out             tablefile.Writer
	schema          []byte // the IPC message
	pending         []arrow.RecordBatch
	held, rows      int
	waiting         int // rows in pending
}

// manifest describes a finished export of a replay. It is written last.
type manifest struct {
	Identity  string           `json:"identity"`
	SizeBytes int64            `json:"size_bytes"`
	SHA256    string           `json:"sha256"`
	Schema    string           `json:"schema_version"`
	Selection string           `json:"selection"`
	Files     map[string]int64 `json:"files"` // with their sizes, relative to the directory
}

// base returns the name of the replay's files, without a suffix.
func (e *export) base() string {
	_, name, _ := strings.Cut(e.start.GetIdentity(), ":")
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// formatName returns the replay's format, such as "dem".
func (e *export) formatName() string {
	return strings.ToLower(strings.TrimPrefix(e.start.GetFormat().String(), "FORMAT_"))
}

// manifestPath returns where the manifest is.
func (e *export) manifestPath() string {
	return filepath.Join(e.dir, "replays", "format="+e.formatName(), e.base()+"."+string(e.format)+".json")
}

// schemaVersion identifies the tables of this version of the program.
func (e *export) schemaVersion() string { return tableVersion(e.formatName()) }

func (e *export) response(r client.Response) error {
	if start := r.Message.GetStart(); start != nil {
		e.start, e.server = start.GetReplay(), start.GetServerVersion()
		return e.begin()
	}
	if end := r.Message.GetEnd(); end != nil {
		e.reason, e.detail = strings.TrimPrefix(end.GetReason().String(), "END_REASON_"), end.GetDetail()
	}
	if r.Batch == nil || r.Batch.State {
		return nil
	}
	e.progress.add(len(r.Wire))
	e.events += uint64(r.Batch.Len())
	for _, t := range r.Batch.Tables() {
		if err := e.add(t); err != nil {
			return err
		}
	}
	for e.held > exportBudget {
		if err := e.largest().flush(e); err != nil {
			return err
		}
	}
	return nil
}

// begin reads what the last export of the replay left. It returns errThere if nothing has changed since.
func (e *export) begin() error {
	b, err := os.ReadFile(e.manifestPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	m := new(manifest)
	if json.Unmarshal(b, m) != nil {
		return nil //nolint:nilerr // as if there were none
	}
	e.old = m
	if e.again || e.sum == "" || m.SHA256 != e.sum || m.SizeBytes != e.size || m.Identity != e.start.GetIdentity() ||
		m.Schema != e.schemaVersion() || m.Selection != e.selection {
		return nil
	}
	for name, size := range m.Files {
		if stat, err := os.Stat(filepath.Join(e.dir, filepath.FromSlash(name))); err != nil || stat.Size() != size {
			return nil //nolint:nilerr // it is exported again
		}
	}
	return errThere
}

// add adds the rows of a table.
func (e *export) add(t *replaydv1.Table) error {
	to := e.tables[t.GetKind()]
	if to == nil {
		to = &exportTable{schema: t.GetSchema()}
		e.tables[t.GetKind()] = to
		to.path = filepath.Join(e.dir, "format="+e.formatName(), "kind="+t.GetKind(), e.base()+"."+string(e.format))
	}
	r, err := ipc.NewReader(bytes.NewReader(append(slices.Clone(to.schema), t.GetData()...)))
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
		record := r.RecordBatch()
		if to.out == nil {
			if err := to.create(e, record.Schema()); err != nil {
				return err
			}
		}
		record.Retain()
		n := sizeOf(record)
		to.pending = append(to.pending, record)
		to.waiting += int(record.NumRows())
		to.rows += int(record.NumRows())
		to.held += n
		e.held += n
	}
	if err := r.Err(); err != nil {
		return err
	}
	if to.waiting >= maxGroupRows {
		return to.flush(e)
	}
	return nil
}

// sizeOf returns the size of the buffers of a record batch.
func sizeOf(r arrow.RecordBatch) int {
	n := 0
	for _, c := range r.Columns() {
		n += dataSize(c.Data())
	}
	return n
}

func dataSize(d arrow.ArrayData) int {
	n := 64
	for _, b := range d.Buffers() {
		if b != nil {
			n += b.Len()
		}
	}
	for _, c := range d.Children() {
		n += dataSize(c)
	}
	if dictionary := d.Dictionary(); d.DataType().ID() == arrow.DICTIONARY && dictionary != nil {
		n += dataSize(dictionary)
	}
	return n
}

// about returns the metadata of all files of the replay that is known from its start.
func (e *export) about() map[string]string {
	header, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(e.start)
	if err != nil {
		header = nil
	}
	return map[string]string{
		"replayd.identity": e.start.GetIdentity(), "replayd.name": e.start.GetName(), "replayd.header": string(header),
		"replayd.version": e.server, "replayd.schema_version": e.schemaVersion(), "replayd.sha256": e.sum,
	}
}

// create opens the file under another name.
func (t *exportTable) create(e *export, schema *arrow.Schema) error {
	if err := os.MkdirAll(filepath.Dir(t.path), 0o755); err != nil { //nolint:gosec // others may read what is exported
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(t.path), "."+filepath.Base(t.path)+".*.part")
	if err != nil {
		return err
	}
	t.file, t.temporary, t.buffer = f, f.Name(), bufio.NewWriterSize(f, 64<<10)
	t.out, err = tablefile.New(e.format, t.buffer, schema, e.about())
	return err
}

// flush writes the rows that wait, as a row group.
func (t *exportTable) flush(e *export) error {
	err := t.out.Write(t.pending)
	for _, r := range t.pending {
		r.Release()
	}
	e.held -= t.held
	t.pending, t.held, t.waiting = nil, 0, 0
	return err
}

func (e *export) largest() *exportTable {
	var most *exportTable
	for _, t := range e.tables {
		if most == nil || t.held > most.held {
			most = t
		}
	}
	return most
}

// finish writes the ends of all files, gives them their names, and then writes the row of the replay and the manifest.
func (e *export) finish() error {
	m := &manifest{
		Identity: e.start.GetIdentity(), SizeBytes: e.size, SHA256: e.sum, Schema: e.schemaVersion(), Selection: e.selection,
		Files: map[string]int64{},
	}
	kinds := slices.Sorted(maps.Keys(e.tables))
	for _, kind := range kinds {
		t := e.tables[kind]
		if len(t.pending) > 0 {
			if err := t.flush(e); err != nil {
				return err
			}
		}
		if err := t.close(map[string]string{
			"replayd.end_reason": e.reason, "replayd.end_detail": e.detail, "replayd.rows": strconv.Itoa(t.rows),
		}); err != nil {
			return err
		}
	}
	_ = os.Remove(e.manifestPath()) // until all is there again
	for _, kind := range kinds {
		t := e.tables[kind]
		if err := e.rename(m, t); err != nil {
			return err
		}
	}
	if err := e.writeReplay(m, kinds); err != nil {
		return err
	}
	if e.old != nil {
		for name := range e.old.Files {
			if _, kept := m.Files[name]; !kept && filepath.IsLocal(filepath.FromSlash(name)) {
				_ = os.Remove(filepath.Join(e.dir, filepath.FromSlash(name)))
			}
		}
	}
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(e.manifestPath(), append(b, '\n'), 0o644) //nolint:gosec // as the files
}

// close writes the end of the file.
func (t *exportTable) close(about map[string]string) error {
	err := errors.Join(t.out.Close(about), t.buffer.Flush(), t.file.Chmod(0o644), t.file.Close())
	t.file = nil
	return err
}

// rename gives a finished file its name.
func (e *export) rename(m *manifest, t *exportTable) error {
	stat, err := os.Stat(t.temporary)
	if err != nil {
		return err
	}
	if err := os.Rename(t.temporary, t.path); err != nil {
		return err
	}
	t.temporary = ""
	name, err := filepath.Rel(e.dir, t.path)
	m.Files[filepath.ToSlash(name)] = stat.Size()
	return err
}

// abandon removes what was not finished.
func (e *export) abandon() {
	for _, t := range e.tables {
		if t.file != nil {
			_ = t.file.Close()
		}
		if t.temporary != "" {
			_ = os.Remove(t.temporary)
		}
	}
}

// replayFields are the columns of the table of replays, besides the lists.
var replayFields = []arrow.Field{
	{Name: "identity", Type: arrow.BinaryTypes.String},
	{Name: "name", Type: arrow.BinaryTypes.String},
	{Name: "format", Type: arrow.BinaryTypes.String},
	{Name: "map_name", Type: arrow.BinaryTypes.String},
	{Name: "size_bytes", Type: arrow.PrimitiveTypes.Int64},
	{Name: "sha256", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "start_time", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "ticks_per_second", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "end_reason", Type: arrow.BinaryTypes.String},
	{Name: "end_detail", Type: arrow.BinaryTypes.String},
	{Name: "events", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "version", Type: arrow.BinaryTypes.String},
	{Name: "schema_version", Type: arrow.BinaryTypes.String},
	{Name: "header", Type: arrow.BinaryTypes.String},
	{Name: "kinds", Type: arrow.ListOf(arrow.BinaryTypes.String)},
	{Name: "rows", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)},
}

// writeReplay writes the file of the table of replays with one row, that of this replay.
func (e *export) writeReplay(m *manifest, kinds []string) error {
	schema := arrow.NewSchema(replayFields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	text := func(i int, v string) { b.Field(i).(*array.StringBuilder).Append(v) }
	about := e.about()
	text(0, e.start.GetIdentity())
	text(1, e.start.GetName())
	text(2, e.formatName())
	text(3, e.start.GetMapName())
	b.Field(4).(*array.Int64Builder).Append(max(e.start.GetSizeBytes(), 0))
	if e.sum == "" {
		b.Field(5).AppendNull()
	} else {
		text(5, e.sum)
	}
	if e.start.GetStartTime() == nil {
		b.Field(6).AppendNull()
	} else {
		text(6, e.start.GetStartTime().AsTime().Format("2006-01-02T15:04:05Z"))
	}
	if e.start.TicksPerSecond == nil {
		b.Field(7).AppendNull()
	} else {
		b.Field(7).(*array.Float64Builder).Append(e.start.GetTicksPerSecond())
	}
	text(8, e.reason)
	text(9, e.detail)
	b.Field(10).(*array.Uint64Builder).Append(e.events)
	text(11, e.server)
	text(12, e.schemaVersion())
	text(13, about["replayd.header"])
	names, rows := b.Field(14).(*array.ListBuilder), b.Field(15).(*array.ListBuilder)
	names.Append(true)
	rows.Append(true)
	for _, kind := range kinds {
		names.ValueBuilder().(*array.StringBuilder).Append(kind)
		rows.ValueBuilder().(*array.Int64Builder).Append(int64(e.tables[kind].rows))
	}
	record := b.NewRecordBatch()
	defer record.Release()
	t := &exportTable{path: strings.TrimSuffix(e.manifestPath(), ".json")}
	t.path = strings.TrimSuffix(t.path, "."+string(e.format)) + "." + string(e.format)
	defer func() {
		if t.temporary != "" {
			_ = os.Remove(t.temporary)
		}
	}()
	if err := t.create(e, schema); err != nil {
		return err
	}
	if err := t.out.Write([]arrow.RecordBatch{record}); err != nil {
		return err
	}
	if err := t.close(nil); err != nil {
		return err
	}
	return e.rename(m, t)
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
