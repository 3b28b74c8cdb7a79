package dem

import "github.com/replayd/replayd/decoders/dem/internal/pb"

// The messages of Counter-Strike 2 that become events field by field.

func readCSDamage(_ *Decoder, ev *Event, m *pb.Reader) {
	o := &ev.Damage
	*o = noDamage
	for m.Next() {
		switch m.Num {
		case 1:
			o.Damage = m.Int32()
		case 2:
			o.Origin, o.HasOrigin = vector(m), true
		case 3:
			o.VictimIndex = m.Int32()
		}
	}
}

func readCSHit(_ *Decoder, ev *Event, m *pb.Reader) {
	o := &ev.Damage
	*o = noDamage
	for m.Next() {
		switch m.Num {
		case 1:
			o.AttackerSlot = m.Int32()
		case 2:
			o.VictimSlot = m.Int32()
		case 3:
			o.VictimPosition, o.HasVictimPosition = vector(m), true
		case 4:
			o.HitGroup = m.Int32()
		case 5:
			o.Damage = m.Int32()
		case 6:
			o.Penetrations = m.Int32()
		case 7:
			o.IsKill = m.Bool()
		}
	}
}

func readCSShot(_ *Decoder, ev *Event, m *pb.Reader) {
	s := &ev.Shot
	*s = Shot{
		ShooterIndex: -1, AbilityIndex: -1, IgnoredIndex: -1, Shooter: noHandle, WeaponId: noHandle, MoreTracers: s.MoreTracers[:0],
	}
	for m.Next() {
		switch m.Num {
		case 1:
			s.Origin, s.HasOrigin = vector(m), true
		case 2:
			s.Angles, s.HasAngles = vector(m), true
		case 3:
			s.WeaponId = m.Uint32()
		case 4:
			s.Mode = m.Uint32()
		case 5:
			s.Seed = m.Uint32()
		case 6:
			s.Shooter, s.ShooterIndex = m.Uint32(), slotOf(m.Int32())
		case 7:
			s.Inaccuracy = m.Float32()
		case 8:
			s.RecoilIndex = m.Float32()
		case 9:
			s.Spread, s.HasSpread = m.Float32(), true
		case 10:
			s.SoundType = m.Int32()
		case 11:
			s.ItemDefIndex = m.Uint32()
		case 12:
			s.SoundEffect = m.Uint32()
		case 13:
			s.ShooterPosition, s.HasShooterPosition = vector(m), true
		case 14:
			s.BulletsLeft = m.Uint32()
		case 15:
			s.AttackType = m.Uint32()
		case 16:
			s.readExtra(m)
		case 17:
			s.IsInAir = m.Bool()
		case 18:
			s.IsScoped = m.Bool()
		case 19:
			s.Tick = m.Int32()
		}
	}
}

// readExtra reads an embedded CMsgTEFireBullets.Extra.
func (s *Shot) readExtra(m *pb.Reader) {
	for q := m.Message(); m.Within(&q); {
		switch q.Num {
		case 1:
			s.AimPunch, s.HasAimPunch = vector(&q), true
		case 2:
			s.AttackTick = q.Int32()
		case 3:
			s.AttackTickFraction = q.Float32()
		case 4:
			s.RenderTick = q.Int32()
		case 5:
			s.RenderTickFraction = q.Float32()
		case 6:
			s.InaccuracyMove = q.Float32()
		case 7:
			s.InaccuracyAir = q.Float32()
		case 8:
			s.ExtraType = q.Int32()
		}
	}
}
