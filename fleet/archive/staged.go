package archive

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/replayd/replayd/fleet/export"
)

const (
	readAhead = 8       // staged exports that are read at the same time: stores answer late, and each export is decompressed by one processor
	maxKept   = 8 << 20 // the most bytes of a staged export that are read at once, and of its rows that are not read again
)

// errBad means that a staged export cannot be read.
var errBad = errors.New("it is no staged export")

func bad(err error) error { return fmt.Errorf("%w: %w", errBad, err) }

// opened is a staged export of which all was looked at.
type opened struct {
	io.Closer

	identity string
	parts    []part
}

// part is a table of a staged export.
type part struct {
	file   *zip.File
	table  string
	schema *arrow.Schema       // with numbers once it is added
	rows   []arrow.RecordBatch // nil if they are to be read again
}

// readAll reads staged exports, some at the same time, and calls use for them in their order until it returns an error.
func (m *merging) readAll(ctx context.Context, staged []stagedFile, use func(*stagedFile, *opened, error) error) (err error) {
	type result struct {
		found *opened
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	var reading []chan result // of staged, in order
	defer func() {
		cancel()
		for _, r := range reading {
			if r := <-r; r.found != nil {
				_ = r.found.Close()
			}
		}
	}()
	next := 0
	for i := range staged {
		for ; next < len(staged) && len(reading) < readAhead; next++ {
			s, done := &staged[next], make(chan result, 1)
			reading = append(reading, done)
			go func() {
				found, err := m.read(ctx, s)
				done <- result{found, err}
			}()
		}
		r := <-reading[0]
		reading = reading[1:]
		err := use(&staged[i], r.found, r.err)
		if r.found != nil {
			err = errors.Join(err, r.found.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read reads a staged export to its end.
func (a *Archive) read(ctx context.Context, s *stagedFile) (_ *opened, err error) {
	var at io.ReaderAt
	found := &opened{Closer: io.NopCloser(nil)}
	if s.size <= maxKept {
		var b []byte
		b, err = a.place.Read(ctx, s.name, maxKept)
		at = bytes.NewReader(b)
	} else {
		at, found.Closer, err = a.place.Open(ctx, s.name)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = found.Close()
		}
	}()
	z, err := export.OpenStaged(at, s.size)
	if err != nil {
		return nil, bad(err)
	}
	kept := 0
	for _, f := range z.File {
		kind, ok := strings.CutSuffix(f.Name, ".arrow")
		if !ok || kind == "" || strings.ContainsAny(kind, `/\`) || kind[0] == '.' {
			return nil, bad(fmt.Errorf("it has a file %q", f.Name))
		}
		p := part{file: f, table: path.Join(s.Format, kind)}
		if p.schema, err = p.check(&kept); err != nil {
			return nil, bad(err)
		}
		id, _ := p.schema.Metadata().GetValue("replayd.identity")
		if found.identity = cmp.Or(found.identity, id); id == "" || id != found.identity {
			return nil, bad(fmt.Errorf("%s is of another replay", f.Name))
		}
		found.parts = append(found.parts, p)
	}
	return found, nil
}

// check reads the file to its end, and returns its schema. It keeps the rows while all kept rows are few.
func (p *part) check(kept *int) (*arrow.Schema, error) {
	r, done, err := open(p.file)
	if err != nil {
		return nil, err
	}
	defer done()
	p.rows = []arrow.RecordBatch{}
	for r.Next() {
		if p.rows == nil {
			continue
		}
		for _, c := range r.RecordBatch().Columns() {
			*kept += int(c.Data().SizeInBytes())
		}
		if *kept > maxKept {
			p.rows = nil
			continue
		}
		r.RecordBatch().Retain()
		p.rows = append(p.rows, r.RecordBatch())
	}
	return r.Schema(), r.Err()
}

// each calls add for the rows.
func (p *part) each(add func(arrow.RecordBatch) error) error {
	for _, r := range p.rows {
		if err := add(r); err != nil {
			return err
		}
	}
	if p.rows != nil {
		return nil
	}
	r, done, err := open(p.file)
	if err != nil {
		return err
	}
	defer done()
	for r.Next() {
		if err := add(r.RecordBatch()); err != nil {
			return err
		}
	}
	return r.Err()
}

// open opens a file in Arrow's file format as a stream of messages, which it contains.
func open(f *zip.File) (*ipc.Reader, func(), error) {
	from, err := f.Open()
	if err != nil {
		return nil, nil, err
	}
	buffered := bufio.NewReader(from)
	if _, err := buffered.Discard(len("ARROW1\x00\x00")); err != nil {
		return nil, nil, errors.Join(err, from.Close())
	}
	r, err := ipc.NewReader(buffered)
	if err != nil {
		return nil, nil, errors.Join(err, from.Close())
	}
	return r, func() { r.Release(); _ = from.Close() }, nil
}
