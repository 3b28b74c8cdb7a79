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

// take counts bytes that a writer holds more, or fewer: of what describes its rows, and of their values.
func (b *Budget) take(f *parquetFile, about, values int) {
	f.cost += about
	f.values += values
	b.held += about + values
}

// keep moves values to files until the budget is kept, those of the writer first that has most. If there are few and what describes the
// moved ones is too much, it makes a row group of the rows of the writer that holds most.
func (b *Budget) keep() error {
	for b.held > b.most {
		w := slices.MaxFunc(b.writers, func(v, w *parquetFile) int { return v.values - w.values })
		free := w.move
		if w.values <= b.most/64 {
			w = slices.MaxFunc(b.writers, func(v, w *parquetFile) int { return v.held() - w.held() })
			free = w.finishGroup
		}
		if err := free(); err != nil {
			return err
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
	b.held -= f.held()
	b.writers = slices.DeleteFunc(b.writers, func(w *parquetFile) bool { return w == f })
}
