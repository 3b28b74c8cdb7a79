package mirror

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/replay/source"
)

// permanent reports whether an error of the file system is due to the name alone.
func permanent(err error) bool {
	for _, e := range []error{
		syscall.ENOTDIR, syscall.EISDIR, syscall.EEXIST, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ELOOP, syscall.EILSEQ, syscall.ENOTEMPTY,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// errOther means that a file turned out to be another one. It is read from the stream from its beginning.
var errOther = errors.New("it is another file than the one that the stream had before it was made anew")

// ignoredError says why a message is ignored.
type ignoredError struct{ why string }

func (e *ignoredError) Error() string { return e.why }

// apply applies a message with bytes to its file. The Mirror must be locked.
func (m *Mirror) apply(name string, l *lane, msg *shipment.Message) error {
	if msg.Kind != shipment.Bytes {
		return &ignoredError{"it has no bytes"}
	}
	f := m.known[name]
	if f != nil && f.generation != msg.Generation && msg.Offset == 0 && !f.since.Equal(m.since) {
		// The stream was made anew, and all that a restarted shipper knows of its file is that it is the first of the stream.
		if same, err := m.has(name, msg.Data); err != nil {
			return err
		} else if same {
			f.generation, f.adopted = msg.Generation, true
		}
	}
	switch {
	case f != nil && f.generation == msg.Generation:
		return m.extend(name, l, f, msg)
	case msg.Offset != 0:
		return &ignoredError{"it is not the first of its file"}
	}
	return m.create(name, l, msg)
}

// has reports whether a file begins with data, or is shorter and is the beginning of data.
func (m *Mirror) has(name string, data []byte) (bool, error) {
	h, err := m.root.Open(name)
	if err != nil {
		return false, err
	}
	defer h.Close() //nolint:errcheck // nothing was written
	b := make([]byte, len(data))
	n, err := h.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return bytes.Equal(b[:n], data[:n]), err
}

// create makes a file, or replaces one.
func (m *Mirror) create(name string, l *lane, msg *shipment.Message) error {
	old, more := m.known[name], 1
	if old != nil {
		more = 0
	}
	if err := m.room(l, int64(len(msg.Data)), more); err != nil {
		return err
	}
	if err := m.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	// Under a hidden name first, so that nobody sees a part of the message, or a new file without its time.
	m.drafts++
	draft := fmt.Sprintf("%s/.draft-%d", path.Dir(name), m.drafts)
	err := m.root.WriteFile(draft, msg.Data, 0o600)
	if err == nil {
		err = m.root.Chtimes(draft, time.Time{}, modified(msg))
	}
	if err == nil {
		err = m.root.Rename(draft, name)
	}
	if err != nil {
		_ = m.root.Remove(draft)
		return err
	}
	stat, err := m.root.Stat(name)
	if err != nil {
		return err
	}
	f := &file{generation: msg.Generation, since: m.since, sum: sha256.New(), inode: source.Identify(stat), modified: stat.ModTime()}
	f.add(m, l, msg.Data)
	if old != nil {
		m.forget(name, l, old)
	}
	m.known[name] = f
	l.files++
	return nil
}

// add counts bytes that were appended to a file.
func (f *file) add(m *Mirror, l *lane, data []byte) {
	_, _ = f.sum.Write(data)
	n := int64(len(data))
	f.length += n
	l.bytes += n
	m.bytes += n
}

// forget removes a file from the known files and from the counts.
func (m *Mirror) forget(name string, l *lane, f *file) {
	m.bytes -= f.length
	l.bytes -= f.length
	l.files--
	delete(m.known, name)
}

// modified returns the time of a file's last write.
func modified(msg *shipment.Message) time.Time {
	if now := time.Now(); msg.Modified.After(now) {
		return now
	}
	return msg.Modified
}

// extend appends the bytes of a message that a file lacks.
func (m *Mirror) extend(name string, l *lane, f *file, msg *shipment.Message) error {
	f.since = m.since
	if msg.Offset > f.length {
		if !f.torn {
			f.torn = true
			m.o.Log.Error("bytes of a file are missing in the stream; it does not grow any more", "stream", m.o.Name, "file", name, "offset", f.length)
		}
		return &ignoredError{"bytes before it are missing"}
	}
	n := msg.End() - f.length
	if err := m.room(l, max(n, 0), 0); err != nil {
		return err
	}
	h, err := m.root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer h.Close()                                            //nolint:errcheck // readers check the length
	if had := min(f.length, msg.End()) - msg.Offset; had > 0 { // the file had a part of the message before
		b := make([]byte, had)
		if _, err := h.ReadAt(b, msg.Offset); err != nil {
			return err
		}
		if !bytes.Equal(b, msg.Data[:had]) {
			if f.adopted { // it is another file with the same beginning
				return errors.Join(errOther, m.remove(name, f))
			}
			return &ignoredError{"the file has other bytes there"}
		}
	}
	if n <= 0 {
		return nil
	}
	rest := msg.Data[f.length-msg.Offset:]
	if _, err := h.WriteAt(rest, f.length); err != nil {
		return err
	}
	f.add(m, l, rest)
	if f.unlisted = 0; f.length > f.whole {
		f.archived = time.Time{}
	}
	f.modified = modified(msg)
	return m.root.Chtimes(name, time.Time{}, f.modified)
}

// remove removes a file.
func (m *Mirror) remove(name string, f *file) error {
	if err := m.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	src, _, _ := strings.Cut(name, "/")
	m.forget(name, m.lane(src), f)
	// A directory of the archive stays, because it is watched.
	for dir := path.Dir(name); dir != "." && m.objects[dir] == nil && m.root.Remove(dir) == nil; {
		dir = path.Dir(dir)
	}
	return nil
}

// poke wakes retire.
func (m *Mirror) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
