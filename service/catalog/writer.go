package catalog

import (
	"context"
	"time"

	"github.com/replayd/replayd/replay/source"
)

// Writer returns who writes to the file with that name, and when the file was last written to: see source.WriterOf. It returns
// source.Elsewhere if the file is gone, or if its ID is not id.
func (c *Catalog) Writer(ctx context.Context, name string, id source.ID) (source.Writer, time.Time) {
	p, err := c.place(name)
	if err != nil {
		return source.Elsewhere, time.Time{}
	}
	h, err := p.root.store().Open(ctx, p.rel)
	if err != nil {
		return source.Elsewhere, time.Time{}
	}
	defer h.Close() //nolint:errcheck // nothing was written
	return source.WriterOf(h, id)
}
