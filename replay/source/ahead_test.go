package source

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// slow gives a part at each Read, some time after the one before.
type slow struct {
	parts [][]byte
	err   error
}

func (s *slow) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	if len(s.parts) == 0 {
		return 0, s.err
	}
	n := copy(p, s.parts[0])
	s.parts = s.parts[1:]
	return n, nil
}

func TestReadAheadDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the line is dead")
		a := readAhead(&slow{[][]byte{[]byte("ab"), []byte("cd"), []byte("ef")}, broken})
		defer a.close()
		p := make([]byte, 1)
		for _, want := range []byte("abcdef") {
			if (want-'a')%2 == 0 {
				if n, err := a.Read(p); n != 0 || !errors.Is(err, io.EOF) {
					t.Fatalf("before %c: %d bytes, %v", want, n, err)
				}
				<-a.Changed()
			}
			if n, err := a.Read(p); n != 1 || err != nil || p[0] != want {
				t.Fatalf("got %q, %v, want %c", p[:n], err, want)
			}
		}
		if n, err := a.Look(); n != 6 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		<-a.Changed()
		if n, err := a.Look(); n != 6 || !errors.Is(err, broken) {
			t.Errorf("at the end: %d bytes, %v", n, err)
		}
		if n, err := a.Read(p); n != 0 || !errors.Is(err, broken) {
			t.Errorf("behind the end: %d bytes, %v", n, err)
		}
	})
}

func TestReadAheadIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &slow{bytes.SplitAfter(bytes.Repeat([]byte("x"), 10), []byte("x")), io.EOF}
		a := readAhead(src)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n, _ := a.Look(); n != aheadParts {
			t.Errorf("%d parts were read though nobody reads them", n)
		}
		a.close() // ends while parts wait
	})
}

func TestOnlyUploadsAreReadAhead(t *testing.T) {
	t.Parallel()
	f, err := FromReader(bytes.NewReader([]byte("abc")), "", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.ReadAhead(); err != nil {
		t.Error(err)
	}
	if _, err := f.ReadAhead(); err == nil {
		t.Error("twice")
	}
}
