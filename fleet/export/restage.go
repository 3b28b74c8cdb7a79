package export

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/klauspost/compress/zstd"

	"github.com/replayd/replayd/replay/table/tablefile"
)

// Finished is an export of a replay as Parquet that was finished before.
type Finished struct {
	Staged // what the same export has for a name if it is staged

	tables map[string]string // the names of files by kind
}

// Opener opens the files of a Place.
type Opener interface {
	Read(ctx context.Context, name string, most int64) ([]byte, error)
	Size(ctx context.Context, name string) (int64, error)
	Open(ctx context.Context, name string) (io.ReaderAt, io.Closer, error)
}

// FinishedDir is the directory below which the manifests of exports are, and the name of the table with a row for each replay.
const FinishedDir = "replays"

// Find returns the finished export of a manifest. It returns nil if the file is none, or names no tables as Parquet.
func Find(ctx context.Context, from Opener, name string) (*Finished, error) {
	format, ok := strings.CutPrefix(path.Dir(name), FinishedDir+"/format=")
	base, parquet := strings.CutSuffix(path.Base(name), "."+string(tablefile.Parquet)+manifestEnd)
	if !ok || !parquet || format == "" || strings.Contains(format, "/") {
		return nil, nil
	}
	b, err := from.Read(ctx, name, maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := parse(b)
	if err != nil || len(m.Files) == 0 {
		return nil, nil //nolint:nilerr // whoever exports the replay again writes it anew
	}
	f := &Finished{Staged: Staged{Day: Unknown, Format: format, Base: base, Key: m.key()}, tables: map[string]string{}}
	for file := range m.Files {
		dir, in := path.Split(file)
		kind, ok := strings.CutPrefix(dir, "format="+format+"/kind=")
		switch {
		case ok && strings.HasPrefix(in, base+"."):
			f.tables[strings.TrimSuffix(kind, "/")] = file
		case path.Clean(dir) == path.Dir(name):
			f.tables[FinishedDir] = file
		}
	}
	if f.tables[FinishedDir] == "" {
		return nil, nil
	}
	err = f.each(ctx, from, FinishedDir, func(r arrow.RecordBatch) error {
		for _, i := range r.Schema().FieldIndices("start_time") {
			if start, ok := r.Column(i).(*array.String); ok && r.NumRows() > 0 && start.IsValid(0) && len(start.Value(0)) >= len("2006-01-02") {
				f.Day = start.Value(0)[:len("2006-01-02")]
			}
		}
		return nil
	}, nil)
	return f, err
}

// each calls add for the rows of a table, and begin for its schema before.
func (f *Finished) each(ctx context.Context, from Opener, kind string, add func(arrow.RecordBatch) error, begin func(*arrow.Schema) error) error {
	name := f.tables[kind]
	size, err := from.Size(ctx, name)
	if err != nil {
		return err
	}
	at, closer, err := from.Open(ctx, name)
	if err != nil {
		return err
	}
	defer closer.Close() //nolint:errcheck // nothing was written
	r, err := tablefile.NewReader(at, size)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if begin != nil {
		if err := begin(r.Schema()); err != nil {
			return err
		}
	}
	for {
		rows, err := r.Read(16 << 10)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = add(rows)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

// Stage stages the export. known returns the table of a kind with comments, which files of Parquet do not have, or nil. It may be nil.
func (f *Finished) Stage(ctx context.Context, from Opener, to Place, known func(format, kind string) *arrow.Schema) error {
	return stageAs(ctx, to, f.Name(), func(z *zip.Writer) error {
		kinds := []string{FinishedDir}
		for kind := range f.tables {
			if kind != FinishedDir {
				kinds = append(kinds, kind)
			}
		}
		slices.Sort(kinds[1:])
		for _, kind := range kinds {
			file, err := z.CreateHeader(&zip.FileHeader{Name: kind + ".arrow", Method: zstd.ZipMethodWinZip})
			if err != nil {
				return err
			}
			var out tablefile.Writer
			err = f.each(ctx, from, kind, func(r arrow.RecordBatch) error { return out.Write([]arrow.RecordBatch{r}) }, func(s *arrow.Schema) (err error) {
				if known != nil {
					s = commented(s, known(f.Format, kind))
				}
				out, err = tablefile.New(tablefile.Loose, file, s, nil, nil)
				return err
			})
			if err == nil {
				err = out.Close(nil)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// commented returns a schema with the comments of another one, which may be nil.
func commented(s, from *arrow.Schema) *arrow.Schema {
	if from == nil {
		return s
	}
	about := s.Metadata()
	return arrow.NewSchema(withComments(s.Fields(), from.Fields()), &about)
}

// withComments returns fields with the comments of others of the same names.
func withComments(fields, from []arrow.Field) []arrow.Field {
	fields = slices.Clone(fields)
	for i := range fields {
		f := &fields[i]
		at := slices.IndexFunc(from, func(known arrow.Field) bool { return known.Name == f.Name })
		if at < 0 {
			continue
		}
		f.Metadata = from[at].Metadata
		switch t := f.Type.(type) {
		case *arrow.StructType:
			if known, ok := from[at].Type.(*arrow.StructType); ok {
				f.Type = arrow.StructOf(withComments(t.Fields(), known.Fields())...)
			}
		case *arrow.ListType:
			if known, ok := from[at].Type.(*arrow.ListType); ok {
				element, of := t.ElemField(), known.ElemField()
				of.Name = element.Name
				f.Type = arrow.ListOfField(withComments([]arrow.Field{element}, []arrow.Field{of})[0])
			}
		}
	}
	return fields
}
