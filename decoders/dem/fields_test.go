package dem_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// combatLogFields are the fields of CMsgDOTACombatLogEntry by their numbers, from 1 on.
var combatLogFields = []string{
	"Type", "TargetName", "TargetSourceName", "AttackerName", "DamageSourceName", "InflictorName", "IsAttackerIllusion",
	"IsAttackerHero", "IsTargetIllusion", "IsTargetHero", "IsVisibleRadiant", "IsVisibleDire", "Value", "Health",
	"Timestamp", "StunDuration", "SlowDuration", "IsAbilityToggleOn", "IsAbilityToggleOff", "AbilityLevel", "LocationX",
	"LocationY", "GoldReason", "TimestampRaw", "ModifierDuration", "XpReason", "LastHits", "AttackerTeam", "TargetTeam",
	"ObsWardsPlaced", "AssistPlayer0", "AssistPlayer1", "AssistPlayer2", "AssistPlayer3", "StackCount", "HiddenModifier",
	"IsTargetBuilding", "NeutralCampType", "RuneType", "AssistPlayers", "IsHealSave", "IsUltimateAbility",
	"AttackerHeroLevel", "TargetHeroLevel", "Xpm", "Gpm", "EventLocation", "TargetIsSelf", "DamageType",
	"InvisibilityModifier", "DamageCategory", "Networth", "BuildingType", "ModifierElapsedDuration", "SilenceModifier",
	"HealFromLifesteal", "ModifierPurged", "SpellEvaded", "MotionControllerModifier", "LongRangeKill",
	"ModifierPurgeAbility", "ModifierPurgeNpc", "RootModifier", "TotalUnitDeathCount", "AuraModifier",
	"ArmorDebuffModifier", "NoPhysicalDamageModifier", "ModifierAbility", "ModifierHidden", "InflictorIsStolenAbility",
	"KillEaterEvent", "UnitStatusLabel", "SpellGeneratedAttack", "AtNightTime", "AttackerHasScepter", "NeutralCampTeam",
	"RegeneratedHealth", "WillReincarnate", "UsesCharges", "TrackedStatId", "ModifierPurgedDuration", "HealFromRegen",
}

// TestCombatLogFields: each field of an entry of the combat log arrives under its own name, and nothing else does.
func TestCombatLogFields(t *testing.T) {
	names := []demtest.Entry{{Index: 0, Key: ""}}
	for i := 1; i < 100; i++ {
		names = append(names, demtest.Entry{Index: i, Key: fmt.Sprint("name ", i)})
	}
	var messages []demtest.Message
	var want []dem.CombatLog
	for i, name := range combatLogFields {
		var c dem.CombatLog
		v, p := reflect.ValueOf(&c).Elem().FieldByName(name), demtest.Proto(nil)
		number := i + 1
		switch v.Interface().(type) {
		case []byte:
			p = p.Varint(number, int64(number))
			v.SetBytes([]byte(fmt.Sprint("name ", number)))
		case bool:
			p = p.Varint(number, 1)
			v.SetBool(true)
		case float32:
			p = p.Float(number, float32(number)+0.5)
			v.SetFloat(float64(number) + 0.5)
		case []int32:
			p = p.Varint(number, 7).Varint(number, 8)
			v.Set(reflect.ValueOf([]int32{7, 8}))
		case dem.CombatLogType: // the game's number plus one
			p = p.Varint(number, 4)
			v.SetInt(5)
		case int32:
			p = p.Varint(number, int64(-number))
			v.SetInt(int64(-number))
		default:
			p = p.Varint(number, int64(100+number))
			v.SetUint(uint64(100 + number))
		}
		messages = append(messages, demtest.Message{ID: 554, Data: p})
		want = append(want, c)
	}
	purchase := demtest.Proto(nil).Varint(1, int64(dem.CombatLogTypePurchase)-1).Varint(13, 9)
	messages = append(messages, demtest.Message{ID: 554, Data: purchase})
	want = append(want, dem.CombatLog{Type: dem.CombatLogTypePurchase, Value: 9, ValueName: []byte("name 9")})

	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Table{Varint: true}.Create("CombatLogNames", false, names...)))
	d.Packet(1, messages...)
	d.Record(demtest.CmdStop, 1, nil)
	n := 0
	if err := run(dem.New(bytes.NewReader(d.Bytes()), dem.Options{}), func(ev *dem.Event) {
		if ev.Kind != dem.KindCombatLog {
			return
		}
		got := ev.CombatLog
		if len(got.AssistPlayers) == 0 {
			got.AssistPlayers = nil // it is used again
		}
		if n < len(want) {
			if diff := cmp.Diff(want[n], got); diff != "" {
				t.Errorf("field %d (-want +got):\n%s", n+1, diff)
			}
		}
		n++
	}); err != nil || n != len(want) {
		t.Fatalf("%d entries, want %d, %v", n, len(want), err)
	}
}

// TestModifierFields: each field of an entry of ActiveModifiers arrives under its own name, and what is missing is absent.
func TestModifierFields(t *testing.T) {
	const nothing = 1<<24 - 1 // the handle of no entity
	absent := dem.Modifier{
		State: dem.ModifierStateActive, Duration: -1, Parent: nothing, Caster: nothing, Ability: nothing, AuraOwner: nothing,
	}
	message := func() demtest.Proto { return nil }
	var entries []demtest.Entry
	var want []dem.Modifier
	add := func(p demtest.Proto, change func(m *dem.Modifier)) {
		m := absent
		m.Slot, m.Raw = uint32(len(want)), p
		change(&m)
		entries = append(entries, demtest.Entry{Index: len(want), Key: fmt.Sprint(len(want)), HasValue: true, Value: p})
		want = append(want, m)
	}
	add(message().Varint(1, 2), func(m *dem.Modifier) { m.State = 2 })
	add(message().Varint(2, 12), func(m *dem.Modifier) { m.Parent = 12 })
	add(message().Varint(3, 13), func(m *dem.Modifier) { m.Index = 13 })
	add(message().Varint(4, 14), func(m *dem.Modifier) { m.Serial = 14 })
	add(message().Varint(5, 1), func(m *dem.Modifier) { m.Name = []byte("modifier_b") })
	add(message().Varint(6, 16), func(m *dem.Modifier) { m.AbilityLevel = 16 })
	add(message().Varint(7, 17), func(m *dem.Modifier) { m.StackCount = 17 })
	add(message().Float(8, 18.5), func(m *dem.Modifier) { m.CreationTime = 18.5 })
	add(message().Float(9, 19.5), func(m *dem.Modifier) { m.Duration = 19.5 })
	add(message().Varint(10, 20), func(m *dem.Modifier) { m.Caster = 20 })
	add(message().Varint(11, 21), func(m *dem.Modifier) { m.Ability = 21 })
	add(message().Varint(14, 1), func(m *dem.Modifier) { m.Subtle = true })
	add(message().Varint(23, 1), func(m *dem.Modifier) { m.Aura = true })
	add(message().Text(32, "of a script"), func(m *dem.Modifier) { m.Name = []byte("of a script") })
	add(message().Varint(34, 22), func(m *dem.Modifier) { m.AuraOwner = 22 })

	names := demtest.Table{Varint: true}.Create("ModifierNames", false,
		demtest.Entry{Index: 0, Key: "modifier_a"}, demtest.Entry{Index: 1, Key: "modifier_b"})
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(names, demtest.Table{Varint: true}.Create("ActiveModifiers", false, entries...)))
	d.Record(demtest.CmdStop, 1, nil)
	n := 0
	if err := run(dem.New(bytes.NewReader(d.Bytes()), dem.Options{}), func(ev *dem.Event) {
		if ev.Kind == dem.KindModifier && n < len(want) {
			if diff := cmp.Diff(want[n], ev.Modifier); diff != "" {
				t.Errorf("entry %d (-want +got):\n%s", n, diff)
			}
			n++
		}
	}); err != nil || n != len(want) {
		t.Fatalf("%d modifiers, want %d, %v", n, len(want), err)
	}
}
