package subscription

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"regexp"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/replayd/replayd/internal/database"
	"github.com/replayd/replayd/service/index"
)

// A named subscription is kept by the daemon, so that more games may be open than a token has room for. Its token has what has changed
// since a checkpoint: the places at one moment, which are on disk before the first token that is based on it is sent. So nothing is written
// for a response, and every token that a client has leads to its place, also after the daemon was killed or the machine lost power.
//
// Each call begins with a checkpoint, and makes another one when its tokens get long. An acknowledged token is kept, with its
// checkpoint and all later ones: the client may have stored any token that was sent since. When these take too much space, nothing more is
// sent until the client acknowledges.

// NamedConfig configures the named subscriptions of a daemon.
type NamedConfig struct {
	// Path is the file that keeps them.
	Path string
	// Most is how many there may be, and MostOfOwner how many of one owner.
	Most, MostOfOwner int
	// Life is how long one is kept that nobody uses.
	Life time.Duration
	// Space is how many bytes the checkpoints of one may take. 0 means 16 MiB.
	Space int
	// Log receives what cannot be stored.
	Log *slog.Logger
}

const defaultSpace = 16 << 20

// Errors of named subscriptions.
var (
	// ErrConditions means that a subscription was begun with other conditions, or with an index that is lost.
	ErrConditions = errors.New("the subscription was begun with other conditions, or with an index that is lost: remove it, or take another name")
	// ErrTaken means that another call goes on under the name.
	ErrTaken = errors.New("another call goes on under the name of the subscription, or it was removed")
	// ErrNoName means that there is no subscription of that name.
	ErrNoName = errors.New("there is no subscription of that name")
	// ErrNames means that there are as many subscriptions as there may be.
	ErrNames = errors.New("there are as many named subscriptions as there may be: remove one")
	// ErrUnacknowledged means that the places of so many responses are kept that were not acknowledged.
	ErrUnacknowledged = errors.New("too much was sent that was not acknowledged: acknowledge the token of the last response that was processed")
	// ErrStored means that the places of a subscription cannot be stored.
	ErrStored = errors.New("the place of the subscription cannot be stored")
)

var namePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// IsName reports whether a subscription can have that name.
func IsName(name string) bool { return namePattern.MatchString(name) }

// Store keeps named subscriptions. It is safe for concurrent use.
type Store struct {
	NamedConfig

	db *bbolt.DB

	mu   sync.Mutex
	kept map[string]*kept // by owner and name
}

// kept is a named subscription. The mutex of the Store guards it.
type kept struct {
	about        about
	acknowledged point
	checkpoints  map[uint64]int // their sizes, by number
	last         uint64         // the number of the last checkpoint
	taken        chan struct{}  // closed when the call that runs is no longer the one of the name; nil if none runs
}

// about is what is stored of a subscription.
type about struct {
	id         [8]byte // tells it from another one of the same name
	generation index.Generation
	tag        Tag
	used       time.Time
}

// point is the place of a token among others of its subscription.
type point struct{ checkpoint, count uint64 }

func (p point) before(other point) bool {
	return cmp.Or(cmp.Compare(p.checkpoint, other.checkpoint), cmp.Compare(p.count, other.count)) < 0
}

var (
	subscriptionsName = []byte("subscriptions")
	checkpointsName   = []byte("checkpoints")
	aboutKey          = []byte("about")
	acknowledgedKey   = []byte("acknowledged")
)

const (
	aboutVersion = 1
	// perCheckpoint is what a checkpoint takes besides its places.
	perCheckpoint = 64
)

// OpenStore opens the file, or makes it.
func OpenStore(c NamedConfig) (*Store, error) {
	if c.Space <= 0 {
		c.Space = defaultSpace
	}
	s := &Store{NamedConfig: c, kept: map[string]*kept{}}
	var err error
	s.db, err = database.Open(c.Path, func(tx *bbolt.Tx) error {
		all, err := tx.CreateBucketIfNotExists(subscriptionsName)
		if err != nil {
			return err
		}
		return all.ForEachBucket(func(key []byte) error {
			k, err := loaded(all.Bucket(key))
			if err != nil {
				return fmt.Errorf("subscription %q: %w", key, err)
			}
			s.kept[string(key)] = k
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("the file of subscriptions %q: %w", c.Path, err)
	}
	return s, nil
}

// Close closes the file. No call may be running.
func (s *Store) Close() error { return s.db.Close() }

var errDamaged = errors.New("is damaged")

// loaded reads a subscription.
func loaded(b *bbolt.Bucket) (*kept, error) {
	k := &kept{checkpoints: map[uint64]int{}}
	list := b.Bucket(checkpointsName)
	if !k.about.parse(b.Get(aboutKey)) || list == nil {
		return nil, errDamaged
	}
	if token := b.Get(acknowledgedKey); token != nil {
		var err error
		if k.acknowledged, _, err = parseNamed(token, k.about.id); err != nil {
			return nil, errDamaged
		}
	}
	err := list.ForEach(func(number, value []byte) error {
		if len(number) != 8 {
			return errDamaged
		}
		k.last = binary.BigEndian.Uint64(number)
		k.checkpoints[k.last] = len(value) + perCheckpoint
		return nil
	})
	return k, err
}

func (a *about) append(b []byte) []byte {
	b = append(append(append(append(b, aboutVersion), a.id[:]...), a.generation[:]...), a.tag[:]...)
	return binary.BigEndian.AppendUint64(b, uint64(a.used.Unix()))
}

func (a *about) parse(b []byte) bool {
	const long = 1 + len(a.id) + len(a.generation) + len(a.tag) + 8
	if len(b) != long || b[0] != aboutVersion {
		return false
	}
	b = b[1+copy(a.id[:], b[1:]):]
	b = b[copy(a.generation[:], b):]
	b = b[copy(a.tag[:], b):]
	a.used = time.Unix(int64(binary.BigEndian.Uint64(b)), 0)
	return true
}

// keyOf returns the key of a subscription. No owner has a zero byte.
func keyOf(owner, name string) string { return owner + "\x00" + name }

// update writes what belongs to a subscription, or nothing of it.
func (s *Store) update(key string, write func(all, own *bbolt.Bucket) error) error {
	err := s.db.Update(func(tx *bbolt.Tx) error {
		all := tx.Bucket(subscriptionsName)
		return write(all, all.Bucket([]byte(key)))
	})
	if err == nil {
		return nil
	}
	s.Log.Error("a subscription cannot be stored", "path", s.Path, "error", err)
	if of, ok := errors.AsType[*fs.PathError](err); ok { // the path is nothing for clients
		err = of.Err
	}
	return fmt.Errorf("%w: %w", ErrStored, err)
}

// Named is a named subscription while a call has it. Its methods are for that call's goroutine.
type Named struct {
	store      *Store
	key        string
	kept       *kept
	id         [8]byte
	taken      chan struct{}
	checkpoint uint64 // the last one
	count      uint64 // of tokens since
	begin      places
}

// Open begins a call of a named subscription, and ends one that still runs under its name. It makes the subscription if there is
// none. The call begins at the token, or if it is empty behind what was acknowledged. The token of a subscription without a name may begin a
// named one. The caller must Close it.
func (s *Store) Open(owner, name string, generation index.Generation, tag Tag, token []byte) (*Named, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(owner, name)
	k := s.kept[key]
	var at places
	var err error
	switch {
	case k != nil && (k.about.generation != generation || k.about.tag != tag):
		return nil, ErrConditions
	case k == nil && len(token) == 0:
		at = places{}
	case k == nil, len(token) > 0 && token[0] == tokenVersion:
		at, err = parseToken(token, generation, tag)
	default:
		at, err = s.find(key, k, token)
	}
	if err != nil {
		return nil, err
	}
	isNew := k == nil
	if isNew {
		if err := s.makeRoom(owner); err != nil {
			return nil, err
		}
		k = &kept{about: about{generation: generation, tag: tag}, checkpoints: map[uint64]int{}}
		_, _ = rand.Read(k.about.id[:]) // never fails
	}
	if err := s.keep(key, k, at, isNew); err != nil {
		return nil, err
	}
	s.kept[key] = k
	k.end()
	k.taken = make(chan struct{})
	return &Named{store: s, key: key, kept: k, id: k.about.id, taken: k.taken, checkpoint: k.last, begin: at}, nil
}

// end ends the call that runs.
func (k *kept) end() {
	if k.taken != nil {
		close(k.taken)
		k.taken = nil
	}
}

// find returns the places at a token, or at what was acknowledged.
func (s *Store) find(key string, k *kept, token []byte) (at places, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		own := tx.Bucket(subscriptionsName).Bucket([]byte(key))
		if len(token) == 0 {
			if token = own.Get(acknowledgedKey); token == nil {
				at = places{}
				return nil
			}
		}
		point, since, err := parseNamed(token, k.about.id)
		if err != nil {
			return err
		}
		value := own.Bucket(checkpointsName).Get(binary.BigEndian.AppendUint64(nil, point.checkpoint))
		if value == nil { // it is older than what was acknowledged
			return ErrOther
		}
		if at, err = parsePlaces(value, 0, math.MaxInt); err != nil {
			return fmt.Errorf("checkpoint %d of subscription %q: %w", point.checkpoint, key, errDamaged)
		}
		at.apply(since)
		return nil
	})
	return at, err
}

// keep stores a checkpoint, if there is space for it.
func (s *Store) keep(key string, k *kept, at places, isNew bool) error {
	value := at.append(nil, nil, at.aliases())
	space := len(value) + perCheckpoint
	for _, n := range k.checkpoints {
		space += n
	}
	if space > s.Space && len(k.checkpoints) > 1 { // with one the client has acknowledged everything that it could
		return ErrUnacknowledged
	}
	next := k.about
	next.used = time.Now()
	if err := s.update(key, func(all, own *bbolt.Bucket) (err error) {
		if isNew {
			if own, err = all.CreateBucket([]byte(key)); err == nil {
				_, err = own.CreateBucket(checkpointsName)
			}
		}
		if err != nil {
			return err
		}
		if err := own.Put(aboutKey, next.append(nil)); err != nil {
			return err
		}
		return own.Bucket(checkpointsName).Put(binary.BigEndian.AppendUint64(nil, k.last+1), value)
	}); err != nil {
		return err
	}
	k.about = next
	k.last++
	k.checkpoints[k.last] = len(value) + perCheckpoint
	return nil
}

// makeRoom removes what nobody has used for long, and reports an error if an owner may have no further subscription.
func (s *Store) makeRoom(owner string) error {
	own := 0
	for key, k := range s.kept {
		if k.taken == nil && time.Since(k.about.used) > s.Life {
			if err := s.remove(key); err != nil {
				return err
			}
			s.Log.Info("a subscription was removed that nobody used", "subscription", key[strings.IndexByte(key, 0)+1:], "used", k.about.used)
		} else if strings.HasPrefix(key, keyOf(owner, "")) {
			own++
		}
	}
	if own >= s.MostOfOwner || len(s.kept) >= s.Most {
		return ErrNames
	}
	return nil
}

// Acknowledge notes that a client has processed everything up to a token.
func (s *Store) Acknowledge(owner, name string, token []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(owner, name)
	k := s.kept[key]
	if k == nil {
		return ErrNoName
	}
	at, _, err := parseNamed(token, k.about.id)
	switch {
	case err != nil:
		return err
	case at.before(k.acknowledged) || at == k.acknowledged:
		return nil
	case k.checkpoints[at.checkpoint] == 0:
		return ErrOther
	}
	next := k.about
	next.used = time.Now()
	if err := s.update(key, func(_, own *bbolt.Bucket) error {
		if err := errors.Join(own.Put(aboutKey, next.append(nil)), own.Put(acknowledgedKey, bytes.Clone(token))); err != nil {
			return err
		}
		list := own.Bucket(checkpointsName)
		for number := range k.checkpoints {
			if number < at.checkpoint {
				if err := list.Delete(binary.BigEndian.AppendUint64(nil, number)); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil {
		return err
	}
	k.about, k.acknowledged = next, at
	for number := range k.checkpoints {
		if number < at.checkpoint {
			delete(k.checkpoints, number)
		}
	}
	return nil
}

// Remove removes a subscription, and ends its call.
func (s *Store) Remove(owner, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[keyOf(owner, name)] == nil {
		return ErrNoName
	}
	return s.remove(keyOf(owner, name))
}

func (s *Store) remove(key string) error {
	if err := s.update(key, func(all, _ *bbolt.Bucket) error { return all.DeleteBucket([]byte(key)) }); err != nil {
		return err
	}
	s.kept[key].end()
	delete(s.kept, key)
	return nil
}

// Figures returns how many subscriptions are kept, and the bytes of their checkpoints.
func (s *Store) Figures() (names, space int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kept {
		for _, n := range k.checkpoints {
			space += n
		}
	}
	return len(s.kept), space
}

// keep makes a checkpoint, on which further tokens are based.
func (n *Named) keep(at places) error {
	s := n.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.kept.taken != n.taken {
		return ErrTaken
	}
	if err := s.keep(n.key, n.kept, at, false); err != nil {
		return err
	}
	n.checkpoint, n.count = n.kept.last, 0
	return nil
}

// Close ends the call.
func (n *Named) Close() {
	n.store.mu.Lock()
	defer n.store.mu.Unlock()
	if n.kept.taken != n.taken {
		return
	}
	n.kept.taken = nil
	n.kept.about.used = time.Now()
	_ = n.store.update(n.key, func(_, own *bbolt.Bucket) error { return own.Put(aboutKey, n.kept.about.append(nil)) })
}

// namedVersion is the first byte of the token of a named subscription.
const namedVersion = 2

// head returns how the next token begins.
func (n *Named) head() []byte {
	n.count++
	b := append([]byte{namedVersion}, n.id[:]...)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, n.checkpoint), n.count)
}

// parseNamed reads a token of the subscription with an id: where it stands among others, and what has changed since its checkpoint.
func parseNamed(b []byte, id [8]byte) (at point, since places, err error) {
	const fixed = 1 + len(id) + 8 + 8
	if len(b) < fixed || b[0] != namedVersion {
		return at, nil, ErrToken
	}
	if since, err = parsePlaces(b, fixed, MaxToken); err != nil {
		return at, nil, err
	}
	if !bytes.Equal(b[1:1+len(id)], id[:]) {
		return at, nil, ErrOther
	}
	return point{binary.BigEndian.Uint64(b[1+len(id):]), binary.BigEndian.Uint64(b[1+len(id)+8:])}, since, nil
}
