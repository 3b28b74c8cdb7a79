package tablefile

import (
	"errors"
	"os"
	"slices"
)

// Budget limits the memory of the rows that all writers of it hold together. It must not be used concurrently, nor may its writers.
type Budget struct {
	most, held int
	create     func() (*os.File, error)
	writers    []*parquetFile
	packer     packer
}

// NewBudget returns a budget of so many bytes of compressed rows. When more are held, they go to files that create makes, one for each
// writer that holds much. Closing such a file must remove it. The caller closes the budget.
func NewBudget(most int, create func() (*os.File, error)) *Budget {
	return &Budget{most: most, create: create}
}

// take counts n bytes that a writer holds more, or less than 0.
func (b *Budget) take(f *parquetFile, n int) {
	f.held += n
	if b.held += n; !slices.Contains(b.writers, f) {
		b.writers = append(b.writers, f)
	}
}

// keep moves rows to files until the budget is kept. Where even what describes the rows is too much, they become a row group.
func (b *Budget) keep() error {
	for little := b.most / 8; b.held > b.most; little /= 2 {
		for _, w := range b.writers {
			if w.held <= little {
				continue
			}
			moved, err := w.move()
			if err == nil && !moved {
				err = w.finishGroup()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Close closes the files of writers that were not closed.
func (b *Budget) Close() error {
	var err error
	for _, w := range b.writers {
		err = errors.Join(err, w.waiting.close())
	}
	return err
}

// remove forgets a writer.
func (b *Budget) remove(f *parquetFile) {
	b.held -= f.held
	b.writers = slices.DeleteFunc(b.writers, func(w *parquetFile) bool { return w == f })
}
