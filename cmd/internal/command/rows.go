package command

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/cmd/internal/terminal"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// replayColumns are the columns of replays as CSV.
var replayColumns = []struct {
	name string
	of   func(*replaydv1.Replay) string
}{
	{"name", (*replaydv1.Replay).GetName},
	{"format", func(r *replaydv1.Replay) string { return valueName(r.GetFormat().String(), "FORMAT_") }},
	{"state", terminal.State},
	{"map_name", (*replaydv1.Replay).GetMapName},
	{"players", terminal.Players},
	{"result", terminal.Result},
	{"start_time", func(r *replaydv1.Replay) string { return timeText(r.GetStartTime()) }},
	{"duration", func(r *replaydv1.Replay) string { // in seconds
		if r.GetDuration() == nil {
			return ""
		}
		return strconv.FormatFloat(r.GetDuration().AsDuration().Seconds(), 'f', -1, 64)
	}},
	{"size_bytes", func(r *replaydv1.Replay) string { return strconv.FormatInt(r.GetSizeBytes(), 10) }},
	{"modify_time", func(r *replaydv1.Replay) string { return timeText(r.GetModifyTime()) }},
}

// replayRows writes replays as CSV, with a first line of names.
type replayRows struct {
	out    *csv.Writer
	titled bool
}

func newReplayRows(out io.Writer) *replayRows { return &replayRows{out: csv.NewWriter(out)} }

func (w *replayRows) add(r *replaydv1.Replay) error {
	w.title()
	row := make([]string, len(replayColumns))
	for i, c := range replayColumns {
		row[i] = c.of(r)
	}
	return w.out.Write(row)
}

func (w *replayRows) title() {
	if w.titled {
		return
	}
	w.titled = true
	names := make([]string, len(replayColumns))
	for i, c := range replayColumns {
		names[i] = c.name
	}
	_ = w.out.Write(names) // the error sticks
}

func (w *replayRows) flush() error {
	w.title()
	w.out.Flush()
	return w.out.Error()
}

// replayLine returns a replay as a line for awk, in columns separated by tabs.
func replayLine(r *replaydv1.Replay) string {
	return fmt.Sprintf("%s\t%d\t%s\t%s\t%s", valueName(r.GetFormat().String(), "FORMAT_"), r.GetSizeBytes(),
		r.GetModifyTime().AsTime().UTC().Format(time.RFC3339), terminal.State(r), r.GetName())
}

// valueName returns the name of an enum's value without its prefix, in lower case.
func valueName(value, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(value, prefix))
}

func timeText(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().UTC().Format(time.RFC3339Nano)
}

// writeReportRows writes the players of a report, or the layers of a map, as CSV. The columns are the fields of the API, of a
// message its own, which begin with its name.
func writeReportRows(out io.Writer, report *replaydv1.Report) error {
	w := csv.NewWriter(out)
	game := report.ProtoReflect()
	if of := game.WhichOneof(game.Descriptor().Oneofs().ByName("game")); of != nil {
		game = game.Get(of).Message()
	}
	if dem := report.GetDem(); dem != nil && len(dem.GetPlayers()) == 0 && dem.GetMatch() != nil { // its own summary is all there is
		game = dem.GetMatch().ProtoReflect()
	}
	for _, name := range []protoreflect.Name{"players", "layers"} {
		field := game.Descriptor().Fields().ByName(name)
		if field == nil || !field.IsList() {
			continue
		}
		names := append([]string{"replay"}, columnNames(field.Message(), "")...)
		_ = w.Write(names) // the error sticks
		for list, i := game.Get(field).List(), 0; i < list.Len(); i++ {
			_ = w.Write(appendCells([]string{report.GetReplay().GetName()}, field.Message(), list.Get(i).Message()))
		}
		break
	}
	w.Flush()
	return w.Error()
}

// columnNames returns the names of a message's columns. Lists have none.
func columnNames(m protoreflect.MessageDescriptor, prefix string) (names []string) {
	for i := range m.Fields().Len() {
		switch f := m.Fields().Get(i); {
		case f.IsList() || f.IsMap():
		case f.Message() != nil:
			names = append(names, columnNames(f.Message(), prefix+string(f.Name())+"_")...)
		default:
			names = append(names, prefix+string(f.Name()))
		}
	}
	return names
}

// appendCells appends the values of a message's columns. m may be nil, for a message that is absent.
func appendCells(cells []string, of protoreflect.MessageDescriptor, m protoreflect.Message) []string {
	for i := range of.Fields().Len() {
		f := of.Fields().Get(i)
		there := m != nil && (m.Has(f) || !f.HasPresence())
		switch {
		case f.IsList() || f.IsMap():
		case f.Message() != nil && there:
			cells = appendCells(cells, f.Message(), m.Get(f).Message())
		case f.Message() != nil:
			cells = appendCells(cells, f.Message(), nil)
		case !there:
			cells = append(cells, "")
		default:
			cells = append(cells, cell(f, m.Get(f)))
		}
	}
	return cells
}

func cell(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	if f.Enum() != nil {
		if named := f.Enum().Values().ByNumber(v.Enum()); named != nil {
			return string(named.Name())
		}
	}
	return v.String()
}
