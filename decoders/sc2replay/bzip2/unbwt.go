package bzip2

import "slices"

const (
	lanes    = 4
	segments = 128
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
	lane [lanes][]byte
	segs [segments + 1]segment
}

// segment is the location of a segment's bytes, and the start of the next segment.
type segment struct {
	lane, from, to int32
	next           int32 // the entry that the following segment starts with
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
	for l := range w.lane {
		// A lane's length is unknown. But together the lanes output every byte once, and each one byte at a time.
		w.lane[l] = slices.Grow(w.lane[l][:0], n)[:n]
	}
	pending := 0 // the next segment that no lane follows yet
	start := func(seg int) uint32 {
		if seg == segments {
			return first
		}
		return uint32(seg) * stride
	}
	skip := segments + 1 // a stride segment that equals the last one
	if first%stride == 0 && first/stride < segments {
		skip = int(first / stride)
	}
	take := func() int {
		if pending == skip {
			pending++
		}
		seg := pending
		pending++
		return seg
	}
	var seg [lanes]int
	var p [lanes]uint32
	for l := range lanes {
		seg[l] = take()
		w.segs[seg[l]] = segment{lane: int32(l)}
		t := next[start(seg[l])]
		w.lane[l][0] = byte(t)
		p[l] = t & (isStart - 1) >> 8
	}
	l0, l1, l2, l3 := w.lane[0], w.lane[1][:n], w.lane[2][:n], w.lane[3][:n]
	l0 = l0[:n]
	p0, p1, p2, p3 := p[0], p[1], p[2], p[3]
	i := 1
	for ; i < n; i++ {
		t0, t1, t2, t3 := next[p0], next[p1], next[p2], next[p3]
		if (t0|t1|t2|t3)&isStart != 0 {
			t := [lanes]uint32{t0, t1, t2, t3}
			at := [lanes]uint32{p0, p1, p2, p3}
			done := false
			for l := range lanes {
				if t[l]&isStart == 0 {
					continue
				}
				if pending == skip {
					pending++
				}
				if pending > segments {
					done = true
					break
				}
				w.segs[seg[l]].to, w.segs[seg[l]].next = int32(i), int32(at[l])
				seg[l] = take()
				w.segs[seg[l]] = segment{lane: int32(l), from: int32(i)}
				at[l] = start(seg[l])
				t[l] = next[at[l]] &^ isStart
			}
			if done {
				// Lanes before this one may have begun a segment in this round. They begin it again below.
				p0, p1, p2, p3 = at[0], at[1], at[2], at[3]
				break
			}
			t0, t1, t2, t3 = t[0], t[1], t[2], t[3]
		}
		l0[i], l1[i], l2[i], l3[i] = byte(t0), byte(t1), byte(t2), byte(t3)
		p0, p1, p2, p3 = t0>>8, t1>>8, t2>>8, t3>>8
	}
	p = [lanes]uint32{p0, p1, p2, p3}
	for l := range lanes {
		w.finish(l, seg[l], p[l], i, next)
	}
}

// finish follows the last segment of a lane alone.
func (w *walker) finish(l, seg int, p uint32, i int, next []uint32) {
	lane := w.lane[l]
	for fresh := int(w.segs[seg].from) == i; i < len(lane); i++ {
		t := next[p]
		if t&isStart != 0 && !fresh {
			break
		}
		fresh = false
		lane[i] = byte(t)
		p = t & (isStart - 1) >> 8
	}
	w.segs[seg].to, w.segs[seg].next = int32(i), int32(p)
}

// join copies the segments into text, in their order.
func (w *walker) join(text []byte, first, stride uint32) {
	rest, p := text, first
	for len(rest) > 0 {
		s := &w.segs[segments]
		if p != first {
			s = &w.segs[p/stride]
		}
		k := copy(rest, w.lane[s.lane][s.from:s.to])
		if k == 0 {
			return // every segment has at least one byte
		}
		rest, p = rest[k:], uint32(s.next)
	}
}
