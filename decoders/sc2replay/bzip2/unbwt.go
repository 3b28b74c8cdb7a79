package bzip2

import (
	"encoding/binary"
	"slices"
)

const (
	lanes    = 8 // the bytes of a word
	segments = 256
	isStart  = 1 << 31 // marks an entry at which a segment begins
	small    = 4 << 10 // below this length, one lane is as fast
)

// walker undoes the Burrows-Wheeler transform.
//
// After counting, entry p of the permutation holds the byte at p and the number of the next entry. Following it from
// the origin yields the text. But each step needs the result of the previous one, so the processor waits for the cache
// at every byte.
//
// So some entries, spread evenly, are marked as starts of segments. Several lanes each follow a segment, in lockstep,
// so that their loads overlap. A lane that reaches a mark has finished its segment and knows which one is next. At the
// end, the segments are copied one behind the other.
type walker struct {
	found []byte // a byte of each lane for each round; then what is left of the last segments, one behind the other
	segs  [segments + 1]segment
}

// segment is where a segment's bytes were found, and the start of the next segment.
type segment struct {
	lane, from, to int32  // the rounds
	rest, end      int32  // what was found after the rounds
	next           uint32 // the entry that the following segment starts with
}

// unsort fills text. next holds its bytes, and counts their numbers, in sorted order. origin is the entry of the text's
// last byte.
func (w *walker) unsort(text []byte, next []uint32, counts *[256]uint32, origin int) {
	n := len(text)
	var at [256]uint32
	sum := uint32(0)
	for b, c := range counts {
		at[b] = sum
		sum += c
	}
	for i, v := range next {
		b := byte(v)
		next[at[b]] |= uint32(i) << 8
		at[b]++
	}
	first := next[origin] >> 8
	if n < small {
		p := first
		for i := range text {
			t := next[p]
			text[i] = byte(t)
			p = t >> 8
		}
		return
	}
	w.split(next, first)
	w.join(text, first, uint32(n/segments))
}

// split follows all segments. Segments 0 to segments-1 start at multiples of the stride, the last one at first.
func (w *walker) split(next []uint32, first uint32) {
	n := len(next)
	stride := uint32(n / segments)
	for i := range uint32(segments) {
		next[i*stride] |= isStart
	}
	next[first] |= isStart
	w.found = slices.Grow(w.found[:0], n)[:n] // together, the segments have every entry at most once
	pending := 0                              // the next segment that no lane follows yet
	skip := segments + 1                      // a stride segment that equals the last one
	if first%stride == 0 && first/stride < segments {
		skip = int(first / stride)
	}
	var seg [lanes]int  // that each lane follows, or -1
	var p [lanes]uint32 // the entries that are next
	fresh := 0          // the lanes whose next entry is the first one of their segment, as bits
	take := func(l, round int) bool {
		if pending == skip {
			pending++
		}
		if pending > segments {
			seg[l] = -1
			return false
		}
		seg[l], p[l], fresh = pending, uint32(pending)*stride, fresh|1<<l
		if pending == segments {
			p[l] = first
		}
		w.segs[pending] = segment{lane: int32(l), from: int32(round)}
		pending++
		return true
	}
	for l := range lanes {
		take(l, 0)
	}
	round, rest := 0, w.found
rounds:
	for ; len(rest) >= lanes; round++ {
		var t [lanes]uint32
		for l := range lanes {
			if t[l] = next[p[l]]; t[l]&isStart == 0 {
				continue
			}
			if fresh&(1<<l) == 0 {
				w.segs[seg[l]].to, w.segs[seg[l]].next = int32(round), p[l]
				if !take(l, round) {
					break rounds
				}
			}
			t[l] = next[p[l]] &^ isStart
		}
		fresh = 0
		// These rounds, in which no segment ends, take nearly all of the time. Everything is in registers.
		t0, t1, t2, t3, t4, t5, t6, t7 := t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]
		for {
			binary.LittleEndian.PutUint64(rest, uint64(byte(t0))|uint64(byte(t1))<<8|uint64(byte(t2))<<16|uint64(byte(t3))<<24|
				uint64(byte(t4))<<32|uint64(byte(t5))<<40|uint64(byte(t6))<<48|uint64(byte(t7))<<56)
			rest = rest[lanes:]
			n0, n1, n2, n3, n4, n5, n6, n7 := next[t0>>8], next[t1>>8], next[t2>>8], next[t3>>8], next[t4>>8], next[t5>>8], next[t6>>8], next[t7>>8]
			if (n0|n1|n2|n3|n4|n5|n6|n7)&isStart != 0 || len(rest) < lanes {
				break
			}
			t0, t1, t2, t3, t4, t5, t6, t7 = n0, n1, n2, n3, n4, n5, n6, n7
			round++
		}
		p = [lanes]uint32{t0 >> 8, t1 >> 8, t2 >> 8, t3 >> 8, t4 >> 8, t5 >> 8, t6 >> 8, t7 >> 8}
	}
	// The last segments are finished one after the other.
	end := n - len(rest)
	for l, s := range seg {
		if s < 0 {
			continue
		}
		g := &w.segs[s]
		g.to, g.rest = int32(round), int32(end)
		for begun := fresh&(1<<l) == 0; end < n; end++ {
			t := next[p[l]]
			if t&isStart != 0 && begun {
				break
			}
			begun = true
			w.found[end] = byte(t)
			p[l] = t &^ isStart >> 8
		}
		g.end, g.next = int32(end), p[l]
	}
}

// join copies the segments into text, in their order.
func (w *walker) join(text []byte, first, stride uint32) {
	p := first
	for len(text) > 0 {
		s := &w.segs[segments]
		if p != first {
			s = &w.segs[p/stride]
		}
		n := min(int(s.to-s.from), len(text))
		for i, from := 0, w.found[s.from*lanes:]; i < n; i++ {
			text[i] = from[i*lanes+int(s.lane)]
		}
		k := n + copy(text[n:], w.found[s.rest:s.end])
		if k == 0 {
			return // every segment has at least one byte
		}
		text, p = text[k:], s.next
	}
}
