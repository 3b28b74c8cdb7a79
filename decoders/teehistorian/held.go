package teehistorian

import "unsafe"

// Held returns the memory that the decoder holds and that grows with the file, in bytes: the window and the clients'
// state. It is cheap to call.
func (d *Decoder) Held() int64 {
	held := int64(d.w.Held() + (int(unsafe.Sizeof(Client{}))+maxNameHeld)*cap(d.state.clients))
	if d.seam != nil {
		held += int64(unsafe.Sizeof(seam{}))
	}
	return held
}

// maxNameHeld is an estimate of the memory of a client's texts, with the overhead of allocating them.
const maxNameHeld = 128
