package codec_test

import (
	"bytes"
	"testing"

	"github.com/replayd/replayd/replay/codec"
)

// TestShare checks that a batch does not modify shared events, and that Reset restores its own memory.
func TestShare(t *testing.T) {
	own := make([]byte, 0, 64)
	b := codec.Batch{Events: own}
	all := []byte("first second third")
	b.Share(all[6:12], 1)
	if !b.Shared() || string(b.Events) != "second" || b.Count != 1 {
		t.Fatalf("%q, %d events", b.Events, b.Count)
	}
	b.Events = append(b.Events, "!!!!!!!"...)
	if string(all) != "first second third" {
		t.Errorf("what was shared became %q", all)
	}
	b.Reset()
	if b.Shared() || b.Count != 0 || len(b.Events) != 0 || cap(b.Events) != cap(own) {
		t.Errorf("shared %v, %d events, memory of %d bytes", b.Shared(), b.Count, cap(b.Events))
	}
	b.Events = append(b.Events, "own"...)
	if !bytes.Equal(own[:3], []byte("own")) {
		t.Error("its own memory did not come back")
	}
}
