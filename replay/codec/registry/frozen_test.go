package registry_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/internal/frozen"
	"github.com/replayd/replayd/replay/codec/registry"
	"github.com/replayd/replayd/replay/table"
)

// TestFrozenTables: columns have the names, types and nullability that they had.
func TestFrozenTables(t *testing.T) {
	var lines []string
	for _, c := range registry.Codecs() {
		layout := c.Tables.Layout(true)
		for k := 1; k < len(c.Tables.Kinds); k++ {
			lines = append(lines, columns(c.Tables.Name+"."+c.Tables.Kinds[k].Name+" ", layout.Fields(uint8(k)))...)
		}
	}
	frozen.Check(t, root, "tables", lines)
}

// columns returns a line for each column and each one below it.
func columns(before string, fields []table.Field) (lines []string) {
	for i := range fields {
		f := &fields[i]
		line, typ := before+f.Name, f.Type.String()
		if f.Nullable {
			typ += "?"
		}
		if f.Resolved {
			typ += " with players"
		}
		lines = append(lines, line+" "+typ)
		lines = append(lines, columns(line+".", f.Fields)...)
	}
	return lines
}

// common are the columns of all kinds that are older than their prefix. None is ever added.
var common = map[string][]string{
	"":             {"offset", "index", "at_tick", "time"},
	"datafile":     {"warnings"},
	"sc2replay":    {"player", "unproven"},
	"teehistorian": {"warnings", "player", "other_player"},
}

// TestCommonColumns: a column of all kinds has a prefix that no column of a kind has, so that a new one takes no name of a field and
// renames none. Columns of a kind have the names of their fields, but for the names of the few common columns that have no prefix.
func TestCommonColumns(t *testing.T) {
	const prefix = "replayd_"
	for _, c := range registry.Codecs() {
		of := c.Tables
		old := slices.Concat(common[""], common[of.Name])
		layout := of.Layout(true)
		for k := 1; k < len(of.Kinds); k++ {
			kind := &of.Kinds[k]
			all := layout.Fields(uint8(k))
			shared := len(all) - len(kind.Fields)
			for i, f := range all {
				old := slices.Contains(old, f.Name)
				switch prefixed := strings.HasPrefix(f.Name, prefix); {
				case i < shared && !prefixed && !old:
					t.Errorf("%s.%s: the common column %s has no prefix", of.Name, kind.Name, f.Name)
				case i >= shared && (prefixed || old):
					t.Errorf("%s.%s: the column %s has a name of common columns", of.Name, kind.Name, f.Name)
				}
			}
		}
		fields := c.NewEventList().ProtoReflect().Descriptor().Fields().ByName("events").Message().Oneofs().ByName("kind").Fields()
		for k := 1; k < len(of.Kinds); k++ {
			kind := &of.Kinds[k]
			message := fields.Get(k - 1).Message()
			for _, f := range kind.Fields {
				name, renamed := strings.CutPrefix(f.Name, kind.Name+"_")
				if message.Fields().ByName(protoreflect.Name(f.Name)) == nil && message.Oneofs().ByName(protoreflect.Name(strings.TrimSuffix(f.Name, "_case"))) == nil &&
					(!renamed || !slices.Contains(old, name) || message.Fields().ByName(protoreflect.Name(name)) == nil) {
					t.Errorf("%s.%s: the column %s is named neither as its field, nor as the rule for common columns says", of.Name, kind.Name, f.Name)
				}
			}
		}
	}
}
