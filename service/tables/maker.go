package tables

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/replayd/replayd/proto/eventjson"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/replay/table/tablefile"
	"github.com/replayd/replayd/service/frame"
)

// Result says how the stream of a table's events ended.
type Result struct {
	// End is the name of an EndReason without its prefix, or [Damaged].
	End string
	// Detail is for people.
	Detail string
}

// Damaged is the end of a replay that could be read only in part.
const Damaged = "DAMAGED"

// maxWaiting limits the memory of rows that wait for their row group, in bytes.
const maxWaiting = 4 << 20

// Cost is the memory that writing a table takes besides that of its stream, in bytes: rows that wait, and of Parquet a column's
// dictionary and pages.
func Cost(f tablefile.Format) int64 {
	if f == tablefile.Parquet {
		return 16 << 20
	}
	return 4 << 20
}

// Maker writes the events of one kind of a stream to a draft. The caller closes it.
type Maker struct {
	// Kind is the kind's number in the layout.
	Kind   uint8
	Layout *table.Layout
	Format tablefile.Format
	// Version is that of the tables of the replay's format.
	Version string
	Draft   *Draft

	budget *tablefile.Budget
	schema *arrow.Schema
	out    tablefile.Writer
	rows   uint64
	result Result
}

// Frame adds a response of a stream in this process that passes on columns.
func (m *Maker) Frame(f *frame.Frame) error {
	if set := f.Columns(); set != nil {
		return set.All(m.add)
	}
	switch r := f.Response(); {
	case r.GetStart() != nil:
		return m.start(r.GetStart())
	case r.GetEnd() != nil:
		m.result = Result{strings.TrimPrefix(r.GetEnd().GetReason().String(), "END_REASON_"), r.GetEnd().GetDetail()}
	}
	return nil
}

// start begins the file.
func (m *Maker) start(s *replaydv1.StreamStart) error {
	header, err := eventjson.Marshal(s.GetReplay())
	if err != nil {
		return fmt.Errorf("describing the replay: %w", err)
	}
	about := map[string]string{
		"replayd.identity": s.GetReplay().GetIdentity(), "replayd.name": s.GetReplay().GetName(), "replayd.header": string(header),
		"replayd.version": s.GetServerVersion(), "replayd.schema_version": m.Version,
	}
	if strings.HasPrefix(m.Layout.Format.Kinds[m.Kind].Name, "fact_") {
		about["replayd.facts_version"] = strconv.FormatUint(uint64(s.GetFactsVersion()), 10)
	}
	m.budget = tablefile.NewBudget(maxWaiting, m.Draft.Waiting)
	m.schema = arrowipc.Schema(m.Layout, m.Kind)
	m.out, err = tablefile.New(m.Format, m.Draft, m.schema, about, m.budget)
	return err
}

// add adds rows. The columns may be used again afterwards.
func (m *Maker) add(t *table.Table) error {
	if t.Kind != m.Kind {
		return nil // what takes the place of an event that is too large
	}
	m.rows += uint64(t.Rows)
	return m.out.Write([]arrow.RecordBatch{arrowipc.Record(t, m.schema)})
}

// ErrNotStarted is returned for a stream that ended before its start.
var ErrNotStarted = errors.New("the stream has no start")

// Damage records damage as the end of the replay. It reports whether the replay had begun; otherwise there is nothing to finish.
func (m *Maker) Damage(detail string) bool {
	m.result = Result{Damaged, detail}
	return m.out != nil
}

// Finish writes the end of the file.
func (m *Maker) Finish() (Result, error) {
	if m.out == nil {
		return Result{}, ErrNotStarted
	}
	return m.result, m.out.Close(map[string]string{
		"replayd.end_reason": m.result.End, "replayd.end_detail": m.result.Detail, "replayd.rows": strconv.FormatUint(m.rows, 10),
	})
}

// Close removes what waits.
func (m *Maker) Close() {
	if m.budget != nil {
		_ = m.budget.Close()
	}
}
