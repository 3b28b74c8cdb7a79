package playcast

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/broadcast"
	"github.com/replayd/replayd/internal/hostos"
	"github.com/replayd/replayd/service/catalog"
)

const (
	stateName = ".playcast.json"
	lockName  = ".playcast.lock"
	extension = ".dem"
	nameForm  = "2006-01-02T15-04-05Z"
)

// state is where a Match is. It is stored before the bytes of a body are written, so that they can be made again.
type state struct {
	Of     string         `json:"of"`    // the URL, or the name of the server that pushes
	Token  string         `json:"token"` // place.TokenRedirect
	Signup int            `json:"signup_fragment"`
	File   string         `json:"file"`     // the file's name
	Next   int            `json:"fragment"` // the fragment of the next body, which is Demo.Next of it
	Demo   broadcast.Demo `json:"demo"`     // the file before the next body
	Over   bool           `json:"over"`     // nothing follows the file
	// Interval is how long a fragment takes.
	Interval time.Duration `json:"interval"`
	// Identity is that of the file, as replays of the daemon have it, and Previous that of the file before it, if this one follows it.
	Identity string `json:"identity"`
	Previous string `json:"previous,omitempty"`

	last string // the name of the file before this one
}

// behind returns the state in which the file's successor begins.
func (s *state) behind() state {
	if s.File == "" {
		return state{Previous: s.Previous, last: s.last}
	}
	return state{Previous: s.Identity, last: s.File}
}

// identityOf returns the identity of a demo, from its sign-on part.
func identityOf(start io.Reader) (string, error) {
	_, sum, err := dem.New(start, dem.Options{}).Header()
	return "dem:sha256:" + hex.EncodeToString(sum[:]), err
}

// dir is the directory of a Match.
type dir struct {
	path string
	lock io.Closer
}

// errTaken means that another process writes the files of a directory.
var errTaken = errors.New("another process follows a broadcast into this directory")

// openDir makes the directory, and takes its lock.
func openDir(path string) (*dir, error) {
	if err := os.MkdirAll(path, 0o755); err != nil { //nolint:gosec // a root's directory: who serves it may be another user
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := hostos.Lock(f); err != nil {
		_ = f.Close()
		if errors.Is(err, hostos.ErrLocked) {
			err = errTaken
		}
		return nil, err
	}
	return &dir{path: path, lock: f}, nil
}

// load returns the stored state of a file, and none if there is none that can be read.
func (d *dir) load() (s state, ok bool) {
	s, ok = d.read()
	if !ok || filepath.Base(s.File) != s.File || filepath.Ext(s.File) != extension {
		return state{}, false
	}
	return s, true
}

// read returns the stored state, of a file or of a broadcast that has none yet.
func (d *dir) read() (s state, ok bool) {
	text, err := os.ReadFile(filepath.Join(d.path, stateName))
	return s, err == nil && json.Unmarshal(text, &s) == nil
}

// store stores a state, all of it or nothing.
func (d *dir) store(s *state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	path := filepath.Join(d.path, stateName)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// remove removes the directory, unless there is anything else in it.
func (d *dir) remove() {
	for _, name := range []string{stateName, lockName, catalog.OverName(""), ""} {
		_ = os.Remove(filepath.Join(d.path, name))
	}
}

// free returns a label and a name for the file behind last that no file has, nor had: one that was removed must not come again, because
// its readers would take the one for the other.
func (d *dir) free(now time.Time, last string) (label, name string, err error) {
	form := now.UTC().Format(nameForm)
	n := 1
	if same, ok := strings.CutPrefix(strings.TrimSuffix(last, extension), form); ok {
		before, _ := strconv.Atoi(strings.TrimPrefix(same, "-"))
		n = max(before, 1) + 1
	}
	for ; ; n++ {
		name = form
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		if _, err := os.Lstat(filepath.Join(d.path, name+extension)); errors.Is(err, fs.ErrNotExist) {
			return filepath.Base(d.path) + " " + name, name + extension, nil
		} else if err != nil {
			return "", "", err
		}
	}
}

// note writes a line into a file beside others, or removes the file where there is nothing to say.
func (d *dir) note(name, line string) error {
	path := filepath.Join(d.path, name)
	if line != "" {
		return os.WriteFile(path, []byte(line+"\n"), 0o644) //nolint:gosec // as a match's file
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeNotes removes what is noted beside a file.
func removeNotes(path string) {
	dir, file := filepath.Split(path)
	_ = os.Remove(dir + catalog.PreviousName(file))
	_ = os.Remove(dir + catalog.OverName(file))
}

// precede notes beside a file that is about to begin which one came before it, if any did.
func (d *dir) precede(s *state) error { return d.note(catalog.PreviousName(s.File), s.Previous) }

// leave notes why nothing more is written to a file; and, where there is none, why there is none. It returns errGone if nobody can read
// that any more.
func (d *dir) leave(file, why string) error {
	err := d.note(catalog.OverName(file), catalog.Sentence(why))
	if err == nil && file != "" {
		err = touch(filepath.Join(d.path, file))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	return err
}

// touch writes the byte with which a demo begins, so that those who watch the file look at it, and at what stands beside it.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	var b [1]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		return err
	}
	_, err = f.WriteAt(b[:], 0)
	return err
}

// rejoin removes what leave has noted.
func (d *dir) rejoin(file string) error { return d.note(catalog.OverName(file), "") }

// errGone means that the file that is written has gone: what follows belongs to the next one.
var errGone = errors.New("somebody has removed the file")

// open opens the file of a state. It makes one only where nothing was written.
func (d *dir) open(s *state) (*os.File, error) {
	flags := os.O_RDWR
	if s.Demo.Size == 0 {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(d.path, s.File), flags, 0o644) //nolint:gosec // who serves the directory may be another user
	if errors.Is(err, fs.ErrNotExist) && s.Demo.Size > 0 {
		return nil, errGone
	}
	return f, err
}

// forsake removes the file of a state that has not even a header, as when the process ended before it wrote one, and the body with it has gone
// since. The next file then follows the file before.
func (d *dir) forsake(s *state) {
	if s.File == "" || s.Demo.Size > 0 {
		return
	}
	path := filepath.Join(d.path, s.File)
	if f, err := os.Open(path); err == nil {
		_, err = identityOf(f)
		_ = f.Close()
		if err == nil {
			return
		}
	}
	_ = os.Remove(path)
	removeNotes(path)
	s.Identity = s.Previous
}

// write writes what a file lacks of the bytes from an offset on: a killed process, and a full disk, have left a part of them. It returns
// broadcast.ErrResume if the file has others, and errGone if another one has its name, or none.
func write(f *os.File, at int64, added []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Stat(f.Name()); errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(named, info) {
		return errGone
	}
	have := info.Size() - at
	if have < 0 {
		return fmt.Errorf("%d bytes of %d: %w", info.Size(), at, broadcast.ErrResume)
	}
	tail := make([]byte, min(have, int64(len(added))+1))
	if _, err := f.ReadAt(tail, at); err != nil {
		return err
	}
	rest, err := broadcast.Resume(tail, added)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(rest, at+have)
	return err
}
