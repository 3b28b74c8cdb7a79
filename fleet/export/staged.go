package export

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// StagedDir is the directory of staged exports. A staged export is a ZIP archive with Arrow's IPC files, compressed by Zstandard: KIND.arrow
// for each kind, and replays.arrow. Its name depends on the contents alone: whoever stages a replay again writes the same file.
const StagedDir = "staged"

// Unknown stands for the day of a replay whose start is not known.
const Unknown = "unknown"

// Staged is what the name of a staged export tells.
type Staged struct {
	Day    string // the day of the replay's start (UTC), such as 2026-11-27, or Unknown
	Format string // such as dem
	Base   string // of the replay's identity
	Key    string // of the contents: the replay's, and what was selected by which version of the program
}

// Name returns the name of the file.
func (s Staged) Name() string {
	return path.Join(StagedDir, "day="+s.Day, s.Format, s.Base+"."+s.Key+stagedEnd)
}

const stagedEnd = ".zip"

// ParseStaged reads the name of a staged export. It reports false for other names.
func ParseStaged(name string) (s Staged, ok bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 {
		return Staged{}, false
	}
	s.Day, s.Format = strings.TrimPrefix(parts[1], "day="), parts[2]
	base, ok := strings.CutSuffix(parts[3], stagedEnd)
	if at := strings.LastIndexByte(base, '.'); ok && at > 0 {
		s.Base, s.Key = base[:at], base[at+1:]
	}
	return s, s.Key != "" && s.Name() == name
}

// staged returns the name of this export.
func (e *Export) staged() Staged {
	s := Staged{Day: Unknown, Format: e.formatName(), Base: e.base()}
	if start := e.start.GetStartTime(); start != nil {
		s.Day = start.AsTime().Format("2006-01-02")
	}
	m := manifest{SizeBytes: e.o.Size, SHA256: e.o.Sum, Schema: e.schemaVersion(), Facts: e.facts, Selection: e.o.Selection}
	s.Key = m.key()
	return s
}

// key returns a key of the contents. A replay without a sum may have changed since.
func (m *manifest) key() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		cmp.Or(m.SHA256, rand.Text()), strconv.FormatInt(m.SizeBytes, 10), m.Selection, contentVersion(m.Schema, m.Facts),
	}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// stage puts the tables, which are closed, and the replay's row as one file.
func (e *Export) stage(ctx context.Context, kinds []string) (err error) {
	row, err := e.writeReplay(kinds)
	if err != nil {
		return err
	}
	defer row.discard()
	name := e.staged().Name()
	err = stageAs(ctx, e.o.Place, name, func(z *zip.Writer) error {
		err := add(z, FinishedDir, row)
		for _, kind := range kinds {
			err = errors.Join(err, add(z, kind, e.tables[kind]))
		}
		return err
	})
	if err == nil {
		e.names = []string{name}
	}
	return err
}

// stageAs puts a staged export, to which write adds the tables.
func stageAs(ctx context.Context, to Place, name string, write func(*zip.Writer) error) (err error) {
	all := &exportTable{name: name}
	if all.file, err = CreateDraft(to, name); err != nil {
		return err
	}
	defer all.discard()
	all.temporary = all.file.Name()
	z := zip.NewWriter(all.file)
	z.RegisterCompressor(zstd.ZipMethodWinZip, compressor)
	if err := errors.Join(write(z), z.Close(), all.file.Chmod(0o644), all.file.Close()); err != nil {
		return err
	}
	all.file = nil
	if err := to.Put(ctx, name, all.temporary); err != nil {
		return err
	}
	return to.Sync([]string{name})
}

var compressor = zstd.ZipCompressor(zstd.WithEncoderConcurrency(1))

// OpenStaged opens a staged export.
func OpenStaged(from io.ReaderAt, size int64) (*zip.Reader, error) {
	z, err := zip.NewReader(from, size)
	if err == nil {
		z.RegisterDecompressor(zstd.ZipMethodWinZip, decompressor)
	}
	return z, err
}

var decompressor = zstd.ZipDecompressor(zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))

// add adds the draft of a table to a ZIP archive.
func add(z *zip.Writer, kind string, t *exportTable) error {
	from, err := os.Open(t.temporary)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // nothing was written
	to, err := z.CreateHeader(&zip.FileHeader{Name: kind + ".arrow", Method: zstd.ZipMethodWinZip})
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return err
}
