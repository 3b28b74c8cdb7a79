package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/entity"
)

// noRoom reports a fault: the states of all entities together became too large.
func (d *Decoder) noRoom(c *entity.Class) {
	d.out.fault(Fault{Kind: FaultKindLimit, MessageId: svcPacketEntities, EntityIndex: uint32(d.ents.index), Class: c.Name, HasClass: true,
		Detail: []byte(entity.ErrNoRoom.Error())})
}
