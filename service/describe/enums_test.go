package describe

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
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
		if got := Info(&info).GetCompression(); got != want {
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
}](t *testing.T, of Tie[A, B], all []A, prefix string, names map[int32]string, first bool) {
	t.Helper()
	for n, name := range names {
		a, ok := of.From[B(n)]
		if ok != (n != 0 || first) || ok && (prefix+strings.ToUpper(a.String()) != name || of.To[a] != B(n)) {
			t.Errorf("%s is %v, %v", name, a, ok)
		}
	}
	for _, a := range all {
		if _, ok := of.To[a]; !ok {
			t.Errorf("%v is nothing in the API", a)
		}
	}
	if len(of.To) != len(all) || len(of.From) != len(all) {
		t.Errorf("%s: %d values and %d, of %d", prefix, len(of.To), len(of.From), len(all))
	}
}

// TestEnums: the values of the API's enums and of the enums in the packages below correspond in both directions.
func TestEnums(t *testing.T) {
	checkTie(t, Formats, decoders.Formats(), "FORMAT_", replaydv1.Format_name, false)
	checkTie(t, Compressions, source.Compressions(), "COMPRESSION_", replaydv1.Compression_name, false)
	checkTie(t, States, index.States(), "REPLAY_STATE_", replaydv1.ReplayState_name, true)
	checkTie(t, ChangeKinds, index.Kinds(), "CHANGE_KIND_", replaydv1.ChangeKind_name, false)
	checkTie(t, Rules, succession.Rules(), "SUCCESSOR_RULE_", replaydv1.SuccessorRule_name, false)
	if Formats.To[decoders.Unknown] != replaydv1.Format_FORMAT_UNSPECIFIED {
		t.Error("what is not known has a format")
	}
}
