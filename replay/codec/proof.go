package codec

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/source"
)

// Proof checks whether the bytes before a checkpoint are still the bytes that it was made from. Reading bytes is many times as
// fast as decoding them.
type Proof struct {
	Checkpoint Checkpoint

	sum    decoders.Sum
	offset int64
	buf    []byte
}

// NewProof returns a proof of a checkpoint.
func NewProof(c Checkpoint) *Proof { return &Proof{Checkpoint: c} }

// proofStep is the number of bytes that one call of Look reads. That takes about a millisecond.
const proofStep = 4 << 20

// Look reads further. It returns ErrYield while there is more to read. At the end it reports whether the bytes are the same. If
// so, it calls among.Prove; if not, among.Drop.
func (p *Proof) Look(in source.Input, among Checkpoints) (proven bool, err error) {
	if among.Proven(&p.Checkpoint) {
		return true, nil
	}
	if p.buf == nil {
		p.buf = make([]byte, 256<<10)
	}
	for end := min(p.offset+proofStep, p.Checkpoint.Position.Offset); p.offset < end; {
		n, err := in.At.ReadAt(p.buf[:min(int64(len(p.buf)), end-p.offset)], p.offset)
		if n == 0 && err != nil {
			among.Drop()
			return false, nil //nolint:nilerr // it is shorter or unreadable; reading from the beginning returns the error
		}
		p.sum = p.sum.Add(p.buf[:n])
		p.offset += int64(n)
	}
	if p.offset < p.Checkpoint.Position.Offset {
		return false, ErrYield
	}
	if p.sum != p.Checkpoint.Sum {
		among.Drop()
		return false, nil
	}
	among.Prove(&p.Checkpoint)
	return true, nil
}
