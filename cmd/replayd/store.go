package main

import (
	"context"
	"errors"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// openBucket opens the bucket of a URL. It sends no request.
func openBucket(ctx context.Context, url string, o bucket.Options) (*bucket.Bucket, error) {
	at, err := bucket.Parse(url)
	if err != nil {
		return nil, usageError{err}
	}
	return bucket.Open(ctx, at, o)
}

// accountStores registers metrics of the requests to stores, and returns the Account of each root.
func accountStores(reg prometheus.Registerer) func(alias string) func(doing string, ok bool, bytes int64) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "replayd", Name: "store_requests_total",
		Help: "Attempts to ask a store of objects, by root, by what for (list, read, look, write, remove), and by result (ok, failed).",
	}, []string{"root", "operation", "result"})
	received := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "replayd", Name: "store_received_bytes_total", Help: "Bytes of objects that came from a store, by root.",
	}, []string{"root"})
	reg.MustRegister(requests, received)
	operations := map[string]string{"listing": "list", "reading": "read", "looking up": "look", "writing": "write", "removing": "remove"}
	return func(alias string) func(string, bool, int64) {
		return func(doing string, ok bool, bytes int64) {
			result := "ok"
			if !ok {
				result = "failed"
			}
			requests.WithLabelValues(alias, operations[doing], result).Inc()
			received.WithLabelValues(alias).Add(float64(bytes))
		}
	}
}

// openObject opens the object of a URL.
func openObject(ctx context.Context, url string) (*source.File, error) {
	at, err := bucket.Parse(url)
	if err != nil {
		return nil, usageError{err}
	}
	dir, base := cutLast(at.Path)
	if base == "" {
		return nil, usageError{errors.New("want " + bucket.Scheme + "BUCKET/PATH")}
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
