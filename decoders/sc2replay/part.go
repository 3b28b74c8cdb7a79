package sc2replay

import (
	"errors"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay/mpq"
)

// The parts of a replay are its header, the archive, and the members that are decoded. A problem with a part is stored
// in its PartStatus, and the first problem also in Replay.Fault. Decoding continues with the other parts and ends with
// that error.

// member unpacks a member. It reports whether the archive has it.
func (p *Replay) member(name string, limit int64) (data []byte, found bool, err error) {
	if p.archive == nil {
		data, found = p.salvaged[name]
		return data, found, nil
	}
	m, ok := p.archive.Find(name)
	if !ok {
		return nil, false, nil
	}
	if m.PackedSize > limit+64<<10 {
		kind := decoders.ErrLimit
		if !p.archive.Contains(m) {
			kind = decoders.ErrCorrupt
		}
		return nil, true, decoders.Errorf(decoders.SC2Replay, m.Offset, decoders.NoTick, name, kind,
			"%d bytes, %d when unpacked", m.PackedSize, m.Size)
	}
	if most := min(limit, 64<<10+maxRatio*m.PackedSize); m.Size > most {
		return p.oversized(m, most)
	}
	data, err = p.archive.Append(nil, m)
	if int64(len(data)) > limit { // larger than the archive declares
		return nil, true, decoders.Errorf(decoders.SC2Replay, m.Offset, decoders.NoTick, name, decoders.ErrLimit,
			"%d bytes when unpacked", len(data))
	}
	return data, true, err
}

// oversized unpacks a member that declares more bytes than it may have. If it really has no more than that, the declaration is
// damaged, and oversized returns the contents with the error. Otherwise the size is the error.
func (p *Replay) oversized(m mpq.Member, most int64) (data []byte, found bool, err error) {
	declared := m.Size
	m.Size = most
	data, err = p.archive.Append(nil, m)
	if _, ok := errors.AsType[*decoders.Error](err); err != nil && !ok {
		return nil, true, err // the file cannot be read
	}
	kind := decoders.ErrCorrupt
	if errors.Is(err, mpq.ErrOverflow) || int64(len(data)) >= most {
		kind, data = decoders.ErrLimit, nil
	}
	return data, true, decoders.Errorf(decoders.SC2Replay, m.Offset, decoders.NoTick, m.Name, kind,
		"%d bytes, which are to be %d when unpacked, and at most %d", m.PackedSize, declared, most)
}

// status stores how completely a part was read.
func (p *Replay) status(name string, size, read int, err error) {
	s := PartStatus{Name: []byte(name), Size: int64(size), BytesRead: int64(read), State: PartStateComplete}
	switch {
	case err != nil && read == 0:
		s.State, s.Error = PartStateUnreadable, []byte(err.Error())
	case err != nil:
		s.State, s.Error = PartStatePartial, []byte(err.Error())
	}
	p.Parts = append(p.Parts, s)
	p.fault(name, err)
}

// fault stores the error that ends decoding, unless there is one already.
func (p *Replay) fault(name string, err error) {
	if err != nil && p.Fault == nil {
		p.Fault = asError(err, name)
	}
}

// absent stores that a part is missing. No part needs another one, and some programs leave parts out: clients of the game's API,
// and publishers who remove names of people. An archive that lost a part by damage contradicts itself.
func (p *Replay) absent(name string) {
	p.Parts = append(p.Parts, PartStatus{Name: []byte(name), State: PartStateAbsent})
}

// missingGame returns the error for missing game events, without which there is no replay, or nil. If there is no archive at
// all, Damage describes it.
func (p *Replay) missingGame() error {
	if p.archive == nil {
		return nil
	}
	return decoders.Errorf(decoders.SC2Replay, 0, decoders.NoTick, memberGame, decoders.ErrCorrupt, "the archive does not have it")
}

// checkArchive stores the archive's contradictions.
func (p *Replay) checkArchive() {
	if p.archive == nil {
		return
	}
	faults := p.archive.Faults
	if p.archive.Empty() {
		faults = append(faults, decoders.Errorf(decoders.SC2Replay, 0, decoders.NoTick, "archive", decoders.ErrTruncated,
			"it is empty: the client could not save the replay"))
	}
	for _, err := range faults {
		p.Parts = append(p.Parts, PartStatus{Name: []byte("archive"), State: PartStatePartial, Error: []byte(err.Error())})
		p.fault("archive", err)
	}
}
