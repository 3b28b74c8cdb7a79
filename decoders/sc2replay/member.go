package sc2replay

import (
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay/mpq"
)

// chunk is the number of bytes of a member's contents that one event carries.
const chunk = 64 << 10

// knownMembers are searched for even when the archive lists no names.
var knownMembers = []string{
	memberDetails, memberDetails + backup, memberInitData, memberInitData + backup, memberInfo, memberAttributes,
	memberGame, memberMessage, memberTracker, memberMetadata, memberMetadata12,
	"replay.load.info", "replay.sync.events", "replay.sync.history", "replay.smartcam.events", "replay.resumable.events",
	memberLobby, mpq.ListFile, mpq.AttributesFile, "(signature)",
}

// decodedMembers are the members whose contents become other events, or contain nothing about the game.
var decodedMembers = knownMembers[:11]

// member is a member whose contents are delivered undecoded.
type member struct {
	m    mpq.Member
	data []byte // while it is being delivered
	err  error
}

// listMembers lists the events of members: one for each member, and more for large contents.
func (d *Decoder) listMembers() {
	names := slices.Clone(knownMembers)
	for _, name := range d.rep.archive.Names() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		m, ok := d.rep.archive.Find(name)
		if !ok {
			continue
		}
		event := Member{Name: []byte(name), Offset: m.Offset, PackedSize: m.PackedSize, Size: m.Size}
		switch {
		case slices.Contains(decodedMembers, name), name[0] == '(':
			d.head = append(d.head, func(ev *Event) { ev.Kind, ev.Member = KindMember, event })
		case name == memberLobby && !d.reveal:
			event.Redacted = true
			d.head = append(d.head, func(ev *Event) { ev.Kind, ev.Member = KindMember, event })
		default:
			d.listContents(&member{m: m}, event)
		}
	}
}

// listContents lists the events of a member's contents. The first of them unpacks the member when it is delivered.
func (d *Decoder) listContents(m *member, event Member) {
	for offset := int64(0); offset == 0 || offset < min(m.m.Size, maxMember); offset += chunk {
		last := offset+chunk >= min(m.m.Size, maxMember)
		event.DataOffset = offset
		d.head = append(d.head, func(ev *Event) {
			ev.Kind, ev.Member = KindMember, event
			if !d.want[KindMember] {
				return
			}
			if offset == 0 {
				m.data, _, m.err = d.rep.member(m.m.Name, maxMember)
				if n := int64(len(m.data)); m.err == nil && n > m.m.Size && n > chunk {
					m.err = decoders.Errorf(decoders.SC2Replay, m.m.Offset, decoders.NoTick, m.m.Name, decoders.ErrCorrupt,
						"%d bytes, but the archive declares %d", n, m.m.Size)
				}
				if m.err != nil && d.memberErr == nil {
					d.memberErr = asError(m.err, m.m.Name)
				}
			}
			if m.err != nil {
				ev.Member.Error = []byte(m.err.Error())
			}
			if offset < int64(len(m.data)) {
				ev.Member.Data = m.data[offset:min(offset+chunk, int64(len(m.data)))]
			}
			if last {
				m.data = nil // ev refers to the last piece until the next call
			}
		})
	}
}
