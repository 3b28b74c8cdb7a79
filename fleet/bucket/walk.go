package bucket

import (
	"context"
	"io/fs"
	"strings"
	"time"
)

// Found is an object that Walk finds.
type Found struct {
	Path string // below the Location
	Size int64
	Tag  string // the ETag, with its quotes
	// Written is when the object was written, zero if the store does not say.
	Written time.Time
}

// Walk calls each for every object below a directory ("." for all), until each returns an error, which Walk returns. It leaves
// out keys that are not names under the rules of package catalog.
func (b *Bucket) Walk(ctx context.Context, rel string, each func(Found) error) error {
	prefix := b.prefix
	if rel != "." {
		prefix = b.key(rel) + "/"
	}
	token := ""
	for {
		var failed error
		next, _, err := b.page(ctx, prefix, token, pageSize, true, func(a attributes) {
			if failed == nil && valid(a.path) {
				failed = each(Found{a.path, a.Bytes, a.tag, a.Written})
			}
		})
		switch {
		case err != nil:
			return err
		case failed != nil:
			return failed
		case next == "":
			return nil
		case next == token:
			return broken(listing, "the list does not go on")
		}
		token = next
	}
}

// Look returns the object with a path.
func (b *Bucket) Look(ctx context.Context, rel string) (Found, error) {
	a, err := b.head(ctx, rel)
	return Found{rel, a.Bytes, a.tag, a.Written}, err
}

// valid reports whether a key below the Location is a name.
func valid(rel string) bool {
	if !fs.ValidPath(rel) || strings.ContainsAny(rel, "\\\x00") {
		return false
	}
	for element := range strings.SplitSeq(rel, "/") {
		if strings.HasPrefix(element, ".") {
			return false
		}
	}
	return true
}

// Tag returns the ETag of an open object, with its quotes.
func (o *object) Tag() string { return o.tag }

// Tagged is the source.Handle of an object.
type Tagged interface{ Tag() string }
