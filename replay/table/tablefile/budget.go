package tablefile

import (
	"errors"
	"os"
	"slices"
)

// Budget limits the memory that the rows of all its writers take together. Neither the budget nor its writers may be used
// concurrently.
type Budget struct {
	most, held int
	create     func() (*os.File, error)
	writers    []*parquetFile
	work       workspace
}

// NewBudget returns a budget of most bytes of rows. When writers hold more, their rows go to files that create makes,
// at most one for each writer. Closing such a file must remove it. The caller closes the budget.
func NewBudget(most int, create func() (*os.File, error)) *Budget {
	return &Budget{most: most, create: create}
}

// keep moves values to files until the budget is kept, beginning with the writer that has most. If few values are left and the
// descriptions of moved values take too much, the writer that holds most writes its rows as a row group.
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
