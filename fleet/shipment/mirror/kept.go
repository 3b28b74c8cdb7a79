package mirror

import (
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/replay/source"
)

// A Mirror that was started again goes on with its predecessor's files. It saves now and then how far each file was written. At a
// start it cuts the files to that length, and reads the rest from the stream. So it does not matter when the process ended. After
// a restart of the machine the saved lengths may be ahead of the disk, and everything is read from the stream.

// saved is the saved knowledge of a directory's files.
type saved struct {
	Boot    string                 `json:"boot"`
	Since   time.Time              `json:"since"`
	After   uint64                 `json:"after"`
	Files   map[string]savedFile   `json:"files"`
	Waiting map[string]waitingFile `json:"waiting"`
}

type savedFile struct {
	Generation shipment.Generation `json:"generation"`
	Length     int64               `json:"length"`
	Inode      source.ID           `json:"inode"`
	Sum        []byte              `json:"sum"` // the state of the hash
	After      uint64              `json:"after"`
	Modified   time.Time           `json:"modified"`
}

type waitingFile struct {
	After   uint64 `json:"after"`
	Skipped uint64 `json:"skipped"`
}

const (
	savedName = ".kept.json" // no file of a game begins with a dot
	// saveEvery is how often the knowledge of the files is saved, if saving takes little time.
	saveEvery = 2 * time.Second
)

// boot identifies the start of the machine; empty if it is not known.
func boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// keepSaved saves until ctx ends.
func (m *Mirror) keepSaved(ctx context.Context) {
	for pause := saveEvery; shipment.Pause(ctx, pause); {
		began := time.Now()
		m.save()
		pause = max(saveEvery, 50*time.Since(began))
	}
}

// save saves the knowledge of the files. If that fails, the previous save stays valid.
func (m *Mirror) save() {
	s, ok := m.snapshot()
	if !ok {
		_ = m.root.Remove(savedName)
		return
	}
	b, err := json.Marshal(s)
	if err == nil {
		err = m.root.WriteFile(savedName+".new", b, 0o600)
	}
	if err == nil {
		err = m.root.Rename(savedName+".new", savedName)
	}
	if err != nil {
		m.o.Log.Warn("how far the files of a live root go cannot be saved; another start reads more of the stream", "stream", m.o.Name, "error", err)
	}
}

// snapshot returns the knowledge to save. It reports false if a Mirror that starts with it would miss something.
func (m *Mirror) snapshot() (*saved, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &saved{boot(), m.since, m.after, make(map[string]savedFile, len(m.known)), map[string]waitingFile{}}
	for _, l := range m.lanes {
		if l.many {
			return nil, false
		}
		for name, w := range l.waiting {
			s.Waiting[name] = waitingFile{w.after, w.skipped}
		}
	}
	for name, f := range m.known {
		sum, ok := f.sum.(encoding.BinaryMarshaler)
		if !ok {
			return nil, false
		}
		state, err := sum.MarshalBinary()
		if err != nil {
			return nil, false
		}
		s.Files[name] = savedFile{f.generation, f.length, f.inode, state, f.after, f.modified}
	}
	return s, s.Boot != "" && !m.since.IsZero()
}

// load takes over the files that another Mirror has left, and removes unknown files.
func (m *Mirror) load() error {
	s := &saved{}
	if b, err := m.root.ReadFile(savedName); err != nil || json.Unmarshal(b, s) != nil || s.Boot != boot() {
		*s = saved{}
	}
	if s.Waiting == nil {
		s.Waiting = map[string]waitingFile{}
	}
	m.since, m.after = s.Since, s.After
	err := fs.WalkDir(m.root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == savedName {
			return err
		}
		kept, ok := s.Files[name]
		if ok {
			ok, err = m.resume(name, kept)
		}
		if err == nil && !ok {
			err = m.root.Remove(name)
		}
		return err
	})
	if err != nil {
		return err
	}
	for name := range s.Files {
		if m.known[name] == nil { // it was replaced or removed meanwhile, or somebody else has changed it
			s.Waiting[name] = waitingFile{0, s.After}
		}
	}
	for name, w := range s.Waiting {
		src, p := split(name)
		if shipment.CheckSource(src) == nil && shipment.CheckPath(p) == nil {
			m.lane(src).waiting[name] = &wait{w.After, w.Skipped}
		}
	}
	return nil
}

// resume takes over a file. It returns false if the file is not the known one; its bytes then come from the stream.
func (m *Mirror) resume(name string, kept savedFile) (bool, error) {
	src, p := split(name)
	stat, err := m.root.Stat(name)
	if err != nil {
		return false, err
	}
	sum := sha256.New()
	state, ok := sum.(encoding.BinaryUnmarshaler)
	if !ok || shipment.CheckSource(src) != nil || shipment.CheckPath(p) != nil || !stat.Mode().IsRegular() ||
		source.Identify(stat) != kept.Inode || stat.Size() < kept.Length || state.UnmarshalBinary(kept.Sum) != nil {
		return false, nil //nolint:nilerr // another version saved it
	}
	if stat.Size() > kept.Length {
		h, err := m.root.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return false, err
		}
		if err := errors.Join(h.Truncate(kept.Length), h.Close(), m.root.Chtimes(name, time.Time{}, kept.Modified)); err != nil {
			return false, err
		}
	}
	f := &file{
		generation: kept.Generation, since: m.since, after: kept.After, length: kept.Length, sum: sum, inode: kept.Inode, modified: kept.Modified,
	}
	l := m.lane(src)
	m.known[name] = f
	l.files++
	l.bytes += f.length
	m.bytes += f.length
	return true, nil
}

// prune removes kept files of which the stream has neither bytes nor a state, because they ended long ago.
func (m *Mirror) prune(ctx context.Context, stream *shipment.Stream) error {
	m.mu.Lock()
	none, since := m.pruned || len(m.known) == 0, m.since
	m.pruned = true
	m.mu.Unlock()
	if none {
		return nil
	}
	now, err := stream.Position(ctx)
	if err != nil || !now.Created.Equal(since) { // a new stream has nothing yet
		return err
	}
	there, err := stream.Files(ctx, m.o.Source)
	if err != nil {
		return err
	}
	states, err := stream.States(ctx, m.o.Source)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, f := range m.known {
		if !there[name] && !states[name] {
			if err := m.remove(name, f); err != nil {
				return err
			}
		}
	}
	return nil
}
