package source

import (
	"errors"
	"io"
	"sync"
)

// An Ahead reads parts of aheadPart bytes and holds aheadParts of them at most.
const (
	aheadPart  = 64 * kib
	aheadParts = 2
)

// Ahead reads and unpacks an upload in a goroutine of its own, so that its reader never waits for the sender. It belongs to
// one reader.
type Ahead struct {
	changed chan struct{}
	full    chan []byte // closed after the last part
	free    chan []byte
	stop    chan struct{}
	ended   sync.WaitGroup

	part, rest []byte // the part being read, and its unread rest

	mu   sync.Mutex
	read int64
	err  error // why there are no more bytes
}

func readAhead(r io.Reader) *Ahead {
	a := &Ahead{
		changed: make(chan struct{}, 1),
		full:    make(chan []byte, aheadParts),
		free:    make(chan []byte, aheadParts),
		stop:    make(chan struct{}),
	}
	for range aheadParts {
		a.free <- make([]byte, aheadPart)
	}
	a.ended.Go(func() { a.fill(r) })
	return a
}

// fill reads until the upload ends or the Ahead is closed.
func (a *Ahead) fill(r io.Reader) {
	for {
		var part []byte
		select {
		case part = <-a.free:
		case <-a.stop:
			return
		}
		n, err := r.Read(part)
		if n > 0 {
			a.full <- part[:n] // does not block: the channel has room for all parts
		} else {
			a.free <- part
		}
		a.mu.Lock()
		a.read += int64(n)
		if a.err = err; err != nil {
			close(a.full) // with the lock held: a caller to whom Look has reported the end can read up to it
		}
		a.mu.Unlock()
		select {
		case a.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// Read implements io.Reader, but never waits: it returns 0, io.EOF if no byte has arrived yet.
func (a *Ahead) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		if a.part != nil {
			a.free <- a.part[:aheadPart]
			a.part = nil
		}
		select {
		case part, ok := <-a.full:
			if !ok {
				_, err := a.Look()
				return 0, err
			}
			a.part, a.rest = part, part
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Changed receives when there may be more bytes, or when the upload has ended.
func (a *Ahead) Changed() <-chan struct{} { return a.changed }

// Look returns how many bytes were read ahead in total. Once the upload has ended it returns the reason: io.EOF at its end.
func (a *Ahead) Look() (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.read, a.err
}

// close stops the goroutine. It waits until the upload's Read returns.
func (a *Ahead) close() {
	close(a.stop)
	a.ended.Wait()
}

// ReadAhead starts a goroutine that reads and unpacks an upload. From then on reading an Input never waits: it returns 0, io.EOF
// if no byte has arrived yet. ReadAhead is called once, before Input. Close waits for the goroutine, which may be in a Read of
// the upload: that Read must return first.
func (f *File) ReadAhead() (*Ahead, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.handle != nil || f.taken || f.ahead != nil {
		return nil, errors.New("only an upload that nobody reads yet can be read ahead")
	}
	f.ahead = readAhead(f.front)
	f.front = f.ahead
	return f.ahead, nil
}
