package dem

import (
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/internal/record"
	"github.com/replayd/replayd/decoders/dem/internal/unpack"
)

// Index holds the positions at which decoding of a demo can start.
type Index struct {
	// KeyFrames are the records from which the whole state can be read, in order.
	KeyFrames []KeyFramePosition
	// Records is the number of whole records.
	Records int
	// LastTick is the highest tick of a record, or -1 when there is none.
	LastTick int32
	// End is where the last whole record ends, in bytes.
	End int64
	// Finished reports whether the recording is complete: it has the record that marks its end.
	Finished bool
}

// KeyFramePosition is the position of a key frame.
type KeyFramePosition struct {
	// Offset is where its record starts, in bytes.
	Offset int64
	// Tick is the tick of the record.
	Tick int32
}

// ReadIndex reads the heads of all records of a demo, without decoding their contents. A growing demo may end inside a
// record. That is not an error: the index ends before that record.
func ReadIndex(at io.ReaderAt) (Index, error) {
	x := Index{LastTick: -1}
	header, err := readFileHeader(at)
	if err != nil {
		return x, err
	}
	x.End = header.Size
	err = walkFrames(at, header.Size, func(f record.Head) bool {
		x.Records++
		x.LastTick = max(x.LastTick, f.Tick)
		switch f.Command {
		case record.CmdFullPacket:
			x.KeyFrames = append(x.KeyFrames, KeyFramePosition{f.Offset, f.Tick})
		case record.CmdStop:
			x.Finished = true
		}
		x.End = f.Next
		return true
	})
	if errors.Is(err, decoders.ErrMore) {
		err = nil
	}
	return x, err
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

// walkFrames calls f with the head of each whole record, from the first one on, until f returns false or the bytes end. It
// does not decode the contents of the records.
func walkFrames(at io.ReaderAt, start int64, f func(record.Head) bool) error {
	win := decoders.NewWindow(&readerAt{at, start}, start, 1<<20)
	var part record.SignOn
	for {
		fr, n, size, what := record.ParseHead(win.Bytes())
		if what != "" || size > record.MaxSize {
			return decoders.Errorf(decoders.Dem, win.Offset(), decoders.NoTick, "record", decoders.ErrCorrupt, "no head of one")
		}
		if n == 0 {
			if err := win.Fill(); err != nil {
				return err
			}
			continue
		}
		fr.Offset = win.Offset()
		fr.Next = fr.Offset + int64(n+size)
		part.Place(&fr)
		if _, err := win.Skip(int64(n + size)); err != nil {
			return err
		}
		if !f(fr) {
			return nil
		}
	}
}

// readerAt reads on from an offset.
type readerAt struct {
	at     io.ReaderAt
	offset int64
}

func (r *readerAt) Read(p []byte) (int, error) {
	n, err := r.at.ReadAt(p, r.offset)
	r.offset += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
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
	if f.Compressed {
		if payload, err = unpack.Snappy(nil, payload, 4*maxInfo); err != nil {
			return fail(decoders.ErrCorrupt, err.Error())
		}
	}
	return f, payload, nil
}
