package tables

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	codec "github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/tablefile"
	"github.com/replayd/replayd/service/frame"
)

var (
	begin = &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Start{Start: &replaydv1.StreamStart{
		Replay: &replaydv1.Replay{Name: "r/a", Identity: "id"}, ServerVersion: "1.2", FactsVersion: 7,
	}}}
	end = &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_End{End: &replaydv1.StreamEnd{
		Reason: replaydv1.EndReason_END_REASON_TRUNCATED, Detail: "torn",
	}}}
)

// made returns the file and the result of a maker of a kind that gets a stream with three rows of drops and two of joins, in two batches.
func made(t *testing.T, format tablefile.Format, kind, damage string) ([]byte, Result) {
	t.Helper()
	w, number := newWorld(t, 0), slices.IndexFunc(codec.Tables.Kinds, func(k table.Kind) bool { return k.Name == kind })
	got, err := w.Open(t.Context(), Asked{Key: "k"}, func(d *Draft) (Result, error) {
		m := &Maker{Kind: uint8(number), Layout: codec.Tables.Layout(false), Format: format, Version: "v3", Draft: d}
		defer m.Close()
		var box frame.Outbox
		respond := func(r *replaydv1.StreamEventsResponse) {
			f, err := box.Of(r, nil)
			if err == nil {
				err = m.Frame(f)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		respond(begin)
		set := table.NewSet(m.Layout)
		for _, kinds := range [][]teehistorian.Kind{{teehistorian.KindDrop, teehistorian.KindJoin, teehistorian.KindDrop}, {teehistorian.KindJoin, teehistorian.KindDrop}} {
			for i, kind := range kinds {
				codec.AddRow(set, decoders.Position{Offset: int64(i)}, &teehistorian.Event{Kind: kind})
			}
			if err := m.Frame(box.Columns(set, nil)); err != nil {
				return Result{}, err
			}
			set.Reset()
		}
		if damage == "" {
			respond(end)
		} else if !m.Damage(damage) {
			t.Error("it has not begun")
		}
		return m.Finish()
	}, w.account(""))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	b, err := io.ReadAll(got)
	if err != nil {
		t.Fatal(err)
	}
	return b, got.Result
}

// TestMaker: a file has the rows of its kind, and says of which replay it is, what made it, and how the replay ended.
func TestMaker(t *testing.T) {
	b, result := made(t, tablefile.Arrow, "drop", "")
	in, err := ipc.NewFileReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for i := range in.NumRecords() {
		r, err := in.RecordBatchAt(i)
		if err != nil {
			t.Fatal(err)
		}
		rows += r.NumRows()
	}
	if want := (Result{"TRUNCATED", "torn"}); rows != 3 || result != want {
		t.Errorf("%d rows, %v", rows, result)
	}
	for kind, test := range map[string]struct {
		damage string
		about  map[string]string
	}{
		"join":        {"", map[string]string{"replayd.end_reason": "TRUNCATED", "replayd.end_detail": "torn", "replayd.rows": "2", "replayd.facts_version": ""}},
		"drop":        {"flipped", map[string]string{"replayd.end_reason": Damaged, "replayd.end_detail": "flipped", "replayd.rows": "3"}},
		"fact_finish": {"", map[string]string{"replayd.rows": "0", "replayd.facts_version": "7"}},
	} {
		b, _ := made(t, tablefile.Parquet, kind, test.damage)
		in, err := file.NewParquetReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		about := in.MetaData().KeyValueMetadata()
		test.about["replayd.identity"], test.about["replayd.name"], test.about["replayd.version"], test.about["replayd.schema_version"] = "id", "r/a", "1.2", "v3"
		for key, want := range test.about {
			got := about.FindValue(key)
			if want == "" && got != nil || want != "" && (got == nil || *got != want) {
				t.Errorf("%s: %s is %v, want %q", kind, key, got, want)
			}
		}
	}
}

// TestMakerNotBegun: nothing is made of a stream that ends before its start.
func TestMakerNotBegun(t *testing.T) {
	m := &Maker{Layout: codec.Tables.Layout(false), Format: tablefile.Arrow}
	if m.Damage("torn") {
		t.Error("it has begun")
	}
	if _, err := m.Finish(); !errors.Is(err, ErrNotStarted) {
		t.Error(err)
	}
	m.Close()
	if Cost(tablefile.Parquet) <= Cost(tablefile.Arrow) {
		t.Error("what waits of Parquet's row groups takes no memory")
	}
}
