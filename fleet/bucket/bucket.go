package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/replayd/replayd/replay/source"
)

// Options are a Bucket's budgets. The zero value of a field means its default.
type Options struct {
	// Attempts is how often a request is tried. Default 5.
	Attempts int
	// Pause is the pause before the second attempt. It doubles with each further attempt, up to 32 times. A random part of up to
	// a half is subtracted. Default 100 ms.
	Pause time.Duration
	// Silence is how long an attempt waits for the next byte. Default 10 s.
	Silence time.Duration
	// Budget is how long all attempts of a request may take together. Default 30 s.
	Budget time.Duration
	// MaxEntries is how many entries a directory may have. Default 1,000,000.
	MaxEntries int
	// Account is called after each attempt with the name of the request, its success, and the number of bytes received. It may be
	// nil.
	Account func(doing string, ok bool, bytes int64)
}

func (o Options) withDefaults() Options {
	if o.Attempts <= 0 {
		o.Attempts = 5
	}
	if o.Pause <= 0 {
		o.Pause = 100 * time.Millisecond
	}
	if o.Silence <= 0 {
		o.Silence = 10 * time.Second
	}
	if o.Budget <= 0 {
		o.Budget = 30 * time.Second
	}
	if o.MaxEntries <= 0 {
		o.MaxEntries = 1_000_000
	}
	if o.Account == nil {
		o.Account = func(string, bool, int64) {}
	}
	return o
}

// Bucket holds the objects below a Location. It implements catalog.Store.
type Bucket struct {
	at     Location
	prefix string // the beginning of all keys: empty, or ends in a slash
	client *s3.Client
	o      Options

	unconditional atomic.Bool // the store has no conditional writes
}

// The names of requests, for errors and Options.Account.
const (
	listing = "listing"
	reading = "reading"
	looking = "looking up"
	writing = "writing"
	removal = "removing"
)

// pageSize is the maximum number of entries on a page of a list.
const pageSize = 1000

// Open returns the Bucket of a Location. It reads the environment and the files in ~/.aws, and sends no request.
func Open(ctx context.Context, at Location, o Options) (*Bucket, error) {
	o = o.withDefaults()
	client, err := newClient(ctx, at, o)
	if err != nil {
		return nil, err
	}
	b := &Bucket{at: at, client: client, o: o}
	if at.Path != "" {
		b.prefix = at.Path + "/"
	}
	return b, nil
}

// String implements catalog.Store. It returns the URL without parameters.
func (b *Bucket) String() string { return b.at.String() }

// Place identifies where the objects lie: see catalog.Root.Place. An equal path of another service is another place.
func (b *Bucket) Place() string {
	return fmt.Sprintf("%q %q %q", b.at.Endpoint, b.at.Bucket, b.at.Path)
}

// Every implements catalog.Store.
func (b *Bucket) Every() time.Duration { return b.at.Refresh }

// Path implements catalog.Store. Objects have no place in the file system.
func (b *Bucket) Path(string) string { return "" }

// attempt tries a request until it succeeds, cannot succeed, or has used up the budget. f makes one attempt, and returns how many
// bytes were received.
func (b *Bucket) attempt(ctx context.Context, doing string, f func(ctx context.Context) (int64, error)) error {
	return b.attemptFor(ctx, doing, b.o.Budget, f)
}

// attemptFor is attempt with its own budget.
func (b *Bucket) attemptFor(ctx context.Context, doing string, d time.Duration, f func(ctx context.Context) (int64, error)) error {
	budget, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for n := 1; ; n++ {
		bytes, err := f(budget)
		b.o.Account(doing, err == nil, bytes)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = explain(ctx, doing, err)
		failed, ok := errors.AsType[*Error](err)
		if !ok || !failed.again || n >= b.o.Attempts {
			return err
		}
		pause := b.o.Pause << min(n-1, 5)
		pause -= rand.N(pause/2 + 1) //nolint:gosec // nobody gains by guessing it
		select {
		case <-time.After(pause):
		case <-budget.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
	}
}

// key returns the key of a path.
func (b *Bucket) key(rel string) string { return b.prefix + rel }

// Stat implements catalog.Store.
func (b *Bucket) Stat(ctx context.Context, rel string) (fs.FileInfo, error) {
	if rel == "." {
		return source.Object{Base: ".", Dir: true}, nil
	}
	o, err := b.head(ctx, rel)
	if !errors.Is(err, fs.ErrNotExist) {
		return o.Object, err
	}
	there := false
	if _, _, listErr := b.page(ctx, b.key(rel)+"/", "", 1, false, func(attributes) { there = true }); listErr != nil {
		return nil, listErr
	}
	if !there {
		return nil, err
	}
	return source.Object{Base: path.Base(rel), Dir: true}, nil
}

// attributes describe an object.
type attributes struct {
	source.Object

	tag  string // the ETag, with its quotes
	path string // below the Location
}

// head asks for the attributes of an object.
func (b *Bucket) head(ctx context.Context, rel string) (a attributes, err error) {
	err = b.attempt(ctx, looking, func(ctx context.Context) (int64, error) {
		ctx, cancel := context.WithTimeout(ctx, b.o.Silence)
		defer cancel()
		out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.at.Bucket, Key: aws.String(b.key(rel))})
		if err != nil {
			return 0, err
		}
		if out.ContentLength == nil {
			return 0, broken(looking, "the store gives no length")
		}
		a, err = b.describe(looking, rel, *out.ContentLength, out.ETag, out.LastModified)
		return 0, err
	})
	return a, err
}

// describe checks and returns the attributes of an object.
func (b *Bucket) describe(doing, rel string, size int64, tag *string, written *time.Time) (attributes, error) {
	switch {
	case size < 0 || size > maxObject:
		return attributes{}, broken(doing, "the store gives a length that no object has")
	case tag == nil, len(*tag) < 3, len(*tag) > 256, (*tag)[0] != '"', (*tag)[len(*tag)-1] != '"':
		return attributes{}, broken(doing, "the store gives no ETag that identifies the object's contents")
	}
	a := attributes{source.Object{Base: path.Base(rel), Bytes: size}, *tag, rel}
	if written != nil {
		a.Written = written.UTC().Truncate(time.Second) // lists have fractions of a second, and headers have none
	}
	a.Contents = b.identify(rel, *tag, size)
	return a, nil
}

// maxObject is the largest size of an object, in bytes: 50 TB, S3's own limit.
const maxObject = 50 << 40

// ReadDir implements catalog.Store.
func (b *Bucket) ReadDir(ctx context.Context, rel string, each func(fs.FileInfo)) (fs.FileInfo, error) {
	prefix := b.prefix
	if rel != "." {
		prefix = b.key(rel) + "/"
	}
	entries, token := 0, ""
	for pages := 0; ; pages++ {
		next, n, err := b.page(ctx, prefix, token, pageSize, false, func(a attributes) { each(a.Object) })
		if err != nil {
			return nil, err
		}
		switch entries += n; {
		case entries > b.o.MaxEntries, pages > b.o.MaxEntries/100+10: // some pages may be short, but not all
			return nil, broken(listing, fmt.Sprintf("the directory has more than %d entries, or its list does not end", b.o.MaxEntries))
		case next == "" && entries == 0 && rel != ".":
			return nil, &Error{Doing: listing, Problem: "nothing has a key below it", Kind: fs.ErrNotExist}
		case next == "":
			return source.Object{Base: path.Base(rel), Dir: true}, nil
		case next == token:
			return nil, broken(listing, "the list does not go on")
		}
		token = next
	}
}

// page lists one page of a directory. It returns the token of the next page, empty on the last, and the number of entries on the
// page, including entries that are not passed to each because their names are invalid. A flat page has all objects below the
// prefix.
func (b *Bucket) page(
	ctx context.Context, prefix, token string, size int32, flat bool, each func(attributes),
) (next string, entries int, err error) {
	in := &s3.ListObjectsV2Input{
		Bucket: &b.at.Bucket, MaxKeys: &size, EncodingType: types.EncodingTypeUrl,
	}
	if !flat {
		in.Delimiter = aws.String("/")
	}
	if prefix != "" {
		in.Prefix = &prefix
	}
	if token != "" {
		in.ContinuationToken = &token
	}
	var out *s3.ListObjectsV2Output
	err = b.attempt(ctx, listing, func(ctx context.Context) (int64, error) {
		ctx, cancel := context.WithTimeout(ctx, b.o.Silence)
		defer cancel()
		var err error
		out, err = b.client.ListObjectsV2(ctx, in)
		return 0, err
	})
	if err != nil {
		return "", 0, err
	}
	if out.IsTruncated == nil {
		return "", 0, broken(listing, "the answer is not a list")
	}
	decode := func(key *string) (rel string, ok bool) {
		text := aws.ToString(key)
		if out.EncodingType == types.EncodingTypeUrl {
			if text, err = url.QueryUnescape(text); err != nil {
				return "", false
			}
		}
		rel, ok = strings.CutPrefix(text, prefix)
		return rel, ok && rel != ""
	}
	for _, o := range out.Contents {
		entries++
		rel, ok := decode(o.Key)
		if !ok || !flat && strings.Contains(rel, "/") || o.Size == nil {
			continue
		}
		// As in head, the whole path decides the identity.
		a, err := b.describe(listing, strings.TrimPrefix(prefix, b.prefix)+rel, *o.Size, o.ETag, o.LastModified)
		if err != nil {
			continue
		}
		each(a)
	}
	for _, p := range out.CommonPrefixes {
		entries++
		if rel, ok := decode(p.Prefix); ok {
			if dir, ok := strings.CutSuffix(rel, "/"); ok && !strings.Contains(dir, "/") {
				each(attributes{Object: source.Object{Base: dir, Dir: true}})
			}
		}
	}
	if !*out.IsTruncated {
		return "", entries, nil
	}
	if next = aws.ToString(out.NextContinuationToken); next == "" {
		return "", 0, broken(listing, "the list does not go on")
	}
	return next, entries, nil
}
