package xz

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/ulikunitz/xz/lzma"

	"github.com/replayd/replayd/decoders"
)

// unpackLZMA2 unpacks LZMA2 data with a dictionary of 64 KiB, at most limit bytes.
func unpackLZMA2(b []byte, limit int64) ([]byte, error) {
	var l lzma2
	l.reset(&input{r: bufio.NewReader(bytes.NewReader(b))}, 64<<10)
	return io.ReadAll(io.LimitReader(&l, limit))
}

// FuzzLZMA2 compares with another decoder. Both must accept the same data and return the same bytes. Truncated data must yield
// the beginning of the whole.
func FuzzLZMA2(f *testing.F) {
	text := bytes.Repeat([]byte("what is said three times is true; what is said twice "), 20)
	for _, props := range []lzma.Properties{{LC: 3, LP: 0, PB: 2}, {LC: 0, LP: 4, PB: 0}, {LC: 1, LP: 1, PB: 4}} {
		var b bytes.Buffer
		w, err := lzma.Writer2Config{Properties: &props, DictCap: 64 << 10}.NewWriter2(&b)
		if err != nil {
			f.Fatal(err)
		}
		for range 2 { // two chunks
			_, _ = w.Write(text)
			_ = w.Flush()
		}
		_ = w.Close()
		f.Add(b.Bytes())
	}
	f.Add([]byte{1, 0, 4, 'h', 'e', 'l', 'l', 'o', 2, 0, 0, '!', 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 4 << 20
		got, err := unpackLZMA2(b, limit)
		if len(got) == limit {
			return
		}
		var broken *Error
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && (!errors.As(err, &broken) || !errors.Is(broken, decoders.ErrCorrupt)) {
			t.Fatalf("another error: %v", err)
		}
		var want []byte
		r, wantErr := lzma.Reader2Config{DictCap: 64 << 10}.NewReader2(bytes.NewReader(b))
		if wantErr == nil {
			want, wantErr = io.ReadAll(r)
			if wantErr == nil && !r.EOS() {
				wantErr = io.ErrUnexpectedEOF
			}
		}
		if err == nil && (wantErr != nil || !bytes.Equal(got, want)) {
			t.Errorf("unpacked %d bytes; the reference %d, %v", len(got), len(want), wantErr)
		}
		if cut, _ := unpackLZMA2(b[:len(b)/2], limit); err == nil && !bytes.HasPrefix(got, cut) {
			t.Error("what is cut is no beginning of what is whole")
		}
	})
}
