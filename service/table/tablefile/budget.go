package tablefile

import "slices"

// Budget limits the memory of the rows that all writers of it hold together. It must not be used concurrently, nor may its writers.
type Budget struct {
	most, held int
	writers    []*parquetFile
	packer     packer
}

// NewBudget returns a budget of so many bytes of compressed rows. When more are held, they become row groups of their Parquet files, but
// for those of files that hold little. So with a larger budget row groups are larger, and there are fewer.
func NewBudget(most int) *Budget { return &Budget{most: most} }

// take counts n bytes that a writer holds more, or less than 0.
func (b *Budget) take(f *parquetFile, n int) {
	if b.held += n; !slices.Contains(b.writers, f) {
		b.writers = append(b.writers, f)
	}
}

// add counts n bytes that a writer holds more, and finishes row groups until the budget is kept.
func (b *Budget) add(f *parquetFile, n int) error {
	b.take(f, n)
	for little := b.most / 8; b.held > b.most; little /= 2 {
		for _, w := range b.writers {
			if w.held <= little {
				continue
			}
			if err := w.finishGroup(); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove forgets a writer that holds nothing any more.
func (b *Budget) remove(f *parquetFile) {
	b.writers = slices.DeleteFunc(b.writers, func(w *parquetFile) bool { return w == f })
}
