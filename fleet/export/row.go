package export

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

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
	{Name: "warnings", Type: arrow.BinaryTypes.String},
	{Name: "summary", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "events", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "version", Type: arrow.BinaryTypes.String},
	{Name: "schema_version", Type: arrow.BinaryTypes.String},
	{Name: "header", Type: arrow.BinaryTypes.String},
	{Name: "kinds", Type: arrow.ListOf(arrow.BinaryTypes.String)},
	{Name: "rows", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)},
}

// writeReplay writes the draft of the table of replays, with the row of this replay. The caller discards it.
func (e *Export) writeReplay(kinds []string) (t *exportTable, err error) {
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
	if e.o.Sum == "" {
		b.Field(5).AppendNull()
	} else {
		text(5, e.o.Sum)
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
	text(10, e.warningsJSON())
	if e.summary == "" {
		b.Field(11).AppendNull()
	} else {
		text(11, e.summary)
	}
	b.Field(12).(*array.Uint64Builder).Append(e.events)
	text(13, e.server)
	text(14, e.schemaVersion())
	text(15, about["replayd.header"])
	names, rows := b.Field(16).(*array.ListBuilder), b.Field(17).(*array.ListBuilder)
	names.Append(true)
	rows.Append(true)
	for _, kind := range kinds {
		names.ValueBuilder().(*array.StringBuilder).Append(kind)
		rows.ValueBuilder().(*array.Int64Builder).Append(int64(e.tables[kind].rows))
	}
	record := b.NewRecordBatch()
	defer record.Release()
	t = &exportTable{name: e.row()}
	defer func() {
		if err != nil {
			t.discard()
		}
	}()
	if err := t.create(e, schema); err != nil {
		return nil, err
	}
	if err := t.out.Write([]arrow.RecordBatch{record}); err != nil {
		return nil, err
	}
	err = t.close(nil)
	return t, err
}
