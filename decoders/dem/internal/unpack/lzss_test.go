package unpack

import "testing"

// TestUnpackLZSS unpacks literal bytes and overlapping copies.
func TestUnpackLZSS(t *testing.T) {
	// abc, then 6 bytes from 3 back, then the end.
	out, err := LZSS([]byte("LZSS\x09\x00\x00\x00\x18abc\x00\x25\x00\x00"), 100)
	if err != nil || string(out) != "abcabcabc" {
		t.Errorf("%q, %v", out, err)
	}
	for name, data := range map[string]string{
		"too far back": "LZSS\x09\x00\x00\x00\x01\x01\x05", "cut": "LZSS\x09\x00\x00\x00\x18ab",
		"other length": "LZSS\x08\x00\x00\x00\x18abc\x00\x25\x00\x00", "declares too much": "LZSS\xff\xff\xff\x7f\x00",
		"nothing": "LZSS\x00\x00\x00\x00",
	} {
		if _, err := LZSS([]byte(data), 100); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzLZSS unpacks any bytes.
func FuzzLZSS(f *testing.F) {
	f.Add([]byte("LZSS\x05\x00\x00\x00\x10abcd\x00\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !IsLZSS(data) {
			return
		}
		out, err := LZSS(data, 1<<20)
		if err == nil && len(out) > 1<<20 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}
