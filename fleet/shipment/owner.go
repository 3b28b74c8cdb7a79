package shipment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/internal/natsconn"
)

// Owner says which shipper a source belongs to. Only the owner of a source ships it.
type Owner struct {
	// Directory identifies the directory of the files: see package ship.
	Directory string `json:"directory"`
	// Path and Host say where the directory is, for people.
	Path string `json:"path"`
	Host string `json:"host"`
	// Machine identifies the start of the machine on which the shipper runs, and Process the shipper's process.
	Machine string `json:"machine"`
	Process string `json:"process"`
	// Epoch is higher than every earlier owner's.
	Epoch uint64 `json:"epoch"`
	// Released is true once the shipper has stopped in order.
	Released bool `json:"released,omitempty"`
}

// String says for people where the owner's directory is.
func (o *Owner) String() string { return o.Host + ":" + o.Path }

// Owners holds the owners of a stream's sources, in a key-value bucket beside the stream. It is safe for concurrent use.
type Owners struct {
	s  *Stream
	kv jetstream.KeyValue
}

// OwnersBucket returns the name of the key-value bucket with the owners of a stream's sources.
func OwnersBucket(stream string) string { return stream + "-owners" }

// Owners returns the owners of the stream's sources, and makes a missing bucket.
func (s *Stream) Owners(ctx context.Context) (*Owners, error) {
	ctx, cancel := asking(ctx, s.bytes.js.Conn())
	defer cancel()
	kv, err := s.bytes.js.KeyValue(ctx, OwnersBucket(s.name))
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = s.bytes.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: OwnersBucket(s.name), Description: "who ships which source of " + s.name, Storage: jetstream.FileStorage,
			Replicas: max(s.bytes.stream.CachedInfo().Config.Replicas, 1),
		})
		if errors.Is(err, jetstream.ErrBucketExists) { // another shipper has made it meanwhile
			kv, err = s.bytes.js.KeyValue(ctx, OwnersBucket(s.name))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the owners of %s: %w", s.name, err)
	}
	return &Owners{s, kv}, nil
}

// Get returns the owner of a source and the revision of the entry. Both are zero if the source has no owner, or if no shipper
// writes such an entry.
func (o *Owners) Get(ctx context.Context, source string) (*Owner, uint64, error) {
	ctx, cancel := asking(ctx, o.s.bytes.js.Conn())
	defer cancel()
	entry, err := o.kv.Get(ctx, source)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, fmt.Errorf("reading the owner of %s: %w", source, explain(err))
	}
	owner := &Owner{}
	if json.Unmarshal(entry.Value(), owner) != nil {
		return nil, entry.Revision(), nil
	}
	return owner, entry.Revision(), nil
}

// Set makes owner the owner of a source. It replaces the entry with the revision after, which is 0 for none, and returns the new
// revision. It returns ErrConflict if the entry has another revision, and ErrNoStream if there is no bucket. After any other
// error the entry may be set or not.
func (o *Owners) Set(ctx context.Context, source string, owner *Owner, after uint64) (uint64, error) {
	value, err := json.Marshal(owner)
	if err != nil {
		return 0, err
	}
	ctx, cancel := asking(ctx, o.s.bytes.js.Conn())
	defer cancel()
	revision, err := o.kv.Update(ctx, source, value, after)
	if natsconn.Conflict(err) {
		return 0, ErrConflict
	}
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		return 0, fmt.Errorf("setting the owner of %s: %w", source, ErrNoStream)
	case err != nil:
		return 0, fmt.Errorf("setting the owner of %s: %w", source, explain(err))
	}
	return revision, nil
}

// Live returns the path of a file of the source of which the stream has bytes, or an empty text.
func (s *Stream) Live(ctx context.Context, source string) (string, error) {
	files, err := s.Files(ctx, source)
	if err != nil {
		return "", err
	}
	for name := range files {
		p := strings.TrimPrefix(name, source+"/")
		subject, err := Subject(s.name, source, p)
		if err != nil {
			continue
		}
		found, err := s.Find(ctx, subject)
		if err != nil {
			return "", err
		}
		if last := found.Last(); last != nil && last.Err == nil && (last.Kind == Bytes || last.Kind == Finished) {
			return p, nil
		}
	}
	return "", nil
}
