package export

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/replay/table/tablefile"
	"github.com/replayd/replayd/service/frame"
)

// exportBudget limits the values, in bytes, that the tables of an export hold before the largest table is written.
const exportBudget = 4 << 20

// Memory is the default of Options.Memory.
const Memory = 8 << 20

// Options configure an export.
type Options struct {
	// Name is the replay's name, as the user gave it.
	Name   string
	Place  Place
	Format tablefile.Format
	// Selection identifies the exported part of the replay; see the function Selection.
	Selection string
	// Facts says that the selection has facts; see HasFacts. A replay is then exported again after a new version of the facts.
	Facts bool
	// Memory limits the memory, in bytes, of the pages that wait for their row groups. More pages wait in files in the
	// directories of drafts. Default [Memory].
	Memory int
	// Again exports the replay even if its export is there already.
	Again bool
	// Sum is the SHA-256 of the file in hexadecimal, and Size its length in bytes. Without a sum no export counts as there
	// already.
	Sum  string
	Size int64
	// Tables returns a short text that changes when the tables of a format do.
	Tables func(format string) string
	// Staged puts the finished export as one file, for an archive that has the rows of many replays in each table: see
	// [StagedDir]. Format is then ignored, and nothing counts as there already.
	Staged bool
	// Attempt is a text that no other export has. Set it if others may write to the place at the same time or later, and this
	// export may stall. Names of files then depend on it. Otherwise they depend on the contents alone, so that a repeated export
	// replaces the files that it left.
	Attempt string
	// Progress is called with the bytes of each response, and with how many bytes of the file were read, and its size; these two
	// are 0 if they are not known. It may be nil.
	Progress func(bytes int, read, total int64)
	// Note is called with messages for the user. It may be nil.
	Note func(string)
	// Claim is called once the manifest's name is known, unless the export is there already. It may be nil.
	Claim func(ctx context.Context, manifest string) error
	// Intend is called with the names of all files that may exist from then on, before the first file is put, and again before
	// the manifest. It may be nil.
	Intend func(ctx context.Context, names []string) error
}

// ErrThere means that the export of the replay is there already.
var ErrThere = errors.New("the replay is there already")

// Export is the export of one replay. It belongs to one goroutine. The caller closes it.
type Export struct {
	o Options

	start          *replaydv1.Replay
	server         string // the daemon's version
	facts          uint32 // the version of the exported facts, 0 for none
	reason, detail string
	summary        string           // of the stream's end, as JSON; empty if the format has none
	warnings       map[string]int64 // the number of each warning
	tables         map[string]*exportTable
	held           int
	budget         *tablefile.Budget
	schema         string // see schemaVersion
	events         uint64
	old            *manifest // the last export's; nil if there is none
	was            string    // the version of the last export's manifest
	names          []string
	putting        []string // names of files that were put, or may have been
	committing     bool     // the manifest may have been put
	damage         *Damage
}

// New returns an Export.
func New(o Options) *Export {
	if o.Staged {
		o.Format = tablefile.Loose
	}
	e := &Export{o: o, tables: map[string]*exportTable{}, warnings: map[string]int64{}}
	e.budget = tablefile.NewBudget(cmp.Or(o.Memory, Memory), func() (*os.File, error) { return CreateWaiting(e.o.Place, e.row()) })
	return e
}

// Selection identifies the exported part of a replay, so that an export of another part does not count as the same. Every field
// of the request counts except the replay's name.
func Selection(req *replaydv1.StreamEventsRequest, reveal decoders.Secrets) (string, error) {
	req = proto.CloneOf(req)
	req.Replay = ""
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	sum := sha256.Sum256(append(b, reveal.String()...))
	return hex.EncodeToString(sum[:8]), err
}

// HasFacts reports whether a request may export facts. Only a filter that names them does.
func HasFacts(req *replaydv1.StreamEventsRequest) bool {
	return slices.ContainsFunc(req.GetInclude(), func(f *replaydv1.EventFilter) bool {
		return slices.ContainsFunc(f.GetKinds(), func(kind string) bool { return strings.HasPrefix(kind, "fact_") })
	})
}

// base returns the name of the replay's files, without suffix.
func (e *Export) base() string {
	_, name, _ := strings.Cut(e.start.GetIdentity(), ":")
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// formatName returns the replay's format, such as "dem".
func (e *Export) formatName() string {
	return strings.ToLower(strings.TrimPrefix(e.start.GetFormat().String(), "FORMAT_"))
}

// file returns the name of the replay's file in a directory. It contains a hash of everything that decides the contents, and the
// attempt, so that no other export, however late, replaces the file by a different one. Only the manifest says which files are
// valid.
func (e *Export) file(dir ...string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{e.o.Sum, strconv.FormatInt(e.o.Size, 10), e.o.Selection, e.contentVersion(), e.o.Attempt}, "\x00")))
	return path.Join(append(dir, e.base()+"."+hex.EncodeToString(sum[:4])+"."+string(e.o.Format))...)
}

// row returns the name of the file with the replay's row.
func (e *Export) row() string { return e.file(FinishedDir, "format="+e.formatName()) }

// manifest returns the name of the manifest.
func (e *Export) manifest() string {
	return path.Join(FinishedDir, "format="+e.formatName(), e.base()+"."+string(e.o.Format)+manifestEnd)
}

// contentVersion identifies the contents that this version of the program writes.
func (e *Export) contentVersion() string { return contentVersion(e.schemaVersion(), e.facts) }

func contentVersion(schema string, facts uint32) string {
	if facts == 0 {
		return schema
	}
	return fmt.Sprintf("%s, facts %d", schema, facts)
}

// Add adds a response of a daemon's stream, in ENCODING_ARROW. It returns ErrThere at the start if nothing has changed since the last
// export.
func (e *Export) Add(ctx context.Context, r client.Response) error {
	if r.Batch == nil {
		return e.message(ctx, r.Message)
	}
	if r.Batch.State {
		return nil
	}
	for _, t := range r.Batch.Tables() {
		if err := e.addTable(t); err != nil {
			return err
		}
	}
	return e.added(len(r.Wire), r.Cursor)
}

// AddFrame is like Add, for a response of a stream in this process that passes on columns.
func (e *Export) AddFrame(ctx context.Context, f *frame.Frame) error {
	set := f.Columns()
	if set == nil {
		return e.message(ctx, f.Response())
	}
	if err := set.All(e.addColumns); err != nil {
		return err
	}
	return e.added(set.Size(), f.Cursor())
}

// message adds a response without events.
func (e *Export) message(ctx context.Context, m *replaydv1.StreamEventsResponse) error {
	if start := m.GetStart(); start != nil {
		e.start, e.server = start.GetReplay(), start.GetServerVersion()
		if e.o.Facts {
			e.facts = start.GetFactsVersion()
		}
		return e.begin(ctx)
	}
	if end := m.GetEnd(); end != nil {
		e.reason, e.detail = strings.TrimPrefix(end.GetReason().String(), "END_REASON_"), end.GetDetail()
		e.summary = summaryOf(end)
	}
	return nil
}

// added reports the progress of a batch, and writes rows of the largest tables when the tables hold many. at is the cursor after the
// batch.
func (e *Export) added(size int, at []byte) error {
	if e.o.Progress != nil {
		read, total := int64(0), int64(0)
		if at, err := cursor.Parse(at); err == nil && e.start.GetCompression() <= replaydv1.Compression_COMPRESSION_NONE {
			read, total = at.Position.Offset, e.start.GetSizeBytes()
		}
		e.o.Progress(size, read, total)
	}
	for e.held > exportBudget {
		if err := e.largest().flush(e); err != nil {
			return err
		}
	}
	return nil
}

// Detail returns the detail of the stream's end. It may be empty.
func (e *Export) Detail() string { return e.detail }

// Events returns the number of exported events.
func (e *Export) Events() uint64 { return e.events }

// begin reads the last export's manifest. It returns ErrThere if nothing has changed since that export.
func (e *Export) begin(ctx context.Context) error {
	if e.o.Staged {
		if e.o.Claim == nil {
			return nil
		}
		return e.o.Claim(ctx, e.manifest())
	}
	there, err := e.there(ctx)
	if err != nil {
		return err
	}
	if there {
		return e.removeReplaced(ctx)
	}
	if e.o.Claim != nil {
		if err := e.o.Claim(ctx, e.manifest()); err != nil {
			return err
		}
		if there, err = e.there(ctx); there { // finished since the last look
			return e.removeReplaced(ctx)
		}
	}
	if err == nil {
		e.replaces()
	}
	return err
}

// removeReplaced removes the files that a finished export was killed before removing, and returns ErrThere.
func (e *Export) removeReplaced(ctx context.Context) error {
	if stale := e.stale(e.names); len(stale) > 0 {
		if err := e.o.Place.Prune(ctx, e.manifest(), stale); err != nil {
			return err
		}
	}
	return ErrThere
}

// replaces tells the user when the files of another replay will be replaced: identities come from the first bytes of a replay, so
// two recordings that differ later may share one.
func (e *Export) replaces() {
	if o := e.old; o != nil && o.Name != "" && e.o.Note != nil && o.Name != e.o.Name && (e.o.Sum == "" || o.SHA256 != e.o.Sum) {
		e.o.Note(fmt.Sprintf("%s: it has the identity of %s, whose files it replaces", e.o.Name, o.Name))
	}
}

// there reports whether the last export has the same contents.
func (e *Export) there(ctx context.Context) (bool, error) {
	m, was, err := read(ctx, e.o.Place, e.manifest())
	if err != nil {
		return false, err
	}
	if e.was = was; m == nil {
		return false, nil
	}
	e.old = m
	if e.o.Again || e.o.Sum == "" || m.SHA256 != e.o.Sum || m.SizeBytes != e.o.Size || m.Identity != e.start.GetIdentity() ||
		m.Schema != e.schemaVersion() || m.Facts != e.facts || m.Selection != e.o.Selection {
		return false, nil
	}
	for name, size := range m.Files {
		if !fs.ValidPath(name) {
			return false, nil
		}
		n, err := e.o.Place.Size(ctx, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if err != nil || n != size {
			return false, nil //nolint:nilerr // export it again
		}
	}
	e.names, e.damage = slices.Collect(maps.Keys(m.Files)), m.Damage
	return true, nil
}

// addTable adds the rows of a table as a daemon sends them.
func (e *Export) addTable(t *replaydv1.Table) error {
	if t.GetRows() == 0 { // it has columns only
		return nil
	}
	to := e.table(t.GetKind())
	if to.reader == nil {
		to.messages.rest = append(to.messages.rest, t.GetSchema())
		var err error
		if to.reader, err = ipc.NewReader(&to.messages, ipc.WithDelayReadSchema(true)); err != nil {
			return err
		}
	}
	to.messages.rest = append(to.messages.rest, t.GetData())
	for len(to.messages.rest) > 0 && to.reader.Next() {
		record := to.reader.RecordBatch()
		record.Retain()
		if err := to.add(e, record); err != nil {
			return err
		}
	}
	return to.reader.Err()
}

// addColumns adds the rows of a table of this process. It copies them.
func (e *Export) addColumns(t *table.Table) error {
	to := e.table(t.Layout.Format.Kinds[t.Kind].Name)
	if to.schema == nil {
		to.schema = arrowipc.Schema(t.Layout, t.Kind)
	}
	r := arrowipc.Record(t, to.schema)
	if t.Rows < manyRows && e.o.Format != tablefile.Parquet {
		return to.add(e, copied(r))
	}
	if err := to.add(e, r); err != nil {
		return err
	}
	return to.flush(e)
}

// table returns the file of a kind.
func (e *Export) table(kind string) *exportTable {
	to := e.tables[kind]
	if to == nil {
		to = &exportTable{name: e.file("format="+e.formatName(), "kind="+kind)}
		e.tables[kind] = to
	}
	return to
}

// warningsColumn is the column of formats whose events have warnings.
const warningsColumn = "warnings"

// countWarnings counts the warnings of the events of a record batch.
func (e *Export) countWarnings(r arrow.RecordBatch) {
	for _, i := range r.Schema().FieldIndices(warningsColumn) {
		list, ok := r.Column(i).(*array.List)
		if !ok {
			continue
		}
		texts, ok := list.ListValues().(*array.Dictionary)
		if !ok {
			continue
		}
		for j := range texts.Len() {
			e.warnings[texts.Dictionary().ValueStr(texts.GetValueIndex(j))]++
		}
	}
}

// summaryOf returns the summary at the end of a stream as JSON: how well the replay was decoded. It is empty if the format has
// none.
func summaryOf(end *replaydv1.StreamEnd) string {
	var m proto.Message
	switch s := end.GetSummary().(type) {
	case *replaydv1.StreamEnd_Dem:
		m = s.Dem
	case *replaydv1.StreamEnd_Sc2Replay:
		m = s.Sc2Replay
	default:
		return ""
	}
	return jsonOf(m)
}

// jsonOf returns a message as JSON, always in the same form.
func jsonOf(m proto.Message) string {
	loose, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return ""
	}
	var b bytes.Buffer
	if json.Compact(&b, loose) != nil { // protojson adds spaces at random
		return ""
	}
	return b.String()
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
	n := 512 // for the description of the data
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

// about returns the metadata that all files of the replay have. It is known from the start.
func (e *Export) about() map[string]string {
	about := map[string]string{
		"replayd.identity": e.start.GetIdentity(), "replayd.name": e.start.GetName(), "replayd.header": jsonOf(e.start),
		"replayd.version": e.server, "replayd.schema_version": e.schemaVersion(), "replayd.sha256": e.o.Sum,
	}
	if e.facts != 0 {
		about["replayd.facts_version"] = strconv.FormatUint(uint64(e.facts), 10)
	}
	return about
}

// Finish writes the ends of all files, puts the files in their place, and then the replay's row and the manifest.
func (e *Export) Finish(ctx context.Context) error {
	m := &manifest{
		Name: e.o.Name, Identity: e.start.GetIdentity(), SizeBytes: e.o.Size, SHA256: e.o.Sum, Schema: e.schemaVersion(), Facts: e.facts,
		Selection: e.o.Selection, Files: map[string]int64{}, Damage: e.damage,
	}
	kinds := slices.Sorted(maps.Keys(e.tables))
	names := []string{e.row()}
	for _, kind := range kinds {
		t := e.tables[kind]
		names = append(names, t.name)
		if len(t.pending) > 0 {
			if err := t.flush(e); err != nil {
				return err
			}
		}
		if err := t.close(map[string]string{
			"replayd.end_reason": e.reason, "replayd.end_detail": e.detail, "replayd.rows": strconv.Itoa(t.rows),
			"replayd.summary": e.summary, "replayd.warnings": e.warningsJSON(),
		}); err != nil {
			return err
		}
	}
	if e.o.Staged {
		return e.stage(ctx, kinds)
	}
	stale := e.stale(names)
	intend := func() error {
		if e.o.Intend == nil {
			return nil
		}
		return e.o.Intend(ctx, slices.Concat(stale, names))
	}
	if err := intend(); err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := e.put(ctx, m, e.tables[kind]); err != nil {
			return err
		}
	}
	row, err := e.writeReplay(kinds)
	if err != nil {
		return err
	}
	defer row.discard()
	if err := e.put(ctx, m, row); err != nil {
		return err
	}
	if err := e.o.Place.Sync(names); err != nil {
		return err
	}
	if err := intend(); err != nil {
		return err
	}
	m.Replaced = stale
	if err := e.writeManifest(ctx, m); err != nil {
		return err
	}
	e.names = names
	if len(stale) == 0 {
		return nil
	}
	return e.o.Place.Prune(ctx, e.manifest(), stale)
}

// Abandon removes the files that were put. Call it after Finish has failed because another export has taken over. There must be
// an Attempt.
func (e *Export) Abandon(ctx context.Context, from Place) error {
	if e.o.Attempt == "" || e.committing {
		return nil
	}
	var failed error
	for _, name := range e.putting {
		failed = errors.Join(failed, from.Remove(ctx, name))
	}
	return failed
}

// Names returns the names of the exported files besides the manifest, after Finish or ErrThere.
func (e *Export) Names() []string { return e.names }

// stale returns the files of the last export and of earlier ones that this export does not have.
func (e *Export) stale(names []string) (stale []string) {
	if e.old == nil {
		return nil
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(e.old.Files)), e.old.Replaced) {
		if fs.ValidPath(name) && !slices.Contains(names, name) {
			stale = append(stale, name)
		}
	}
	slices.Sort(stale)
	return slices.Compact(stale)
}

func (e *Export) writeManifest(ctx context.Context, m *manifest) error {
	e.committing = true
	if err := m.commit(ctx, e.o.Place, e.manifest(), e.was); err != nil {
		return err
	}
	return e.o.Place.Sync([]string{e.manifest()})
}

// warningsJSON returns the numbers of the warnings as a JSON object.
func (e *Export) warningsJSON() string {
	b, err := json.Marshal(e.warnings)
	if err != nil {
		return ""
	}
	return string(b)
}

// put puts a finished file in its place.
func (e *Export) put(ctx context.Context, m *manifest, t *exportTable) error {
	stat, err := os.Stat(t.temporary)
	if err != nil {
		return err
	}
	e.putting = append(e.putting, t.name)
	if err := e.o.Place.Put(ctx, t.name, t.temporary); err != nil {
		return err
	}
	_ = os.Remove(t.temporary) // a Place may have copied the file
	t.temporary = ""
	m.Files[t.name] = stat.Size()
	return nil
}

// Close removes the remaining drafts.
func (e *Export) Close() {
	_ = e.budget.Close()
	for _, t := range e.tables {
		if t.reader != nil {
			t.reader.Release()
		}
		t.discard()
	}
}
