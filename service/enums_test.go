package service

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
	"github.com/replayd/replayd/service/source"
)

// TestCompressions: a file is said to be compressed as it is.
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

// TestEnums: every value of the API's enums but the first, which is of what is not known, stands for one of the packages
// below, and back.
func TestEnums(t *testing.T) {
	for name, n := range replaydv1.Format_value {
		f, ok := formats.from[replaydv1.Format(n)]
		if ok != (n != 0) || ok && "FORMAT_"+strings.ToUpper(f.String()) != name {
			t.Errorf("%s is %v, %v", name, f, ok)
		}
	}
	for name, n := range replaydv1.Compression_value {
		c, ok := compressions.from[replaydv1.Compression(n)]
		if ok != (n != 0) || ok && "COMPRESSION_"+strings.ToUpper(c.String()) != name {
			t.Errorf("%s is %v, %v", name, c, ok)
		}
	}
	if formats.to[decoders.Unknown] != replaydv1.Format_FORMAT_UNSPECIFIED {
		t.Error("what is not known has a format")
	}
	if len(formats.to) != len(decoders.Formats()) || len(compressions.to) != len(source.Compressions()) {
		t.Errorf("%d formats, %d compressions", len(formats.to), len(compressions.to))
	}
	for n, name := range replaydv1.ReplayView_name {
		if has := views[replaydv1.ReplayView(n)] != nil; has != (n != 0) {
			t.Errorf("%s is known: %v", name, has)
		}
	}
	// Each codec is of the format that its events are of.
	for _, c := range codecs {
		want := "replayd." + c.Format.String() + ".v1.EventList"
		if got := string(c.NewEventList().ProtoReflect().Descriptor().FullName()); got != want {
			t.Errorf("the codec of %v makes %s", c.Format, got)
		}
	}
}
