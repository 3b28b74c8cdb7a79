package feed

// Behind returns the number of bytes that were in the file when it was last checked and are not decoded yet. While a game is
// running this is at most a part of a record.
func (f *Feed) Behind() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.started || f.ended != nil {
		return 0
	}
	return max(f.present-f.head.Offset, 0)
}
