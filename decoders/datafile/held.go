package datafile

// Held returns the memory that the file holds and that grows with its size, in bytes: its tables and items, and data derived from
// them. It is cheap to call.
func (f *File) Held() int64 {
	n := len(f.types) + len(f.itemOffsets) + len(f.dataOffsets) + len(f.dataSizes) + len(f.items)
	return int64(n + 4*len(f.plan.groupOf) + 8*len(f.plan.badGroups) + 8*len(f.plan.used))
}
