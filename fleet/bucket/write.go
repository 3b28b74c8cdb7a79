package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/replayd/replayd/replay/source"
)

// MaxPut is the size of the largest object that Put writes, in bytes: the most that S3 takes in one request. There are no uploads
// in parts, which could be left unfinished.
const MaxPut = 5 << 30

// slowest is the least average number of bytes of an upload per second; it sets a time in addition to Options.Budget.
const slowest = 1 << 20

// Put writes an object in one request: as a whole, or not at all.
func (b *Bucket) Put(ctx context.Context, rel string, body io.ReadSeeker, size int64) error {
	return b.put(ctx, rel, body, size, func(*s3.PutObjectInput) {})
}

// ErrConflict means that another writer has put or removed an object while it was being replaced.
var ErrConflict = errors.New("another writer has changed the object meanwhile")

// Replace is like Put, but returns ErrConflict, and writes nothing, unless the object has the given ETag, or does not exist if
// the ETag is empty. An attempt whose answer was lost can cause the conflict. With a store without conditional writes, Replace is
// Put.
func (b *Bucket) Replace(ctx context.Context, rel string, body io.ReadSeeker, size int64, tag string) error {
	if b.unconditional.Load() {
		return b.Put(ctx, rel, body, size)
	}
	err := b.put(ctx, rel, body, size, func(in *s3.PutObjectInput) {
		if in.IfMatch = &tag; tag == "" {
			in.IfMatch, in.IfNoneMatch = nil, aws.String("*")
		}
	})
	e, ok := errors.AsType[*Error](err)
	switch {
	case ok && e.Status == http.StatusNotImplemented && !b.unconditional.Swap(true):
		return b.Put(ctx, rel, body, size)
	case ok && (errors.Is(err, source.ErrReplaced) || e.Status == http.StatusConflict), tag != "" && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}

// put writes an object. condition may set what the store compares.
func (b *Bucket) put(ctx context.Context, rel string, body io.ReadSeeker, size int64, condition func(*s3.PutObjectInput)) error {
	if size > MaxPut {
		return fmt.Errorf("%s: an object of %d bytes is too long: %w", writing, size, fs.ErrInvalid)
	}
	budget := b.o.Budget + time.Duration(size/slowest)*time.Second
	return b.attemptFor(ctx, writing, budget, func(ctx context.Context) (int64, error) {
		if _, err := body.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		in := &s3.PutObjectInput{Bucket: &b.at.Bucket, Key: aws.String(b.key(rel)), ContentLength: &size}
		condition(in)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var fell atomic.Bool // set after silence; the client may read on for a moment, and so restart the time
		silence := time.AfterFunc(b.o.Silence, func() { fell.Store(true); cancel() })
		defer silence.Stop()
		in.Body = &alive{body, func() { silence.Reset(b.o.Silence) }}
		_, err := b.client.PutObject(ctx, in)
		if err != nil && fell.Load() {
			return 0, &Error{Doing: writing, Problem: silent, Kind: source.ErrStore, again: true}
		}
		return 0, err
	})
}

// alive calls a function with each read. The client also seeks in it, to sign the bytes.
type alive struct {
	io.ReadSeeker

	touch func()
}

func (a *alive) Read(p []byte) (int, error) {
	a.touch()
	return a.ReadSeeker.Read(p)
}

// Get returns an object of at most the given number of bytes.
func (b *Bucket) Get(ctx context.Context, rel string, most int64) (data []byte, err error) {
	err = b.attempt(ctx, looking, func(ctx context.Context) (int64, error) {
		ctx, cancel := context.WithTimeout(ctx, b.o.Silence)
		defer cancel()
		out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.at.Bucket, Key: aws.String(b.key(rel))})
		if err != nil {
			return 0, err
		}
		defer out.Body.Close() //nolint:errcheck // nothing was written
		if data, err = io.ReadAll(io.LimitReader(out.Body, most+1)); err != nil {
			return int64(len(data)), errors.Join(io.ErrUnexpectedEOF, err)
		}
		if int64(len(data)) > most {
			return most, broken(looking, "the object is too long")
		}
		return int64(len(data)), nil
	})
	return data, err
}

// Remove deletes an object. It is no error if there is none.
func (b *Bucket) Remove(ctx context.Context, rel string) error {
	err := b.attempt(ctx, removal, func(ctx context.Context) (int64, error) {
		ctx, cancel := context.WithTimeout(ctx, b.o.Silence)
		defer cancel()
		_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.at.Bucket, Key: aws.String(b.key(rel))})
		return 0, err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
