package dem

import (
	"math"

	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// The messages of Deadlock that become events field by field.

func readCitadelDamage(_ *Decoder, ev *Event, m *pb.Reader) {
	o := &ev.Damage
	*o = noDamage
	for m.Next() {
		switch m.Num {
		case 1:
			o.Damage = m.Int32()
		case 2:
			o.PreDamageWhole, o.HasPreDamageWhole = m.Int32(), true
		case 3:
			o.Type = m.Int32()
		case 4:
			o.CitadelType = m.Int32()
		case 5:
			o.Origin, o.HasOrigin = vector(m), true
		case 6:
			o.VictimIndex = m.Int32()
		case 7:
			o.InflictorIndex = m.Int32()
		case 8:
			o.AttackerIndex = m.Int32()
		case 9:
			o.AbilityIndex = m.Int32()
		case 10:
			o.AbsorbedWhole, o.HasAbsorbedWhole = m.Int32(), true
		case 11:
			o.VictimHealthMax = m.Int32()
		case 12:
			o.VictimHealth = m.Int32()
		case 13:
			o.Flags = m.Val
		case 14:
			o.AbilityId = m.Uint32()
		case 15:
			o.AttackerClass = m.Uint32()
		case 16:
			o.VictimClass = m.Uint32()
		case 17:
			o.VictimShieldMax, o.HasVictimShieldMax = m.Int32(), true
		case 18:
			o.VictimShield, o.HasVictimShield = m.Int32(), true
		case 19:
			o.Hits, o.HasHits = m.Int32(), true
		case 20:
			o.HealthLost, o.HasHealthLost = m.Int32(), true
		case 21:
			o.HitGroup = m.Int32()
		case 22:
			o.AttackingIndex = m.Int32()
		case 23:
			o.Direction, o.HasDirection = vector(m), true
		case 24:
			o.IsSecondary = m.Bool()
		case 25:
			o.Effectiveness, o.HasEffectiveness = m.Float32(), true
		case 26:
			o.CritDamage = m.Float32()
		case 27:
			o.PreDamage = m.Float32()
		case 28:
			o.Absorbed = m.Float32()
		case 29:
			o.ServerTick, o.HasServerTick = m.Int32(), true
		}
	}
}

// noDamage is a damage that names no entity and no slot.
var noDamage = Damage{
	VictimIndex: -1, InflictorIndex: -1, AttackerIndex: -1, AbilityIndex: -1, AttackingIndex: -1, AttackerSlot: -1, VictimSlot: -1,
}

func readKill(_ *Decoder, ev *Event, m *pb.Reader) {
	k := &ev.Kill
	*k = Kill{VictimIndex: -1, InflictorIndex: -1, AttackerIndex: -1, ScorerIndex: -1, AssisterIndexes: k.AssisterIndexes[:0]}
	for m.Next() {
		switch m.Num {
		case 1:
			k.VictimIndex = m.Int32()
		case 2:
			k.InflictorIndex = m.Int32()
		case 3:
			k.AttackerIndex = m.Int32()
		case 4:
			k.AssisterIndexes = m.AppendInt32s(k.AssisterIndexes)
		case 5:
			k.ScorerIndex = m.Int32()
		case 6:
			k.RespawnReason, k.HasRespawnReason = m.Int32(), true
		case 7:
			k.VictimTeam = m.Int32()
		}
	}
}

func readKillStreak(_ *Decoder, ev *Event, m *pb.Reader) {
	k := &ev.KillStreak
	*k = KillStreak{Pawn: noHandle, Duration: 5}
	for m.Next() {
		switch m.Num {
		case 1:
			k.Pawn = m.Uint32()
		case 2:
			k.Kills = m.Int32()
		case 3:
			k.IsFirstBlood = m.Bool()
		case 4:
			k.Ended = m.Bool()
		case 5:
			k.Duration = m.Float32()
		}
	}
}

// buildLevels is the build of Deadlock that changed the meaning of the number 4 of a change of an ability to the earlier meaning
// of 5.
const buildLevels = 6711

func readAbilityChange(d *Decoder, ev *Event, m *pb.Reader) {
	a := &ev.AbilityChange
	*a = AbilityChange{PlayerSlot: -1, Number: -1}
	for m.Next() {
		switch m.Num {
		case 1:
			a.PlayerSlot = m.Int32()
		case 2:
			a.AbilityId = m.Uint32()
		case 3:
			a.Number = m.Int32()
		}
	}
	a.Type = abilityChangeType(a.Number, d.match.build)
}

// abilityChangeType returns the meaning of a number in a build of the game. The build is 0 when it is not known.
func abilityChangeType(number int32, build int) AbilityChangeType {
	switch number {
	case 0:
		return AbilityChangeTypePurchased
	case 1:
		return AbilityChangeTypeUpgraded
	case 2:
		return AbilityChangeTypeSold
	case 3:
		return AbilityChangeTypeSwapped
	case 4:
		switch {
		case build >= buildLevels:
			return AbilityChangeTypeLeveledUp
		case build > 0:
			return AbilityChangeTypeFailed
		}
	case 5:
		if build >= buildLevels {
			return AbilityChangeTypeFailed
		}
	}
	return AbilityChangeTypeUnspecified
}

func readCitadelShot(_ *Decoder, ev *Event, m *pb.Reader) {
	s := &ev.Shot
	*s = Shot{ShooterIndex: -1, AbilityIndex: -1, IgnoredIndex: -1, IsFromGun: true, IsPredicted: true, MoreTracers: s.MoreTracers[:0]}
	for m.Next() {
		switch m.Num {
		case 1:
			s.Origin, s.HasOrigin = vector(m), true
		case 2:
			s.Angles, s.HasAngles = vector(m), true
		case 4:
			s.Seed = m.Uint32()
		case 5:
			s.ShooterIndex = m.Int32()
		case 7:
			s.AbilityIndex = m.Int32()
		case 8:
			s.Penetration = m.Float32()
		case 9:
			s.Spread, s.HasSpread = m.Float32(), true
		case 10:
			s.IsFromGun = m.Bool()
		case 11:
			s.Bullets = m.Uint32()
		case 12:
			s.Tracer, s.HasTracer = tracer(m), true
		case 13:
			if len(s.MoreTracers) < maxTracers {
				s.MoreTracers = append(s.MoreTracers, tracer(m))
			} else {
				m.Fail()
			}
		case 14:
			s.OriginalAngles, s.HasOriginalAngles = vector(m), true
		case 15:
			s.WeaponSubclass = m.Uint32()
		case 16:
			s.ShotNumber = m.Uint32()
		case 17:
			s.IgnoredIndex = m.Int32()
		case 18:
			s.MaxRange, s.HasMaxRange = m.Float32(), true
		case 19:
			s.ShotId = m.Uint32()
		case 20:
			s.IsPredicted = m.Bool()
		case 21:
			s.BulletRadius = m.Float32()
		case 22:
			s.BulletSpeed = m.Float32()
		case 23:
			s.BulletGravity = m.Float32()
		case 24:
			s.Muzzle = m.Int32()
		case 25:
			s.IsAbility = m.Bool()
		}
	}
}

// maxTracers bounds the traces of a shot.
const maxTracers = 1 << 10

// tracer reads an embedded CMsgFireBullets.TracerAssignment.
func tracer(m *pb.Reader) (t Tracer) {
	for q := m.Message(); m.Within(&q); {
		switch q.Num {
		case 1:
			t.Resource = q.Val
		case 2:
			t.Bullets = q.Uint32()
		}
	}
	return t
}

func readImpact(_ *Decoder, ev *Event, m *pb.Reader) {
	o := &ev.Impact
	*o = Impact{AbilityIndex: -1, HitIndex: -1, ShooterIndex: -1}
	for m.Next() {
		switch m.Num {
		case 1:
			o.TraceStart, o.HasTraceStart = vector(m), true
		case 2:
			o.Position, o.HasPosition = vector(m), true
		case 3:
			o.Normal, o.HasNormal = vector(m), true
		case 4:
			o.Damage = m.Uint32()
		case 5:
			o.Surface = m.Uint32()
		case 7:
			o.AbilityIndex = slotOf(m.Int32())
		case 8:
			o.HitIndex = slotOf(m.Int32())
		case 9:
			o.Bone = m.Uint32()
		case 10:
			o.WeaponSubclass = m.Uint32()
		case 11:
			o.ShooterIndex = slotOf(m.Int32())
		case 12:
			o.BulletRadius = m.Float32()
		}
	}
}

func readCitadelPing(_ *Decoder, ev *Event, m *pb.Reader) {
	p := &ev.Ping
	*p = Ping{PlayerId: -1, Target: -1}
	for m.Next() {
		switch m.Num {
		case 1:
			p.readCommon(m)
		case 2:
			p.Type = m.Uint32()
		case 3:
			p.Marker = m.Int32()
		case 4:
			p.IsEnemy = m.Bool()
		case 5:
			p.TargetClass = m.Uint32()
		case 6:
			p.IsMinimap = m.Bool()
		case 7:
			p.TargetName = m.Raw
		case 8:
			p.IsBlind = m.Bool()
		}
	}
}

func readCitadelAbilityPing(_ *Decoder, ev *Event, m *pb.Reader) {
	p := &ev.Ping
	*p = Ping{PlayerId: -1, Target: -1}
	for m.Next() {
		switch m.Num {
		case 1:
			p.readCommon(m)
		case 2:
			p.AbilityId = m.Uint32()
		case 3:
			p.Cooldown = m.Float32()
		case 4:
			p.Marker = m.Int32()
		}
	}
}

// readCommon reads an embedded PingCommonData.
func (p *Ping) readCommon(m *pb.Reader) {
	for q := m.Message(); m.Within(&q); {
		switch q.Num {
		case 1:
			p.MessageId = q.Uint32()
		case 2:
			p.Position, p.HasPosition = vector(&q), true
			p.X, p.Y = whole(p.Position.X), whole(p.Position.Y)
		case 3:
			p.Target = slotOf(q.Int32())
		case 4:
			p.PlayerId = q.Int32()
		case 5:
			p.Speech = q.Int32()
		case 6:
			p.Response = q.Raw
		case 7:
			p.Cooldown = q.Float32()
		}
	}
}

// whole returns a coordinate without its fraction; 0 when it is not on any map.
func whole(x float32) int32 {
	if math.Abs(float64(x)) < 1<<30 {
		return int32(x)
	}
	return 0
}

func readCitadelChat(_ *Decoder, ev *Event, m *pb.Reader) {
	c := &ev.Chat
	*c = Chat{PlayerId: -1, EntityIndex: -1, HasAllChat: true}
	for m.Next() {
		switch m.Num {
		case 1:
			c.PlayerId = m.Int32()
		case 2:
			c.Text = m.Raw
		case 3:
			c.AllChat = m.Bool()
		case 4:
			c.LaneColor = m.Int32()
		}
	}
}

func readCitadelChatWheel(_ *Decoder, ev *Event, m *pb.Reader) {
	c := &ev.ChatWheel
	*c = ChatWheel{PlayerId: -1, PawnIndex: -1}
	for m.Next() {
		switch m.Num {
		case 1:
			c.MessageId = m.Uint32()
		case 2:
			c.PlayerId = m.Int32()
		case 3:
			c.PawnIndex = m.Int32()
		case 4:
			c.AccountId = m.Uint32()
		case 5:
			c.HeroId = m.Int32()
		case 6:
			c.Param = m.Raw
		case 7:
			c.LaneColor = m.Int32()
		}
	}
}

// The default types of announcements in the chat, for messages without the field.
const (
	dotaNoAnnouncement    = -1
	citadelNoAnnouncement = 1
)

// withoutType returns the default type of an announcement whose message has none.
func withoutType(id uint32) int32 {
	if id == citadelChatEvent {
		return citadelNoAnnouncement
	}
	return dotaNoAnnouncement
}

func readCitadelChatEvent(_ *Decoder, ev *Event, m *pb.Reader) {
	c := &ev.ChatEvent
	*c = ChatEvent{Type: citadelNoAnnouncement, HeroNames: c.HeroNames[:0], Players: c.Players[:0], Values: c.Values[:0]}
	for m.Next() {
		switch m.Num {
		case 1:
			c.Type = m.Int32()
		case 2:
			c.Values = m.AppendUint32s(c.Values)
		case 3:
			c.Players = m.AppendInt32s(c.Players)
		}
	}
	if len(c.Values) > 0 {
		c.Value = c.Values[0]
	}
}
