package sc2replay

// Held is how much memory the decoder holds of what grows with the file, in bytes: the event streams, unpacked. It is cheap to
// ask.
func (d *Decoder) Held() int64 {
	n := 0
	for _, data := range d.rep.salvaged {
		n += cap(data)
	}
	if d.source != nil {
		n += cap(d.source.game.data) + cap(d.source.message.data) + cap(d.source.tracker.data)
	}
	return int64(n)
}
