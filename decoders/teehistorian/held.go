package teehistorian

import "unsafe"

// Held is how much memory the decoder holds of what grows with the file, in bytes: what is read of it, and what is known of
// clients. It is cheap to ask.
func (d *Decoder) Held() int64 {
	return int64(d.w.Held() + (int(unsafe.Sizeof(Client{}))+maxNameHeld)*cap(d.state.clients))
}

// maxNameHeld is what the texts of a client take, with what allocating them adds.
const maxNameHeld = 128
