package registry_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/registry"
	"github.com/replayd/replayd/replay/source"
)

// root is the root of the repository.
const root = "../../.."

// fieldOf returns the name of a message's field that holds messages of a given type, or an empty string.
func fieldOf(m proto.Message, of string) string {
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Message() != nil && string(f.Message().FullName()) == of {
			return string(f.Name())
		}
	}
	return ""
}

// TestFormats checks that each recognized format has a codec with all required fields, its fields in the messages of the API,
// samples, and its pages in the documentation.
func TestFormats(t *testing.T) {
	codecs := registry.Codecs()
	if len(codecs) != len(decoders.Formats()) {
		t.Errorf("%d codecs of %d formats", len(codecs), len(decoders.Formats()))
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range decoders.Formats() {
		c := registry.Of(f)
		if c == nil || i >= len(codecs) || codecs[i] != c {
			t.Errorf("%v has no codec, or not in its place", f)
			continue
		}
		name := f.String()
		pkg := "replayd." + name + ".v1."
		if c.Filters.Name == "" || len(c.Filters.Kinds) < 2 || c.NewEventList == nil || c.Cost == nil || c.Open == nil || c.Describe == nil {
			t.Errorf("%v: the codec lacks something: %+v", f, c)
			continue
		}
		for _, size := range []int64{0, 1 << 10, 1 << 40} {
			if cost := c.Cost(size); cost < 64<<10 || cost > 1<<30 {
				t.Errorf("%v: a decoder of %d bytes takes %d bytes", f, size, cost)
			}
		}
		if got := string(c.NewEventList().ProtoReflect().Descriptor().FullName()); got != pkg+"EventList" {
			t.Errorf("%v: its events travel in a %s", f, got)
		}
		if _, ok := replaydv1.Format_value["FORMAT_"+strings.ToUpper(name)]; !ok {
			t.Errorf("%v is no Format of the API", f)
		}
		if field := fieldOf(new(replaydv1.EventBatch), pkg+"EventList"); field != name {
			t.Errorf("%v: its events travel in field %q", f, field)
		}
		headers := new(replaydv1.Replay).ProtoReflect().Descriptor().Oneofs().ByName("header").Fields()
		if headers.ByName(protoreflect.Name(name)) == nil {
			t.Errorf("%v: a Replay has no room for its header", f)
		}
		// A format has a state if its readers are Presenters. StateBatch must have a field for these formats, and for no other.
		r, err := c.Open(source.Input{At: bytes.NewReader(nil)}, codec.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, state := r.(codec.Presenter)
		if field := fieldOf(new(replaydv1.StateBatch), pkg+"EventList"); state && field != name || !state && field != "" {
			t.Errorf("%v: it has a state: %v, which travels in %q", f, state, field)
		}
		for _, pattern := range []string{"docs/events/" + name + ".md", "docs/formats/" + name + ".md", "testdata/" + name + "/*"} {
			if found, _ := filepath.Glob(filepath.Join(root, pattern)); len(found) == 0 {
				t.Errorf("%v: there is no %s", f, pattern)
			}
		}
		page, _ := os.ReadFile(filepath.Join(root, "docs", "formats", name+".md"))
		row := regexp.MustCompile("(?m)^\\| `" + name + "` \\|.*\n").Find(page)
		if row == nil || !bytes.Contains(readme, row) {
			t.Errorf("%v: the row %q of its page is not in the README: run make generate", f, row)
		}
	}
}

// TestKindNames checks that the kinds of filters are those of the messages.
func TestKindNames(t *testing.T) {
	for _, c := range registry.Codecs() {
		event := c.NewEventList().ProtoReflect().Descriptor().Fields().ByName("events").Message()
		fields := event.Oneofs().ByName("kind").Fields()
		if len(c.Filters.Kinds) != fields.Len()+1 {
			t.Errorf("%v: %d kinds, and %d in the message", c.Format, len(c.Filters.Kinds)-1, fields.Len())
			continue
		}
		for i := range fields.Len() {
			if got := protoreflect.Name(c.Filters.Kinds[1+i].Name); got != fields.Get(i).Name() {
				t.Errorf("%v: kind %d is %s, and %s in the message", c.Format, 1+i, got, fields.Get(i).Name())
			}
		}
	}
}

// ofOneFormat are files and folders outside a format's own folders that deal with that format on purpose.
var ofOneFormat = map[string]string{
	"cmd/replayd-ship/ship.go":        "recognises the end of teehistorian files",
	"cmd/internal/command/copy.go":    "anonymizes and cuts teehistorian files",
	"cmd/internal/command/render.go":  "draws maps",
	"cmd/internal/command/program.go": "gives StarCraft II tables of newer builds",

	"cmd/internal/command/exit.go":  "knows what verify says of a recording",
	"cmd/internal/agent/picture.go": "draws maps",

	"replay/tiles":     "reads the maps of DDNet games",
	"replay/verify":    "plays DDNet games again on their maps",
	"service/playcast": "makes demos of broadcasts",

	"bench/peers":               "decodes replays as other programs do",
	"cmd/internal/demo/demo.go": "plays a game of DDNet",
	"tools/checkmatch":          "compares demos with what others say of their matches",
	"e2e/record":                "draws the maps on which games are recorded, and reads the recordings",

	"cmd/internal/commandtest/commandtest.go": "writes games for tests as servers of DDNet do",
}

// TestImports checks that only the files and folders listed above import a format outside the folders of that name, and that no format
// imports another.
func TestImports(t *testing.T) {
	const module = "github.com/replayd/replayd/"
	imported := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (strings.HasPrefix(e.Name(), ".") && file != root || e.Name() == "node_modules") {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(root, file)
		if rel = filepath.ToSlash(rel); err != nil || !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			name, ours := strings.CutPrefix(name, module)
			if !ours {
				continue
			}
			for _, f := range decoders.Formats() {
				own := within(rel, "decoders/"+f.String()) || within(rel, "replay/codec/"+f.String()) ||
					within(rel, "bench/"+f.String()) || within(rel, "replay/codec/registry")
				if !within(name, "decoders/"+f.String()) && !within(name, "replay/codec/"+f.String()) {
					continue
				}
				imported[f.String()] = true
				for place := range ofOneFormat {
					own = own || within(rel, place)
				}
				if !own {
					t.Errorf("%s imports %s", rel, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(imported) != len(decoders.Formats()) {
		t.Errorf("only %v are imported at all", imported)
	}
}

// within reports whether a path is a folder or is below it.
func within(name, dir string) bool {
	return name == dir || strings.HasPrefix(path.Clean(name), dir+"/")
}
