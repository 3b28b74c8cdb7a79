package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/replayd/replayd/decoders"
)

// Info is what is known of a replay's file.
type Info struct {
	// Name is the name by which the file was opened.
	Name string
	// Format is decoders.Unknown while the file is too short to recognize, and for what is no replay.
	Format      decoders.Format
	Compression Compression
	// Size is how many bytes there are on disk; of an upload -1.
	Size int64
	// Modified is when the file was last written to; the zero time for an upload.
	Modified time.Time
	// ID identifies the file. It is zero for an upload.
	ID ID
	// Version is equal for as long as nothing was written to the file. It is zero for an upload.
	Version Version
}

// Version changes whenever the contents of a file do.
type Version struct {
	Size, Modified, Changed int64
}

// versionOf returns the version of a file with that state.
func versionOf(stat fs.FileInfo) Version {
	return Version{stat.Size(), stat.ModTime().UnixNano(), changed(stat)}
}

// Growable reports whether the file can be followed while it grows: compressed files are only looked at as they are.
func (i *Info) Growable() bool { return i.Compression == Plain && i.Size >= 0 }

// ID identifies a file for as long as it exists, whatever its name: device and inode. Numbers are used again after a file is
// removed.
type ID struct {
	Device uint64
	Inode  uint64
}

// Handle is what a File asks of an open file. An *os.File is one.
type Handle interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// Origin says where a Handle came from.
type Origin struct {
	// Name is by what the file was opened; it is used in Info only.
	Name string
	// Path is the file's path in the file system: what to subscribe to with a watch.Watcher.
	Path string
	// Stat looks again what lies where the file was found, for File.Check. Nil means that Check will not be called.
	Stat func() (fs.FileInfo, error)
}

// headLen is how much of a plain file's beginning is compared in Check. A teehistorian file's begins with 16 bytes that
// are always the same, an UUID that is always the same, and a header that holds the UUID of the game.
const headLen = 512

// File is an open replay. It may be used by several goroutines at once.
type File struct {
	limits Limits
	origin Origin
	handle Handle // nil for an upload
	front  io.Reader

	// readable is up to where the file is read: what lies behind the size that was seen when the file was last found to be
	// the one that was opened may be of another one, written over it since.
	readable atomic.Int64

	spooling sync.Mutex // held while spooling, which takes long

	mu     sync.Mutex // guards what follows
	info   Info
	stat   fs.FileInfo
	head   []byte   // a plain file's first bytes, up to headLen
	shrunk error    // what Check found, once that was an ErrShrunk: what is written anew does not undo it
	spool  *os.File // what a compressed file or an upload was unpacked into
	length int64    // of spool
	taken  bool     // front was given away
	closed bool
	upload io.Closer // what front reads from, where it is ours to close
	ahead  *Ahead    // what front is, where that was asked for
}

// New makes a File of an open handle, which it owns from then on and closes also when it returns an error: ErrDirectory
// or ErrIrregular for what is no regular file, ErrIO, or a *decoders.Error for a compressed file whose beginning cannot
// be unpacked. That the format is Unknown is no error: see File.Recognized.
func New(h Handle, origin Origin, limits Limits) (*File, error) {
	f := &File{limits: limits.withDefaults(), origin: origin, handle: h, info: Info{Name: origin.Name}}
	if err := f.look(); err != nil {
		_ = h.Close()
		return nil, err
	}
	return f, nil
}

// look finds out what the file is.
func (f *File) look() error {
	stat, err := f.handle.Stat()
	if err != nil {
		return ioError(err)
	}
	switch {
	case stat.IsDir():
		return ErrDirectory
	case !stat.Mode().IsRegular():
		return ErrIrregular
	}
	f.saw(stat)
	f.Admit(stat.Size())
	return f.sniff()
}

// Admit lets the file be read up to that size, or further where it was already. Check does so too; Admit is for callers that
// learn the size from the Check of another File of the same file.
func (f *File) Admit(size int64) {
	for {
		old := f.readable.Load()
		if size <= old || f.readable.CompareAndSwap(old, size) {
			return
		}
	}
}

// saw takes note of what the operating system says of the file.
func (f *File) saw(stat fs.FileInfo) {
	f.stat = stat
	f.info.Size = stat.Size()
	f.info.Modified = stat.ModTime()
	f.info.ID = Identify(stat)
	f.info.Version = versionOf(stat)
}

// sniff looks at the file's beginning: its compression, its format, and for plain files the head to compare later.
func (f *File) sniff() error {
	head := make([]byte, headLen)
	n, err := readFull(f.handle, head)
	if err != nil {
		return ioError(err)
	}
	head = head[:n]
	f.info.Compression = sniffCompression(head)
	if f.info.Compression == Plain {
		f.head = head
		f.info.Format = decoders.Sniff(head)
		return nil
	}
	f.head = nil
	f.info.Format, err = sniffInflated(f.inflate())
	return err
}

// sniffInflated recognises the format of a decompressed stream.
func sniffInflated(r io.Reader) (decoders.Format, error) {
	var head [decoders.SniffLen]byte
	n, err := io.ReadFull(r, head[:])
	format := decoders.Sniff(head[:n])
	if format != decoders.Unknown || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		// An error behind the first bytes is for those who read that far.
		return format, nil
	}
	return format, err
}

// inflate returns a new reader of the decompressed file.
func (f *File) inflate() *inflater {
	return newInflater(io.NewSectionReader(plain{f}, 0, 1<<62), f.info.Compression, f.info.Format, f.limits)
}

// Info is what is known of the file: from when it was opened, and as far as it may change, from the last Check.
func (f *File) Info() Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info
}

// Path is where the file lies in the file system: what to subscribe to. It is empty for an upload. It is not for clients
// to see.
func (f *File) Path() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.origin.Path
}

// Recognized returns nil when the format is known and a *decoders.Error that says so when it is not.
func (f *File) Recognized() error {
	info := f.Info()
	switch {
	case info.Format != decoders.Unknown:
		return nil
	case info.Size == 0:
		return decoders.Errorf(decoders.Unknown, 0, decoders.NoTick, "file", decoders.ErrTruncated, "it is empty")
	case info.Compression != Plain:
		return decoders.Errorf(decoders.Unknown, 0, decoders.NoTick, "file", decoders.ErrUnsupported,
			"unrecognized format in the %v stream", info.Compression)
	}
	return decoders.Errorf(decoders.Unknown, 0, decoders.NoTick, "file", decoders.ErrUnsupported,
		"unrecognized format")
}

// Input returns the replay's bytes, for one reader: those that were there when the file was opened, and those that Check has
// found since. A file may have any number of readers at once, each with an Input of its own. An upload that is not spooled
// has only one: reading a later Input returns an error. Inputs fail once the file is closed.
func (f *File) Input() Input {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.spool != nil:
		return Input{At: f.spool, Size: f.length}
	case f.handle == nil && f.taken:
		return Input{Front: errReader{errTaken}, Size: -1}
	case f.handle == nil:
		f.taken = true
		return Input{Front: f.front, Size: -1}
	case f.info.Compression == Plain:
		return Input{At: plain{f}, Size: f.info.Size}
	}
	return Input{Front: f.inflate(), Size: -1}
}

// errReader fails.
type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// plain reads a file as it lies there, as far as it may be read.
type plain struct{ f *File }

func (p plain) ReadAt(b []byte, offset int64) (int, error) {
	left := p.f.readable.Load() - offset
	if left <= 0 {
		return 0, io.EOF
	}
	whole := int64(len(b)) <= left
	n, err := p.f.handle.ReadAt(b[:min(int64(len(b)), left)], offset)
	switch {
	case err == nil && !whole:
		return n, io.EOF
	case err != nil && !errors.Is(err, io.EOF):
		return n, ioError(err)
	}
	return n, err
}

// Move says that the file lies elsewhere now, so that Check looks for it there.
func (f *File) Move(to Origin) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.origin, f.info.Name = to, to.Name
}

// Check looks whether the file is still the one that was opened and updates what Info says of it. It returns ErrShrunk
// (ErrOverwritten is one), ErrReplaced, ErrRemoved or ErrIO; after all but the last there is nothing more to expect of the
// file, and an ErrShrunk is returned for ever. While the format is unknown it is looked for again: a file that was opened
// as soon as it was created is empty.
//
// Who reads a file to its end must read on once more after ErrRemoved and ErrReplaced, up to the size that Info returns then,
// for the writer may have written before the file went.
func (f *File) Check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.handle == nil:
		return nil
	case f.shrunk != nil:
		return f.shrunk
	}
	stat, err := f.handle.Stat()
	if err != nil {
		return ioError(err)
	}
	if err := f.grown(stat); err != nil {
		if errors.Is(err, ErrShrunk) {
			f.shrunk = err
		}
		return err
	}
	f.Admit(f.info.Size)
	if f.origin.Stat == nil {
		return nil
	}
	switch there, err := f.origin.Stat(); {
	case errors.Is(err, fs.ErrNotExist):
		return ErrRemoved
	case err != nil:
		return ioError(err)
	case !os.SameFile(stat, there):
		return ErrReplaced
	}
	return nil
}

// grown looks whether all that a file can have done is to grow.
func (f *File) grown(stat fs.FileInfo) error {
	if stat.Size() < f.info.Size {
		return fmt.Errorf("%w: from %d to %d bytes", ErrShrunk, f.info.Size, stat.Size())
	}
	if stat.Size() == f.info.Size && stat.ModTime().Equal(f.info.Modified) {
		return nil
	}
	f.saw(stat)
	return f.compare()
}

// compare looks whether the file still begins as it did.
func (f *File) compare() error {
	if f.info.Compression == Plain && len(f.head) > 0 {
		now := make([]byte, len(f.head))
		n, err := readFull(f.handle, now)
		if err != nil {
			return ioError(err)
		}
		if n < len(now) {
			return ErrShrunk
		}
		if !bytes.Equal(now, f.head) {
			return ErrOverwritten
		}
	}
	if f.info.Format == decoders.Unknown || len(f.head) < headLen {
		return f.sniff()
	}
	return nil
}

// readFull reads a file's beginning; fewer bytes than asked are fine.
func readFull(r io.ReaderAt, p []byte) (int, error) {
	n, err := io.ReadFull(io.NewSectionReader(r, 0, int64(len(p))), p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// Spool sees to it that Input can be read anywhere: a compressed file, or an upload, is unpacked into a temporary file
// that has no name and so is gone when the daemon is. It does nothing for a file that can be read anywhere already. It
// returns the *decoders.Error of a broken stream, decoders.ErrLimit beyond Limits.Spooled, ErrIO, or ctx's error, and
// spools nothing then.
func (f *File) Spool(ctx context.Context) error {
	f.spooling.Lock()
	defer f.spooling.Unlock()
	from, needed, err := f.unspooled()
	if !needed || err != nil {
		return err
	}
	spool, length, err := spool(ctx, from, f.Info().Format, f.limits)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errors.Join(fs.ErrClosed, spool.Close())
	}
	f.spool, f.length = spool, length
	return nil
}

// unspooled returns what is to be spooled, and whether anything is.
func (f *File) unspooled() (from io.Reader, needed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.spool != nil:
		return nil, false, nil
	case f.handle == nil && f.taken:
		return nil, false, errTaken
	case f.handle == nil:
		f.taken = true
		return f.front, true, nil
	case f.info.Compression == Plain:
		return nil, false, nil
	}
	return f.inflate(), true, nil
}

var errTaken = errors.New("an upload can be read only once")

// Close closes the file. Inputs that are still being read fail from then on.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	var errs []error
	if f.spool != nil {
		errs = append(errs, f.spool.Close())
	}
	if f.handle != nil {
		errs = append(errs, f.handle.Close())
	}
	if f.upload != nil {
		errs = append(errs, f.upload.Close())
	}
	if f.ahead != nil {
		f.ahead.close()
	}
	f.limits.account.close()
	return errors.Join(errs...)
}
