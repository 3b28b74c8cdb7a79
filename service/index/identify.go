package index

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// maxUnpacked is the largest size on disk, in bytes, of a compressed file that is unpacked to read its header when the format
// needs random access.
const maxUnpacked = 64 << 20

// identify reads the beginning of a file, unless that was done before, and returns the new entry. It returns nil for a file
// that is gone or is changing.
func (x *Index) identify(ctx context.Context, e *Entry) *Entry {
	if e.Identified {
		return e
	}
	known := *e
	if err := x.describe(ctx, &known); err != nil {
		if errors.Is(err, catalog.ErrDenied) {
			x.mu.Lock()
			defer x.mu.Unlock()
			unread := *e
			unread.denied = true
			x.put(e, &unread)
		}
		return nil
	}
	known.Identified = !x.unsettled(&known)
	known.tried = !known.Identified
	x.mu.Lock()
	defer x.mu.Unlock()
	x.intern(&known)
	if !x.put(e, &known) {
		if now, _ := x.files.Get(e.Name); now != nil && (now.Identified || now.tried) {
			return now // another goroutine read its beginning
		}
		return nil
	}
	if known.Identity != "" || known.Identified {
		x.changes.add(Change{Kind: Added, Entry: &known})
	}
	return &known
}

// unsettled reports whether a file's beginning has to be read again. The header may arrive late, on a file system that shows
// writes late, or when the writing process was stopped.
func (x *Index) unsettled(e *Entry) bool {
	young := time.Since(e.Modified) < quiet*10
	tooShort := e.Format == decoders.Unknown && e.Compression == source.Plain && e.Size < decoders.SniffLen
	return young && (tooShort || e.Format != decoders.Unknown && e.Identity == "" && e.Growable())
}

// describe adds the facts from the beginning of a file. A header that cannot be read is no error.
func (x *Index) describe(ctx context.Context, e *Entry) error {
	file, err := x.Files.OpenContext(ctx, e.Name)
	if _, broken := errors.AsType[*decoders.Error](err); broken {
		return nil // a compressed file whose beginning cannot be unpacked
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info := file.Info()
	if info.ID != e.ID || info.Size < e.Size {
		return source.ErrReplaced
	}
	e.Format, e.Compression = info.Format, info.Compression
	codec := x.Codec(info.Format)
	if codec == nil || codec.RandomAccess && info.Compression != source.Plain && info.Size > maxUnpacked {
		return nil
	}
	r, err := x.Describe(ctx, file)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil || r.GetIdentity() != "" {
		e.Facts = factsOf(r)
		switch {
		case codec.Lineage != nil:
			e.Lineage = codec.Lineage(r)
		case codec.Noted:
			e.Previous = x.Files.Previous(ctx, e.Name)
		}
	}
	return nil
}

func factsOf(r *replaydv1.Replay) Facts {
	f := Facts{
		Identity: r.GetIdentity(), MapName: r.GetMapName(), TicksPerSecond: r.GetTicksPerSecond(), LastTick: -1,
		Length: r.GetDuration().AsDuration(),
	}
	if r.StartTime != nil {
		f.Started = r.GetStartTime().AsTime()
	}
	if r.LastTick != nil {
		f.LastTick = r.GetLastTick()
	}
	var players []string
	for _, p := range r.GetPlayers() {
		players = append(players, p.GetName())
	}
	f.cast = castOf(players, r.GetLineup())
	return f
}

// intern replaces the texts of an entry by shared copies, because they repeat. The index must be locked, and no other
// goroutine may have the entry yet.
func (x *Index) intern(e *Entry) {
	if before := x.byReplay.first(e.Previous); before != nil {
		e.Previous = before.Identity
	} else if other := x.bySucceeds.first(e.Previous); other != nil {
		e.Previous = other.Previous
	}
	if next := x.bySucceeds.first(e.Identity); next != nil {
		e.Identity = next.Previous
	}
	e.MapName, e.Server = x.once(e.MapName), x.once(e.Server)
	players := e.Players()
	for i := range players {
		players[i] = x.once(players[i])
	}
	both := e.Name + e.Identity // which takes less than each
	e.Name, e.Identity = both[:len(e.Name)], both[len(e.Name):]
}

func (x *Index) once(text string) string {
	if known, ok := x.names[text]; ok {
		return known
	}
	x.names[text] = text
	return text
}

// queue holds the names of files to process in the background. The last added comes first, because it matters most to clients
// that follow live games.
type queue struct {
	mu    sync.Mutex
	names []string
	in    map[string]bool
	wake  chan struct{}
}

func (q *queue) push(e *Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.in == nil {
		q.in = map[string]bool{}
	}
	if q.in[e.Name] {
		return
	}
	q.in[e.Name] = true
	q.names = append(q.names, e.Name)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.names) == 0
}

func (q *queue) pop() (string, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.names) == 0 {
		return "", false
	}
	name := q.names[len(q.names)-1]
	q.names = q.names[:len(q.names)-1]
	if delete(q.in, name); len(q.names) == 0 {
		q.names, q.in = nil, nil // which keep the size that they had at most
	}
	return name, true
}
