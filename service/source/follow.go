package source

import (
	"context"
	"errors"
)

// Tail waits for a file to grow. It belongs to one goroutine.
type Tail struct {
	file *File
	sub  *Subscription
}

// Tail makes a Tail of the file. It must be closed. It returns an error for what cannot grow: an upload, a compressed
// file.
func (f *File) Tail(w *Watcher) (*Tail, error) {
	if info := f.Info(); !info.Growable() {
		return nil, errors.New("only a plain file can be followed")
	}
	sub, err := w.Subscribe(f.Path())
	if err != nil {
		return nil, err
	}
	return &Tail{f, sub}, nil
}

// Wait waits until the file has more than the read bytes that the caller has had of it, and returns nil then. Otherwise it
// returns what File.Check returns, or ctx's error. A file that was removed or replaced is first read to its end: only when
// there is nothing more in it does Wait say so.
func (t *Tail) Wait(ctx context.Context, read int64) error {
	for {
		err := t.file.Check()
		more := t.file.Info().Size > read
		switch {
		case more && (err == nil || errors.Is(err, ErrRemoved) || errors.Is(err, ErrReplaced)):
			return nil
		case err != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.sub.C:
		}
	}
}

// Changed receives when the file may have changed; see Subscription.C. Whoever receives from it himself calls Check, not Wait.
func (t *Tail) Changed() <-chan struct{} { return t.sub.C }

// Close ends the waiting. The file stays open.
func (t *Tail) Close() { t.sub.Close() }
