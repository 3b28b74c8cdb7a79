package source

import (
	"errors"
	"io"
	"sync"
)

// aheadPart is how many bytes an Ahead reads at once, and aheadParts how many such parts it holds at most.
const (
	aheadPart  = 64 * kib
	aheadParts = 2
)

// Ahead reads an upload, unpacked, so that the reader never waits for the sender: a goroutine of its own
// does. It belongs to one reader.
type Ahead struct {
	changed chan struct{}
	full    chan []byte // closed behind the last part
	free    chan []byte
	stop    chan struct{}
	ended   sync.WaitGroup

	part, rest []byte // the part that is being read, and what is left of it

	mu   sync.Mutex
	read int64
	err  error // why there is no more
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

// fill reads until there is no more, or the reader was closed.
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
			a.full <- part[:n] // there is room for all parts
		} else {
			a.free <- part
		}
		a.mu.Lock()
		a.read += int64(n)
		if a.err = err; err != nil {
			close(a.full) // while Look waits: who heard of the end reads up to it
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

// Read implements io.Reader, but it does not wait: it returns 0, io.EOF where there is nothing yet.
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

// Changed receives when there may be more to read, or there will be no more.
func (a *Ahead) Changed() <-chan struct{} { return a.changed }

// Look returns how many bytes were read ahead in total, and why there will be no more: io.EOF at the end.
func (a *Ahead) Look() (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.read, a.err
}

// close ends the reading. It waits until the stream that is read returns.
func (a *Ahead) close() {
	close(a.stop)
	a.ended.Wait()
}

// ReadAhead has an upload that is read from front to back read, and unpacked, by a goroutine of its own. Inputs are read
// without waiting from then on, and where there is nothing yet they return 0, io.EOF. It is called once, before Input.
// Close waits for the goroutine, and so for the stream that the File was made of: that must return first.
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
