package catalog

import (
	"context"
	"io"
	"path"
	"strings"
	"unicode/utf8"
)

// Replays whose form has no field for the replay before them may have it in a hidden file beside theirs, as whoever writes a root wrote
// it. It holds in that root only: nobody who uploads or copies a replay brings one.

// maxIdentity is a generous bound on the size of an identity.
const maxIdentity = 256

// PreviousName returns the name of the file that has the identity of the replay before one, from the name of its file without
// directories.
func PreviousName(file string) string { return "." + file + ".previous" }

// Previous returns the identity of the replay before one, by the file beside it. It is empty if there is none, or none that can be read.
func (c *Catalog) Previous(ctx context.Context, name string) string {
	p, err := c.place(name)
	if err != nil || p.root.store().Path(p.rel) == "" { // in a bucket each question takes a request
		return ""
	}
	dir, file := path.Split(p.rel)
	handle, err := p.root.store().Open(ctx, dir+PreviousName(file))
	if err != nil {
		return ""
	}
	defer func() { _ = handle.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(handle, 0, maxIdentity+1))
	if err != nil || len(text) > maxIdentity || !utf8.Valid(text) {
		return ""
	}
	return strings.TrimSpace(string(text))
}
