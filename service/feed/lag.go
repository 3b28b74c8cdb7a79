package feed

// Behind is how many bytes of the file were there when it was looked at last and are not decoded yet. While a game goes on it is
// a part of a record at most.
func (f *Feed) Behind() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.started || f.ended != nil {
		return 0
	}
	return max(f.present-f.head.Offset, 0)
}
