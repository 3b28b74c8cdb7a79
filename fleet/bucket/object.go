package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/replayd/replayd/replay/source"
)

const (
	smallPart = 64 << 10 // for a reader that jumps
	largePart = 1 << 20  // for a reader that reads on and on
	// aheadParts is the number of parts that are fetched ahead.
	aheadParts = 2
)

// MaxHeld is the maximum number of bytes that an open object holds: a large part, the parts ahead of it, and the beginning. The
// beginning is read three times, for the format, the header and the events, before a reader goes on.
const MaxHeld = 4 * largePart

// Open implements catalog.Store. Reads fail once ctx has ended.
func (b *Bucket) Open(ctx context.Context, rel string) (source.Handle, error) {
	a, err := b.head(ctx, rel)
	if errors.Is(err, fs.ErrNotExist) {
		if stat, statErr := b.Stat(ctx, rel); statErr == nil && stat.IsDir() {
			return nil, source.ErrDirectory
		}
	}
	if err != nil {
		return nil, err
	}
	o := &object{bucket: b, key: b.key(rel), attributes: a}
	o.ctx, o.cancel = context.WithCancel(ctx)
	return o, nil
}

// object is an open object. It implements source.Handle, source.Waiter and source.Coster.
type object struct {
	attributes

	bucket *Bucket
	key    string
	ctx    context.Context //nolint:containedctx // an object can be read while it is open
	cancel context.CancelFunc
	wait   func(ready <-chan struct{}) error
	wg     sync.WaitGroup

	mu    sync.Mutex
	parts []*part // the last used part is last
}

var (
	_ source.Handle = (*object)(nil)
	_ source.Waiter = (*object)(nil)
	_ source.Coster = (*object)(nil)
)

// part is a range of an object.
type part struct {
	offset, length int64
	run            int           // the number of parts that it follows without a gap
	ready          chan struct{} // closed when data or err is set
	data           []byte
	err            error
}

func (p *part) end() int64 { return p.offset + p.length }

// isReady reports whether the part was fetched, or could not be.
func (p *part) isReady() bool {
	select {
	case <-p.ready:
		return true
	default:
		return false
	}
}

// Stat implements source.Handle.
func (o *object) Stat() (fs.FileInfo, error) { return o.Object, nil }

// OnWait implements source.Waiter.
func (o *object) OnWait(wait func(ready <-chan struct{}) error) { o.wait = wait }

// Cost implements source.Coster.
func (o *object) Cost() int64 { return min(o.Bytes, MaxHeld) }

// Close implements source.Handle. It cancels running requests and waits for them.
func (o *object) Close() error {
	o.mu.Lock() // no request begins after it
	o.cancel()
	o.mu.Unlock()
	o.wg.Wait()
	return nil
}

// ReadAt implements source.Handle.
func (o *object) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		if offset < 0 || offset >= o.Bytes {
			return n, io.EOF
		}
		from := o.part(offset)
		if err := o.await(from); err != nil {
			return n, err
		}
		if from.err != nil {
			return n, from.err
		}
		copied := copy(p[n:], from.data[offset-from.offset:])
		n += copied
		offset += int64(copied)
	}
	return n, nil
}

// await waits for a part.
func (o *object) await(from *part) error {
	if !from.isReady() && o.wait != nil {
		if err := o.wait(from.ready); err != nil {
			return err
		}
	}
	select {
	case <-from.ready:
		return nil
	case <-o.ctx.Done():
		return o.ctx.Err()
	}
}

// part returns the part with an offset. It begins to fetch that part, and the later parts that will be wanted.
func (o *object) part(offset int64) *part {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := o.find(offset)
	if found == nil {
		found = o.next(offset)
	}
	o.use(found)
	at := found
	for range aheadParts {
		if found.run < steady || at.end() >= o.Bytes {
			break
		}
		next := o.find(at.end())
		if next == nil {
			next = o.next(at.end())
		}
		at = next
	}
	return found
}

// find returns the part with an offset, or nil. It forgets a part that failed, so that the part is tried again.
func (o *object) find(offset int64) *part {
	for i, p := range o.parts {
		if p.offset <= offset && offset < p.end() {
			if p.isReady() && p.err != nil {
				o.parts = append(o.parts[:i:i], o.parts[i+1:]...)
				return nil
			}
			return p
		}
	}
	return nil
}

// use marks a part as last used.
func (o *object) use(p *part) {
	for i, other := range o.parts {
		if other == p {
			o.parts = append(append(o.parts[:i:i], o.parts[i+1:]...), p)
			return
		}
	}
}

// steady is how many parts in a row make a reader count as one that goes from front to back.
const steady = 2

// next begins to fetch the part at an offset. For a reader that goes from front to back, each part is twice as large as the
// previous one.
func (o *object) next(offset int64) *part {
	p := &part{offset: offset, length: smallPart, ready: make(chan struct{})}
	for _, before := range o.parts {
		if before.end() == offset {
			if p.run = before.run + 1; p.run >= steady {
				p.length = min(2*before.length, largePart)
			}
		}
	}
	p.length = min(p.length, o.Bytes-offset)
	o.parts = append(o.parts, p)
	held := int64(0)
	for i, kept := range slices.Backward(o.parts) {
		if held += kept.length; held > MaxHeld {
			o.parts = slices.Clone(o.parts[i+1:])
			break
		}
	}
	if p.err = o.ctx.Err(); p.err != nil {
		close(p.ready)
		return p
	}
	o.wg.Go(func() {
		defer close(p.ready)
		p.data, p.err = o.fetch(p.offset, p.length)
	})
	return p
}

// slowestRead is the least average number of bytes of a range per second; it sets a time in addition to Options.Budget. Up to
// three ranges are read at the same time.
const slowestRead = 16 << 10

// fetch reads a range.
func (o *object) fetch(offset, length int64) ([]byte, error) {
	data := make([]byte, length)
	budget := o.bucket.o.Budget + time.Duration(length/slowestRead)*time.Second
	err := o.bucket.attemptFor(o.ctx, reading, budget, func(ctx context.Context) (int64, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		silence := time.AfterFunc(o.bucket.o.Silence, cancel)
		defer silence.Stop()
		n, err := o.get(ctx, data, offset, func() { silence.Reset(o.bucket.o.Silence) })
		if err != nil && ctx.Err() != nil && o.ctx.Err() == nil {
			if _, typed := errors.AsType[*Error](err); !typed {
				err = &Error{Doing: reading, Problem: "the store fell silent", Kind: source.ErrStore, again: true}
			}
		}
		return n, err
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

// get makes one attempt to read a range. It calls alive whenever bytes arrive.
func (o *object) get(ctx context.Context, data []byte, offset int64, alive func()) (int64, error) {
	last := offset + int64(len(data)) - 1
	out, err := o.bucket.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &o.bucket.at.Bucket, Key: &o.key, IfMatch: &o.tag, Range: aws.String(fmt.Sprintf("bytes=%d-%d", offset, last)),
	})
	if err != nil {
		return 0, err
	}
	defer out.Body.Close() //nolint:errcheck // nothing was written
	alive()
	switch {
	case out.ETag == nil:
		return 0, broken(reading, "the store does not say of what version the bytes are")
	case *out.ETag != o.tag: // the store does not know If-Match
		return 0, &Error{Doing: reading, Problem: "the object was changed", Kind: source.ErrReplaced}
	case aws.ToString(out.ContentRange) != fmt.Sprintf("bytes %d-%d/%d", offset, last, o.Bytes):
		return 0, broken(reading, "the store does not answer with the range that was asked for")
	}
	n := 0
	for n < len(data) {
		more, err := out.Body.Read(data[n:])
		n += more
		if more > 0 {
			alive()
		}
		if err != nil && n < len(data) {
			return int64(n), errors.Join(io.ErrUnexpectedEOF, err)
		}
	}
	return int64(n), nil
}
