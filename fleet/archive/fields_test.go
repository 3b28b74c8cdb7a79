package archive_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/fleet/archive"
	"github.com/replayd/replayd/fleet/export"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/table/tablefile"
)

// pawns stages a table of the players' bodies of a demo with a column for each of some fields.
func pawns(t *testing.T, dir, demo string, fields ...string) {
	t.Helper()
	req := request("sample_entity")
	req.FieldColumns = true
	req.Include[0].Ticks = &replaydv1.TickRange{Every: proto.Int32(8)}
	req.Include[0].Dem = &replaydv1.DemFilter{Classes: []string{"CCSPlayerPawn"}, Fields: fields}
	if err := exported(t.Context(), filepath.Join(samples, "dem", demo), export.Options{Place: place(dir), Staged: true}, req); err != nil {
		t.Fatal(err)
	}
}

// TestFields: demos of one class with other fields are one table, which has all of them. What was not asked for of a demo is missing in its rows.
func TestFields(t *testing.T) {
	dir, once := t.TempDir(), t.TempDir()
	pawns(t, dir, "cs2.dem", "m_iHealth", "CBodyComponent.m_cellX")
	merge(t, dir, archive.Options{})
	hint := filepath.Join(dir, "dem", "CCSPlayerPawn", "metadata", "version-hint.text")
	first := columnsOf(t, hint)
	pawns(t, dir, "round.dem", "CBodyComponent.place", "CBodyComponent.m_cellX")
	merge(t, dir, archive.Options{})
	both := columnsOf(t, hint)
	for name, c := range first {
		if c != both[name] {
			t.Errorf("column %s was %+v, and is %+v", name, c, both[name])
		}
		delete(both, name)
	}
	last := slices.MaxFunc(slices.Collect(maps.Values(first)), func(a, b columnOf) int { return a.ID - b.ID }).ID
	if c := both["CBodyComponent.place"]; len(both) != 1 || c.ID <= last || c.Required || c.Doc == "" {
		t.Errorf("new are %+v, the last one before had number %d", both, last)
	}
	pawns(t, once, "cs2.dem", "m_iHealth", "CBodyComponent.m_cellX")
	pawns(t, once, "round.dem", "CBodyComponent.place", "CBodyComponent.m_cellX")
	merge(t, once, archive.Options{})
	before := rowsOf(t, dir)
	compare(t, before, rowsOf(t, once))
	merge(t, dir, archive.Options{SmallFiles: 2})
	after := rowsOf(t, dir)["dem/CCSPlayerPawn"]
	for replay, rows := range before["dem/CCSPlayerPawn"] {
		for i, row := range rows {
			got := strings.Fields(after[replay][i])
			missing := slices.DeleteFunc(got, func(cell string) bool { return strings.Contains(row, cell) })
			if len(missing) == 0 || slices.ContainsFunc(missing, func(cell string) bool { return !strings.HasSuffix(cell, "=(null)") }) {
				t.Fatalf("%s is rewritten as %s", row, after[replay][i])
			}
		}
	}
}

// TestUnfit: an export whose column has another type than the table's is not added, and disturbs no other.
func TestUnfit(t *testing.T) {
	dir := t.TempDir()
	pawns(t, dir, "cs2.dem", "m_iHealth")
	merge(t, dir, archive.Options{})
	want := rowsOf(t, dir)
	pawns(t, dir, "round.dem", "m_iHealth")
	staged := retyped(t, dir, "CCSPlayerPawn.arrow", "m_iHealth")
	for range 2 {
		if r := merge(t, dir, archive.Options{}); r != (archive.Report{Bad: 1}) {
			t.Errorf("%+v", r)
		}
		compare(t, rowsOf(t, dir), want)
	}
	if _, err := os.Stat(staged); err != nil {
		t.Error(err)
	}
}

// retyped makes texts of a column of the only staged export, and returns the name of its file.
func retyped(t *testing.T, dir, table, column string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "staged", "*", "*", "*.zip"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	z, err := export.OpenStaged(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range z.File {
		from, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := w.CreateHeader(&zip.FileHeader{Name: f.Name})
		if err == nil && f.Name == table {
			err = retype(to, data, column)
		} else if err == nil {
			_, err = to.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), os.WriteFile(names[0], out.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return names[0]
}

// retype writes a file in Arrow's file format with texts, all missing, as one of its columns.
func retype(to io.Writer, data []byte, column string) error {
	from, err := ipc.NewFileReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	defer from.Close()
	fields := from.Schema().Fields()
	at := from.Schema().FieldIndices(column)[0]
	fields[at].Type, fields[at].Nullable = arrow.BinaryTypes.String, true
	about := from.Schema().Metadata()
	schema := arrow.NewSchema(fields, &about)
	out, err := tablefile.New(tablefile.Loose, to, schema, nil, nil)
	if err != nil {
		return err
	}
	for i := range from.NumRecords() {
		r, err := from.RecordBatchAt(i)
		if err != nil {
			return err
		}
		columns := slices.Clone(r.Columns())
		columns[at] = array.MakeArrayOfNull(memory.DefaultAllocator, fields[at].Type, int(r.NumRows()))
		if err := out.Write([]arrow.RecordBatch{array.NewRecordBatch(schema, columns, r.NumRows())}); err != nil {
			return err
		}
	}
	return out.Close(nil)
}

// columnOf is a column of a table of Iceberg, with its type as text.
type columnOf struct {
	ID       int
	Required bool
	Type     string
	Doc      string
}

// columnsOf returns the columns of a table as its metadata has them, by name.
func columnsOf(t *testing.T, hint string) map[string]columnOf {
	t.Helper()
	all := map[string]columnOf{}
	m := metadataOf(t, hint)
	for _, c := range m.Schemas[m.Schema].Fields {
		all[c.Name] = columnOf{c.ID, c.Required, string(c.Type), c.Doc}
	}
	return all
}

// fieldsOf are the columns of a schema in a table's metadata.
type fieldsOf struct {
	ID     int `json:"schema-id"`
	Fields []struct {
		ID       int             `json:"id"`
		Name     string          `json:"name"`
		Required bool            `json:"required"`
		Type     json.RawMessage `json:"type"`
		Doc      string          `json:"doc"`
	} `json:"fields"`
}
