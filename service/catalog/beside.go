package catalog

import (
	"context"
	"io"
	"path"
	"strings"
	"unicode/utf8"
)

// What the form of a replay has no field for may be in a hidden file beside it, as whoever writes a root wrote it. It holds in that root
// only: nobody who uploads or copies a replay brings one.

// maxBeside is a generous bound on the size of an identity, and of a sentence.
const maxBeside = 256

// PreviousName returns the name of the file that has the identity of the replay before one, from the name of its file without
// directories.
func PreviousName(file string) string { return "." + file + ".previous" }

// OverName returns the name of the file that says why nothing more is written to a replay that has no end, from the name of its file
// without directories; and, from "", of the one that says why a directory gets no replay.
func OverName(file string) string { return "." + strings.TrimPrefix(file+".over", ".") }

// Previous returns the identity of the replay before one, by the file beside it. It is empty if there is none, or none that can be read.
func (c *Catalog) Previous(ctx context.Context, name string) string {
	return c.beside(ctx, name, func(dir, file string) string { return dir + PreviousName(file) })
}

// Over returns why nothing more is written to a replay that has no end, by the file beside it. It is empty if there is none, or none that
// can be read.
func (c *Catalog) Over(ctx context.Context, name string) string {
	return c.beside(ctx, name, func(dir, file string) string { return dir + OverName(file) })
}

// OverIn is as Over, for a directory that gets no replay.
func (c *Catalog) OverIn(ctx context.Context, directory string) string {
	return c.beside(ctx, directory, func(dir, file string) string { return path.Join(dir, file, OverName("")) })
}

// Sentence returns a text as Over and OverIn can return it: what is longer is cut.
func Sentence(text string) string {
	const mark = "…"
	text = strings.ToValidUTF8(text, "\uFFFD")
	if most := maxBeside - len("\n"); len(text) > most {
		text = strings.ToValidUTF8(text[:most-len(mark)], "") + mark
	}
	return text
}

// beside returns the line in the file that belongs to a file or a directory.
func (c *Catalog) beside(ctx context.Context, name string, of func(dir, file string) string) string {
	p, err := c.place(name)
	if err != nil || p.root.store().Path(p.rel) == "" { // in a bucket each question takes a request
		return ""
	}
	handle, err := p.root.store().Open(ctx, of(path.Split(p.rel)))
	if err != nil {
		return ""
	}
	defer func() { _ = handle.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(handle, 0, maxBeside+1))
	if err != nil || len(text) > maxBeside || !utf8.Valid(text) {
		return ""
	}
	return strings.TrimSpace(string(text))
}
