package table

import "unsafe"

// BeginRows begins rows, at least one, of the table of a kind. All are of one tick. They are at these offsets, the first one with an
// index, and the others with an index of 0. The columns of Format.Event stay without values. It returns the columns behind those, to
// which the caller appends as many values each. Undo removes only the last row.
//
// It is for the moves and inputs of games with many players: appending row by row takes several times as long.
func (s *Set) BeginRows(kind uint8, offsets []int64, index int64, tick int32) []Column {
	t, n := s.tables[kind], len(offsets)
	if t == nil || !t.used {
		t = s.use(kind)
	}
	s.last = t
	t.Rows += n
	s.size += n * t.bytes
	s.before = s.size - t.bytes
	if t.placed {
		placeRows(t.Columns, offsets, index, tick, s.TicksPerSecond)
	}
	rest := t.Columns[Positions:]
	for range t.Layout.Format.Event {
		rest[0].absent(n)
		rest = rest[rest[0].Width():]
	}
	return rest
}

// placeRows appends the positions of n events to the columns of Positions; see Set.BeginRows.
func placeRows(c []Column, offsets []int64, index int64, tick int32, ticksPerSecond float64) {
	n := len(offsets)
	copy(Extend[int64](&c[OffsetColumn], n), offsets)
	if to := Extend[int64](&c[IndexColumn], n); to != nil {
		clear(to)
		to[0] = index
	}
	fill(Extend[int32](&c[TickColumn], n), tick)
	if seconds, known := secondsOf(tick, ticksPerSecond); known {
		fill(Extend[float64](&c[TimeColumn], n), seconds)
	} else {
		c[TimeColumn].absent(n)
	}
}

func fill[T any](to []T, v T) {
	for i := range to {
		to[i] = v
	}
}

// Extend appends n values, of which none is missing, and returns them for the caller to set. T must have the size of the column's
// type. It returns none if the column is Off.
func Extend[T int32 | int64 | uint32 | uint64 | float32 | float64](c *Column, n int) []T {
	if c.Off {
		return nil
	}
	c.there(n)
	var one T
	data := c.grow(n * int(unsafe.Sizeof(one)))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n)
}

// absent appends n values to a column for which the events have none: empty lists, and missing values of other types.
func (c *Column) absent(n int) {
	if c.Field.Type == List && !c.Off {
		c.fill(n)
	} else {
		c.late += n
	}
}
