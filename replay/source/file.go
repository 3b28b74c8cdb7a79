package source

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/replayd/replayd/decoders"
)

// Info describes a replay's file.
type Info struct {
	// Name is the name by which the file was opened.
	Name string
	// Format is decoders.Unknown if the file is not a replay, or too short to be recognized yet.
	Format      decoders.Format
	Compression Compression
	// Fixed is true if the file never changes, because it is an Object.
	Fixed bool
	// Size is the size on disk, in bytes; -1 for an upload.
	Size int64
	// Modified is when the file was last written to; the zero time for an upload.
	Modified time.Time
	// ID identifies the file. It is zero for an upload.
	ID ID
}

// Version identifies the contents of a file: two Versions of a file are equal if nothing was written in between.
type Version struct {
	Size, Modified, Changed int64
}

// versionOf returns the version of a file from its attributes.
func versionOf(stat fs.FileInfo) Version {
	return Version{stat.Size(), stat.ModTime().UnixNano(), changed(stat)}
}

// Growable reports whether the file can be followed while it grows. Compressed files, uploads and objects cannot.
func (i *Info) Growable() bool { return i.Compression == Plain && i.Size >= 0 && !i.Fixed }

// ID identifies an existing file independently of its name: device and inode. After a file is removed, another file may get
// its ID. The ID of an Object is a hash of its place and its contents' tag, in both fields.
type ID struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// Handle is an open file. An *os.File is one.
type Handle interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// Origin is where a Handle came from.
type Origin struct {
	// Name is the name by which the file was opened; it is used in Info only.
	Name string
	// Path is the file's path in the file system, for a subscription of a watch.Watcher.
	Path string
	// Stat returns the attributes of the file that has the name now. Nil if Check will not be called.
	Stat func() (fs.FileInfo, error)
}

// headLen is the number of bytes at the beginning of a plain file that Check compares. In a teehistorian file they include the
// game's UUID, which follows the 16 bytes that begin every file.
const headLen = 512

// File is an open replay. It is safe for concurrent use.
type File struct {
	limits Limits
	origin Origin
	handle Handle // nil for an upload
	front  io.Reader

	// readable is how many bytes of the file may be read: the size when Check last found the file unchanged. Later bytes may
	// belong to another replay that has overwritten the file since.
	readable atomic.Int64

	spooling sync.Mutex // held while spooling, which takes long

	mu      sync.Mutex // guards the fields below
	info    Info
	version Version
	stat    fs.FileInfo
	head    int      // how many of a plain file's first bytes are compared, up to headLen
	sum     uint64   // of these bytes, without what the end of the recording changes
	shrunk  error    // the first ErrShrunk of Check, which stays even if the file grows again
	spool   *os.File // the unpacked contents of a compressed file or an upload
	length  int64    // the length of spool
	taken   bool     // an Input uses front
	closed  bool
	upload  io.Closer // the reader behind front, if the File must close it
	ahead   *Ahead    // front, after ReadAhead
}

// New returns a File of an open handle. It takes ownership of the handle, and closes it also if it returns an error. Errors are
// ErrDirectory, ErrIrregular (not a regular file), ErrIO, or a *decoders.Error if the beginning of a compressed file cannot be
// unpacked. An unknown format is not an error: see File.Recognized.
func New(h Handle, origin Origin, limits Limits) (*File, error) {
	f := &File{limits: limits.withDefaults(), origin: origin, handle: h, info: Info{Name: origin.Name}}
	if err := f.look(); err != nil {
		_ = h.Close()
		return nil, err
	}
	return f, nil
}

// look reads the file's attributes and recognizes its compression and format.
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

// Admit allows the file to be read up to that size. It never lowers the limit. Check does the same; Admit is for callers that
// know the size from the Check of another File of the same file.
func (f *File) Admit(size int64) {
	for {
		old := f.readable.Load()
		if size <= old || f.readable.CompareAndSwap(old, size) {
			return
		}
	}
}

// saw stores the file's attributes.
func (f *File) saw(stat fs.FileInfo) {
	f.stat = stat
	f.info.Size = stat.Size()
	f.info.Modified = stat.ModTime()
	f.info.ID, f.info.Fixed = Identify(stat), IsObject(stat)
	f.version = versionOf(stat)
}

// heads is memory for the first bytes of files, of which a File keeps the sum alone: there may be thousands.
var (
	heads = sync.Pool{New: func() any { return new([headLen]byte) }}
	seed  = maphash.MakeSeed()
)

// sniff recognizes compression and format by the file's first bytes, and keeps the sum of a plain file's first bytes for compare.
func (f *File) sniff() error {
	room := heads.Get().(*[headLen]byte)
	defer heads.Put(room)
	n, err := readFull(f.handle, room[:])
	if err != nil {
		return f.readError(err)
	}
	head := room[:n]
	f.info.Compression = sniffCompression(head)
	if f.info.Compression == Plain {
		f.info.Format = decoders.Sniff(head)
		f.info.Format.Blank(head)
		f.head, f.sum = n, maphash.Bytes(seed, head)
		return nil
	}
	f.info.Format, err = sniffInflated(f.inflate())
	return err
}

// sniffInflated recognizes the format of a decompressed stream.
func sniffInflated(r io.Reader) (decoders.Format, error) {
	var head [decoders.SniffLen]byte
	n, err := io.ReadFull(r, head[:])
	format := decoders.Sniff(head[:n])
	if format != decoders.Unknown || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		// A reader that gets to an error after the first bytes receives it there.
		return format, nil
	}
	return format, err
}

// inflate returns a new reader of the decompressed file.
func (f *File) inflate() *inflater {
	return newInflater(io.NewSectionReader(plain{f}, 0, 1<<62), f.info.Compression, f.info.Format, f.limits)
}

// Info returns the description of the file. Fields that may change are as of the last Check.
func (f *File) Info() Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info
}

// Version returns what changes whenever the file is written to, as of the last Check. It is zero for an upload.
func (f *File) Version() Version {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

// Path returns the file's path in the file system, to subscribe to. It is empty for an upload. Clients must not see it.
func (f *File) Path() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.origin.Path
}

// Recognized returns nil if the format is known, and a *decoders.Error otherwise.
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

// Input returns the replay's bytes for one reader: the bytes that existed when the file was opened, and those that Check has
// found since. A file may have any number of readers at once, each with its own Input. An upload that is not spooled has only
// one: reading from a second Input returns an error. Inputs fail once the file is closed.
func (f *File) Input() Input {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.spool != nil:
		return Input{At: f.spool, Size: f.length, Take: f.limits.account.takeMemory}
	case f.handle == nil && f.taken:
		return Input{Front: errReader{errTaken}, Size: -1}
	case f.handle == nil:
		f.taken = true
		return Input{Front: f.front, Size: -1}
	case f.info.Compression == Plain:
		return Input{At: plain{f}, Size: f.info.Size, Take: f.limits.account.takeMemory}
	}
	return Input{Front: f.inflate(), Size: -1}
}

// errReader is an io.Reader that fails.
type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// plain is an io.ReaderAt of a plain file up to File.readable.
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
		return n, p.f.readError(err)
	}
	return n, err
}

// readError converts an error of the handle. A Waiter's errors are typed, and say nothing that clients must not see.
func (f *File) readError(err error) error {
	if _, ok := f.handle.(Waiter); ok {
		return err
	}
	return ioError(err)
}

// Move sets another origin: the file was moved, and Check must look for it there.
func (f *File) Move(to Origin) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.origin, f.info.Name = to, to.Name
}

// Check finds out whether the file is still the one that was opened, and updates Info. It returns ErrShrunk (an ErrOverwritten is
// one), ErrReplaced, ErrRemoved or ErrIO. After all but ErrIO the file will not grow any more; an ErrShrunk is returned by
// all later calls. While the format is unknown, Check tries to recognize it: a file opened just after its creation is empty.
//
// After ErrRemoved and ErrReplaced the caller must read once more, up to the size in Info: the writer may have appended to the
// file before that.
func (f *File) Check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.handle == nil:
		return nil
	case f.shrunk != nil:
		return f.shrunk
	}
	stat, left := f.there()
	if stat == nil {
		var err error
		if stat, err = f.handle.Stat(); err != nil {
			return ioError(err)
		}
	}
	if err := f.grown(stat); err != nil {
		if errors.Is(err, ErrShrunk) {
			f.shrunk = err
		}
		return err
	}
	f.Admit(f.info.Size)
	return left
}

// there returns the attributes of the file at the origin, or an error if it is not this one. Both are nil without an origin.
func (f *File) there() (fs.FileInfo, error) {
	if f.origin.Stat == nil {
		return nil, nil //nolint:nilnil // as documented
	}
	there, err := f.origin.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrRemoved
	case err != nil:
		return nil, ioError(err)
	case !os.SameFile(f.stat, there): // no other file has the ID of one that is open
		return nil, ErrReplaced
	}
	return there, nil
}

// grown returns an error unless the file can only have grown.
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

// compare returns an error if the file's first bytes have changed, other than by the end of the recording.
func (f *File) compare() error {
	if f.info.Compression == Plain && f.head > 0 {
		room := heads.Get().(*[headLen]byte)
		defer heads.Put(room)
		now := room[:f.head]
		n, err := readFull(f.handle, now)
		if err != nil {
			return ioError(err)
		}
		if n < len(now) {
			return ErrShrunk
		}
		if f.info.Format.Blank(now); maphash.Bytes(seed, now) != f.sum {
			return ErrOverwritten
		}
	}
	if f.info.Format == decoders.Unknown || f.head < headLen {
		return f.sniff()
	}
	return nil
}

// readFull reads the beginning of a file into p. It is no error if the file is shorter.
func readFull(r io.ReaderAt, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = r.ReadAt(p[n:], int64(n))
		n += more
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Spool makes later Inputs support At: it unpacks a compressed file or an upload into a temporary file without a name, which
// disappears with the process. It does nothing for a plain file. It returns the *decoders.Error of a damaged stream,
// decoders.ErrLimit beyond Limits.Spooled, ErrIO, or ctx's error; the file is then as before.
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

// unspooled returns the bytes to spool. needed is false if the file needs no spool.
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

// Detach ends the reading of an upload that was spooled, and frees the memory of unpacking it. The File then no longer depends
// on the sender.
func (f *File) Detach() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.spool == nil {
		return
	}
	f.front = nil
	if f.upload != nil {
		_ = f.upload.Close() // its bytes have all been read
		f.upload = nil
	}
	f.limits.account.returnMemory()
}

// Unpacked returns another File of the bytes that Spool has unpacked, which is a plain file with a name of its own. It must be
// closed before f is. It calls closed when it is closed, and also before Unpacked returns an error.
func (f *File) Unpacked(name string, closed func()) (*File, error) {
	f.mu.Lock()
	spool, limits := f.spool, f.limits
	f.mu.Unlock()
	if spool == nil {
		closed()
		return nil, errNotSpooled
	}
	limits.account, limits.Budget = nil, nil // f has paid for the memory
	return New(borrowed{spool, closed}, Origin{Name: name}, limits)
}

var errNotSpooled = errors.New("the file is not spooled")

// borrowed is the handle of a file that belongs to another File.
type borrowed struct {
	*os.File

	closed func()
}

// Close implements io.Closer.
func (b borrowed) Close() error {
	b.closed()
	return nil
}

// Close closes the file. Its Inputs fail from then on.
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
