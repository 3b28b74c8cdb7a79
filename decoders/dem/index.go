package dem

import (
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/internal/record"
	"github.com/replayd/replayd/decoders/dem/internal/unpack"
)

// Index holds the facts in the heads of a demo's records. The zero value is an Index of which nothing was read yet.
type Index struct {
	// KeyFrame, if it is not nil, is called with the offset and the tick of each record that contains the whole state.
	KeyFrame func(offset int64, tick int32)
	// Records is the number of whole records.
	Records int
	// LastTick is the highest tick of a record, or -1 when there is none.
	LastTick int32
	// End is the end of the last whole record, in bytes. The next Read begins there.
	End int64
	// Finished reports whether the recording is complete: it has the record that marks its end.
	Finished bool
	// Info is the summary at the end of the recording; nil if it was not read.
	Info *FileInfo

	signOn record.SignOn
}

// indexWork is the number of records between two calls of pause. That takes about a millisecond.
const indexWork = 4 << 10

// Read reads the heads of the records in r, whose first byte is the byte at End, without decoding their contents. It ends before
// a record that is only partly present. Read the rest later, from End. It calls pause after each bounded amount of work, and
// returns its error.
func (x *Index) Read(r io.Reader, pause func() error) error {
	win := decoders.NewWindow(r, x.End, maxInfo)
	if x.End > 0 && x.LastTick >= 0 { // the sign-on part has ended
		x.signOn.Place(&record.Head{Command: record.CmdPacket, Tick: x.LastTick})
	}
	for n := 1; ; n++ {
		err := x.next(win)
		if err == nil && n%indexWork == 0 {
			err = pause()
		}
		switch {
		case errors.Is(err, decoders.ErrMore):
			return nil
		case err != nil:
			return err
		}
	}
}

// next reads the file's header, or a record.
func (x *Index) next(win *decoders.Window) error {
	if x.End == 0 {
		for len(win.Bytes()) <= record.HeaderSize {
			if err := win.Fill(); err != nil {
				return err
			}
		}
		header, err := record.ParseFileHeader(win.Bytes())
		if err != nil {
			return err
		}
		x.LastTick, x.End = -1, header.Size
		win.Advance(int(header.Size))
	}
	for {
		head, n, size, what := record.ParseHead(win.Bytes())
		switch {
		case what != "" || size > record.MaxSize:
			return decoders.Errorf(decoders.Dem, x.End, decoders.NoTick, "record", decoders.ErrCorrupt, "no head of one")
		case n == 0, head.Command == record.CmdFileInfo && size <= maxInfo-n && len(win.Bytes()) < n+size:
			if err := win.Fill(); err != nil {
				return err
			}
			continue
		}
		if head.Command == record.CmdFileInfo && len(win.Bytes()) >= n+size {
			if payload, err := unpacked(head, win.Bytes()[n:n+size]); err == nil {
				info := &FileInfo{}
				if parseFileInfo(info, payload, nil) {
					x.Info = info
				}
			}
		}
		if _, err := win.Skip(int64(n + size)); err != nil {
			return err
		}
		x.signOn.Place(&head)
		switch head.Command {
		case record.CmdFullPacket:
			if x.KeyFrame != nil {
				x.KeyFrame(x.End, head.Tick)
			}
		case record.CmdStop:
			x.Finished = true
		}
		x.Records++
		x.LastTick = max(x.LastTick, head.Tick)
		x.End = win.Offset()
		return nil
	}
}

// readFileHeader reads the header that precedes the records.
func readFileHeader(at io.ReaderAt) (record.FileHeader, error) {
	var head [record.HeaderSize + 1]byte
	n, err := at.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return record.FileHeader{}, err
	}
	return record.ParseFileHeader(head[:n])
}

// ReadInfo reads a demo's header, and the summary that was written at the end of the recording if the header has its offset.
// It takes a few reads, however large the demo is. hasInfo reports whether the demo has the summary. A demo that is growing
// or that was cut has none.
func ReadInfo(at io.ReaderAt) (header FileHeader, info FileInfo, lastTick int32, hasInfo bool, err error) {
	h, err := readFileHeader(at)
	if err != nil {
		return header, info, -1, false, err
	}
	f, payload, err := readRecord(at, h.Size)
	if err != nil {
		return header, info, -1, false, err
	}
	if f.Command != record.CmdFileHeader || !parseHeaderMessage(&header, payload, nil) {
		return header, info, -1, false, decoders.Errorf(decoders.Dem, h.Size, decoders.NoTick, "file header", decoders.ErrCorrupt, "it is not the first record")
	}
	if h.FileInfo < h.Size {
		return header, info, -1, false, nil
	}
	// The offset is only a hint: any bytes may be there.
	f, payload, absent := readRecord(at, h.FileInfo)
	hasInfo = absent == nil && f.Command == record.CmdFileInfo && parseFileInfo(&info, payload, nil)
	if !hasInfo {
		return header, FileInfo{}, -1, false, nil
	}
	return header, info, f.Tick, true, nil
}

// maxInfo bounds the records that ReadInfo reads.
const maxInfo = 1 << 20

// readRecord reads the record at an offset, decompressed.
func readRecord(at io.ReaderAt, offset int64) (record.Head, []byte, error) {
	fail := func(kind error, detail string) (record.Head, []byte, error) {
		return record.Head{}, nil, decoders.Errorf(decoders.Dem, offset, decoders.NoTick, "record", kind, "%s", detail)
	}
	buf := make([]byte, 4096)
	n, err := at.ReadAt(buf, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return record.Head{}, nil, err
	}
	buf = buf[:n]
	f, head, size, what := record.ParseHead(buf)
	switch {
	case what != "":
		return fail(decoders.ErrCorrupt, what)
	case head == 0:
		return fail(decoders.ErrTruncated, "its head is not all there")
	case size > maxInfo:
		return fail(decoders.ErrLimit, "too large")
	}
	if head+size > len(buf) {
		// Read only the bytes that exist, so that a declared size alone allocates nothing.
		rest, err := io.ReadAll(io.NewSectionReader(at, offset+int64(len(buf)), int64(head+size-len(buf))))
		if err != nil {
			return record.Head{}, nil, err
		}
		if buf = append(buf, rest...); head+size > len(buf) {
			return fail(decoders.ErrTruncated, "it is not all there")
		}
	}
	payload := buf[head : head+size]
	if payload, err = unpacked(f, payload); err != nil {
		return fail(decoders.ErrCorrupt, err.Error())
	}
	return f, payload, nil
}

// unpacked returns the contents of a record.
func unpacked(f record.Head, payload []byte) ([]byte, error) {
	if !f.Compressed {
		return payload, nil
	}
	return unpack.Snappy(nil, payload, 4*maxInfo)
}
