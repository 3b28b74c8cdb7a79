package service

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/succession"
)

// TestCompressions: the description of a file has its actual compression.
func TestCompressions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for want, pack := range map[replaydv1.Compression]func(io.Writer) (io.WriteCloser, error){
		replaydv1.Compression_COMPRESSION_GZIP: func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		replaydv1.Compression_COMPRESSION_ZSTD: func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
		replaydv1.Compression_COMPRESSION_XZ:   func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
		replaydv1.Compression_COMPRESSION_NONE: func(w io.Writer) (io.WriteCloser, error) { return plain{w}, nil },
	} {
		var packed bytes.Buffer
		w, err := pack(&packed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, "DATA\x04\x00\x00\x00"+strings.Repeat("\x00", 64)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := source.OpenLocal(path, source.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		info := file.Info()
		if got := describeInfo(&info).GetCompression(); got != want {
			t.Errorf("%v, want %v", got, want)
		}
		_ = file.Close()
	}
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// checkTie fails the test unless the values of an enum of the API and of an enum of the packages below correspond one to one.
// The API's first value has no counterpart if it means unknown or unspecified.
func checkTie[A interface {
	comparable
	String() string
}, B interface {
	~int32
	String() string
}](t *testing.T, of tie[A, B], all []A, prefix string, names map[int32]string, first bool) {
	t.Helper()
	for n, name := range names {
		a, ok := of.from[B(n)]
		if ok != (n != 0 || first) || ok && (prefix+strings.ToUpper(a.String()) != name || of.to[a] != B(n)) {
			t.Errorf("%s is %v, %v", name, a, ok)
		}
	}
	for _, a := range all {
		if _, ok := of.to[a]; !ok {
			t.Errorf("%v is nothing in the API", a)
		}
	}
	if len(of.to) != len(all) || len(of.from) != len(all) {
		t.Errorf("%s: %d values and %d, of %d", prefix, len(of.to), len(of.from), len(all))
	}
}

// TestEnums: the values of the API's enums and of the enums in the packages below correspond in both directions.
func TestEnums(t *testing.T) {
	checkTie(t, formats, decoders.Formats(), "FORMAT_", replaydv1.Format_name, false)
	checkTie(t, compressions, source.Compressions(), "COMPRESSION_", replaydv1.Compression_name, false)
	checkTie(t, states, index.States(), "REPLAY_STATE_", replaydv1.ReplayState_name, true)
	checkTie(t, changeKinds, index.Kinds(), "CHANGE_KIND_", replaydv1.ChangeKind_name, false)
	checkTie(t, rules, succession.Rules(), "SUCCESSOR_RULE_", replaydv1.SuccessorRule_name, false)
	if formats.to[decoders.Unknown] != replaydv1.Format_FORMAT_UNSPECIFIED {
		t.Error("what is not known has a format")
	}
	for n, name := range replaydv1.ReplayView_name {
		if has := views[replaydv1.ReplayView(n)] != nil; has != (n != 0) {
			t.Errorf("%s is known: %v", name, has)
		}
	}
}

// noCause lists errors of the packages below that never reach a client unchanged, with the place where they are handled.
var noCause = map[string]string{
	"catalog.ErrOutside":      "reported as catalog.ErrNotFound",
	"source.ErrIrregular":     "reported as catalog.ErrNotFound",
	"catalog.ErrAlias":        "of the command line",
	"catalog.ErrName":         "a bad request, by fieldOf",
	"catalog.ErrToken":        "a bad request, by fieldOf",
	"catalog.ErrNotDirectory": "a bad request, by fieldOf",
	"source.ErrDirectory":     "a bad request, by fieldOf",
	"source.ErrOverwritten":   "is a source.ErrShrunk",
	"stream.ErrComplete":      "between a Follower and its stream",
	"stream.ErrSucceeded":     "between a Follower and its stream",
	"index.ErrToken":          "is catalog.ErrToken",
	"index.ErrLineage":        "of the command line",
	"decoders.ErrMore":        "between a decoder and its reader",
	"decoders.ErrWindow":      "wrapped by decoders in a decoders.ErrLimit",
}

// TestCauses: each exported error of the packages below has a status, or a reason why it needs none.
func TestCauses(t *testing.T) {
	text, err := os.ReadFile("status.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "var causes =")
	declared := regexp.MustCompile(`(?m)^\s*(?:var )?(Err\w+)\s*=`)
	known := 0
	for dir, pkg := range map[string]string{
		"../decoders": "decoders", "catalog": "catalog", "cursor": "cursor", "index": "index", "source": "source", "stream": "stream",
	} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range declared.FindAllSubmatch(text, -1) {
				name := pkg + "." + string(match[1])
				if listed := strings.Contains(table, "{"+name+","); listed == (noCause[name] != "") {
					t.Errorf("%s has a status: %v; and a reason to have none: %q", name, listed, noCause[name])
				}
				known++
			}
		}
	}
	if known < 20 {
		t.Errorf("only %d errors were found", known)
	}
}
