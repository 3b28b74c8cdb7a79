package main

import (
	"context"
	"errors"
	"strings"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// buckets holds buckets of objects as places of replays.
type buckets struct {
	account func(alias string) func(string, bool, int64) // nil before the first root
}

// Is implements command.Places.
func (*buckets) Is(name string) bool { return bucket.Is(name) }

// Check implements command.Places.
func (*buckets) Check(url string) error {
	_, err := bucket.Parse(url)
	return err
}

// Sources implements command.Places.
func (*buckets) Sources() bool { return false }

// Root implements command.Places.
func (b *buckets) Root(ctx context.Context, alias, url string, d command.Daemon) (catalog.Store, error) {
	return openBucket(ctx, url, b.options(alias, d))
}

// options returns the options of the bucket of a root.
func (b *buckets) options(alias string, d command.Daemon) bucket.Options {
	if b.account == nil {
		b.account = bucket.Metrics(d.Metrics)
	}
	return bucket.Options{Account: b.account(alias)}
}

// Close implements command.Places.
func (*buckets) Close() {}

// Store implements command.Objects.
func (*buckets) Store(ctx context.Context, url string) (catalog.Store, string, error) {
	store, err := openBucket(ctx, url, bucket.Options{})
	if err != nil {
		return nil, "", err
	}
	name := store.String()
	return store, name, nil
}

// openBucket opens the bucket of a URL. It sends no request.
func openBucket(ctx context.Context, url string, o bucket.Options) (*bucket.Bucket, error) {
	at, err := bucket.Parse(url)
	if err != nil {
		return nil, command.Usage(err)
	}
	return bucket.Open(ctx, at, o)
}

// Open implements command.Objects.
func (*buckets) Open(ctx context.Context, url string) (*source.File, error) {
	at, err := bucket.Parse(url)
	if err != nil {
		return nil, command.Usage(err)
	}
	dir, base := cutLast(at.Path)
	if base == "" {
		return nil, command.Usage(errors.New("want " + bucket.Scheme + "BUCKET/PATH"))
	}
	at.Path = dir
	store, err := bucket.Open(ctx, at, bucket.Options{})
	if err != nil {
		return nil, err
	}
	cat, err := catalog.New([]catalog.Root{{Alias: "s3", Store: store}}, catalog.Options{Verbatim: true})
	if err != nil {
		return nil, err
	}
	file, err := cat.OpenContext(ctx, "s3/"+base)
	if err != nil {
		return nil, err
	}
	file.Move(source.Origin{Name: store.String() + "/" + base})
	return file, nil
}

// cutLast cuts the last element from a path.
func cutLast(path string) (dir, base string) {
	at := strings.LastIndexByte(path, '/')
	return path[:max(at, 0)], path[at+1:]
}
