package datafile

// Held is how much memory the file holds of what grows with it, in bytes: its tables and items, and what is known of them. It
// is cheap to ask.
func (f *File) Held() int64 {
	n := len(f.types) + len(f.itemOffsets) + len(f.dataOffsets) + len(f.dataSizes) + len(f.items)
	return int64(n + 4*len(f.plan.groupOf) + 8*len(f.plan.badGroups) + 8*len(f.plan.used))
}
