package dem

import (
	"math/bits"
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/record"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
)

// listReader delivers the items of a record or message, each as an event.
type listReader struct {
	items pb.Reader
	next  int // of the serializers
	// parsed are class infos.
	classes []ClassInfo
	event   *eventType // of a game event that holds an entry of the combat log
}

// packedSendTables reads the schema of a compressed record. If it is kept, the record need not be decompressed.
func (d *Decoder) packedSendTables(packed []byte) {
	key := schema.KeyOf(packed, d.dotaBuild())
	if s := d.opts.Schemas.cache.Packed(key); s != nil {
		d.useSchema(s, true)
		return
	}
	payload, ok := d.inflateRecord(packed)
	if !ok {
		return
	}
	m := pb.NewReader(payload)
	if alone := m.Next() && m.Num == 1 && len(m.Rest()) == 0; d.decodeSendTables(payload) && alone {
		d.opts.Schemas.cache.Pack(key, d.world.schema)
	}
}

// decodeSendTables reads the schema. It reports whether entities can be decoded with it.
func (d *Decoder) decodeSendTables(payload []byte) bool {
	var data []byte
	for m := d.record("CDemoSendTables", payload); m.Next(); {
		if m.Num == 1 {
			data = m.Raw
		}
	}
	s, ok := d.opts.Schemas.get(data, d.dotaBuild())
	d.useSchema(s, ok)
	return ok
}

func (d *Decoder) useSchema(s *schema.Schema, ok bool) {
	if s != nil {
		d.out.unknown.AddAll(&s.Unknown)
	}
	if !ok {
		d.world.undecoded = true
		d.out.fault(Fault{Kind: FaultKindSchema, MessageId: d.in.Head.Command, Detail: []byte("the send tables cannot be read: entities are not decoded")})
		return
	}
	if d.world.schema != nil {
		d.forgetEntities()
	}
	d.makeListed()
	d.world.schema, d.world.list = s, schema.Key{}
	d.world.learnAnew()
	d.snaps.learnt = nil
	for _, c := range d.world.classes {
		if c != nil {
			d.setRoot(c)
		}
	}
	if d.out.has(KindSerializer) {
		d.stage = stageSerializers
		d.list.next = 0
	}
}

// forgetEntities drops all entities, and the states that others are created from, because their fields belong to a schema
// that is no longer valid. The next key frame has them again.
func (d *Decoder) forgetEntities() {
	some := d.world.store.Clear()
	d.match.clock = clock{}
	if some {
		d.world.lost = true
		d.out.fault(Fault{Kind: FaultKindSchema, MessageId: d.in.Head.Command, Detail: []byte("another schema: all entities are forgotten until the next key frame")})
	}
}

func (d *Decoder) nextSerializer(ev *Event) bool {
	if d.world.schema == nil || d.list.next >= len(d.world.schema.Serializers) {
		d.stage = stagePacket
		if d.in.Head.Command == record.CmdSendTables {
			d.stage = stageFrame
		}
		return false
	}
	s := d.world.schema.Serializers[d.list.next]
	d.list.next++
	d.out.place.nextElement()
	if !d.out.want(KindSerializer, slotEvent) {
		return false
	}
	ev.Kind = KindSerializer
	out := &ev.Serializer
	out.Name, out.Version, out.Fields = s.RawName, s.Version, out.Fields[:0]
	for _, f := range s.Fields {
		out.Fields = append(out.Fields, SerializerField(f.Described))
	}
	return true
}

// classList is what CDemoClassInfo makes of a new decoder: the names, and the classes by id.
type classList struct {
	names   entity.Names
	classes []frozenClass
}

// startClasses reads CDemoClassInfo, or takes over what another decoder has made of it.
func (d *Decoder) startClasses(payload []byte) {
	w := &d.world
	if w.schema == nil || len(w.classes) > 0 {
		d.readClasses(payload)
		return
	}
	key := schema.KeyOf(payload, 0)
	if l, _ := w.schema.Kept.Get(key).(*classList); l != nil && !d.out.has(KindClassInfo) {
		w.tree.Take(key, l.names)
		w.classes, w.listed, w.list = make([]*entity.Class, len(l.classes)), l, key
		d.setClassBits()
		return
	}
	before, bad := d.out.unknown.Sum(), d.readClasses(payload)
	if bad || d.out.unknown.Sum() != before {
		return
	}
	w.list = key
	l := &classList{w.tree.Sow(key), d.frozenClasses().Of}
	w.schema.Kept.Put(key, l, 2*len(payload)+64*len(l.classes))
}

// class returns the class with an id, or nil.
func (d *Decoder) class(id int) *entity.Class {
	w := &d.world
	if uint(id) >= uint(len(w.classes)) {
		return nil
	}
	if l := w.listed; l != nil && w.classes[id] == nil && l.classes[id].there {
		d.makeClass(new(entity.Class), id, l.classes[id])
	}
	return w.classes[id]
}

// makeListed makes all classes that were not met yet, because something that classes depend on is about to change.
func (d *Decoder) makeListed() {
	if d.world.listed == nil {
		return
	}
	for id := range d.world.classes {
		d.class(id)
	}
	d.world.listed = nil
}

// makeClass makes c the class with an id.
func (d *Decoder) makeClass(c *entity.Class, id int, from frozenClass) {
	name := d.Name(from.name)
	c.Id, c.Name = int32(id), from.name
	d.world.classes[id] = c
	d.choose(c, name)
	d.world.tree.Plant(c, from.serializer)
	d.giveRoles(c, name)
}

// readClasses is startClasses for a decoder that reads all classes. It reports whether they cannot be read to the end.
func (d *Decoder) readClasses(payload []byte) (bad bool) {
	d.list.classes = d.list.classes[:0]
	d.list.next = 0
	m := d.record("CDemoClassInfo", payload)
	for m.Next() {
		if m.Num != 1 {
			continue
		}
		var c ClassInfo
		id := int32(0)
		for q := m.Message(); q.Next(); {
			switch q.Num {
			case 1:
				id = q.Int32()
			case 2:
				c.Name = q.Raw
			case 3:
				c.TableName = q.Raw
			}
		}
		if id < 0 || id >= maxClassID || len(d.list.classes) >= maxClassID {
			m.Fail()
			break
		}
		c.Id = uint32(id)
		d.addClass(id, c.Name)
		d.list.classes = append(d.list.classes, c)
	}
	if m.Bad {
		d.out.fault(Fault{Kind: FaultKindSchema, MessageId: d.in.Head.Command, Detail: []byte("the list of classes cannot be read to its end")})
	}
	d.setClassBits()
	d.stage = stageClasses
	return m.Bad
}

func (d *Decoder) setClassBits() {
	if d.world.maxClasses == 0 {
		d.world.classBits = bits.Len(uint(len(d.world.classes)))
	}
}

// serverClasses reads CSVCMsg_ClassInfo, which is empty if the file has a record with the same contents.
func (d *Decoder) serverClasses(ev *Event, b []byte) bool {
	m := d.message(svcClassInfo, b)
	for m.Next() {
		if m.Num != 2 {
			continue
		}
		var id int32
		var name []byte
		for q := m.Message(); q.Next(); {
			switch q.Num {
			case 1:
				id = q.Int32()
			case 3:
				name = q.Raw
			}
		}
		if id < 0 || id >= maxClassID {
			return d.badMessage(ev, svcClassInfo, b)
		}
		d.addClass(id, name)
	}
	return false
}

// maxClassID limits the numbers of classes.
const maxClassID = 1 << 16

func (d *Decoder) addClass(id int32, name []byte) {
	d.makeListed()
	for int(id) >= len(d.world.classes) {
		d.world.classes = append(d.world.classes, nil)
	}
	c := &entity.Class{Id: id, Name: d.world.tree.Intern(name)}
	d.choose(c, string(name))
	d.world.classes[id] = c
	d.snaps.classes, d.world.list = nil, schema.Key{}
	if d.world.schema != nil {
		d.setRoot(c)
	}
}

// choose notes whether a new class is delivered.
func (d *Decoder) choose(c *entity.Class, name string) {
	c.Wanted = d.out.wantsEntities() && (d.opts.Classes == nil || d.opts.Classes(name))
	c.Decoded = c.Wanted || d.out.has(KindFault)
	c.Narrow = c.Wanted && d.opts.Fields != nil && !d.out.has(KindFault)
}

// setRoot connects a class to the serializer with its name.
func (d *Decoder) setRoot(c *entity.Class) {
	name := d.Name(c.Name)
	d.world.tree.Plant(c, d.world.schema.Lookup(name, 0))
	d.giveRoles(c, name)
	d.snaps.classes = nil
}

// giveRoles notes the uses of a class besides its events.
func (d *Decoder) giveRoles(c *entity.Class, name string) {
	if d.match.game == gameDota {
		c.Rules = name == "CDOTAGamerulesProxy" && d.out.clock
		if c.Roster = name == "CDOTA_PlayerResource" && d.out.roster; c.Roster {
			d.match.roster.setClass(c)
		}
		c.Side = slices.Index(sideClasses[:], name) + 1
		c.Ward = wardTypes[name] != WardTypeUnspecified && d.facts.wards
		c.Decoded = c.Decoded || c.Rules || c.Roster
		c.Narrow = c.Narrow && !c.Rules && !c.Roster
	}
	c.Rounds = d.match.game == gameCS2 && name == rulesClass
	if d.out.players && holdsPlayers(d.match.game, c, name) {
		c.Decoded, c.Narrow = true, false
	}
	d.world.watch(c)
}

func (d *Decoder) nextClass(ev *Event) bool {
	if d.list.next >= len(d.list.classes) {
		d.stage = stageFrame
		return false
	}
	c := d.list.classes[d.list.next]
	d.list.next++
	d.out.place.nextElement()
	if !d.out.want(KindClassInfo, slotEvent) {
		return false
	}
	ev.Kind, ev.ClassInfo = KindClassInfo, c
	return true
}

// serverInfo reads CSVCMsg_ServerInfo.
func (d *Decoder) serverInfo(ev *Event, b []byte) bool {
	s := ServerInfo{PlayerSlot: -1}
	m := d.message(svcServerInfo, b)
	for m.Next() {
		switch m.Num {
		case 1:
			s.Protocol = m.Int32()
		case 2:
			s.ServerCount = m.Int32()
		case 3:
			s.IsDedicated = m.Bool()
		case 4:
			s.IsHltv = m.Bool()
		case 10:
			s.MaxClients = m.Int32()
		case 11:
			s.MaxClasses = m.Int32()
		case 12:
			s.PlayerSlot = m.Int32()
		case 13:
			s.TickInterval = m.Float32()
		case 14:
			s.GameDir = m.Raw
		case 15:
			s.MapName = m.Raw
		case 16:
			s.SkyName = m.Raw
		case 17:
			s.HostName = m.Raw
		case 18:
			s.AddonName = m.Raw
		}
	}
	if m.Bad {
		return d.badMessage(ev, svcServerInfo, b)
	}
	d.match.build = buildOf(s.GameDir)
	s.GameBuild = int32(d.match.build)
	if d.match.game == gameUnknown {
		d.makeListed()
		d.match.setGame(gameByName(s.GameDir))
	}
	if s.MaxClasses > 0 && s.MaxClasses < maxClassID {
		d.world.maxClasses = int(s.MaxClasses)
		d.world.classBits = bits.Len(uint(s.MaxClasses))
	}
	if s.TickInterval > 0 && s.TickInterval < 1 {
		d.match.setInterval(s.TickInterval)
	}
	if !d.out.want(KindServerInfo, slotEvent) {
		return false
	}
	ev.Kind, ev.ServerInfo = KindServerInfo, s
	return true
}
