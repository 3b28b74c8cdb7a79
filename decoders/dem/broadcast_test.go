package dem_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/broadcast"
)

// broadcasts are the corpus's recorded broadcasts, as demos.
func broadcasts(tb testing.TB) map[string][]byte {
	tb.Helper()
	dirs, err := filepath.Glob(filepath.Join(decodertest.Shared(tb, "corpus", "broadcast"), "*"))
	if err != nil {
		tb.Fatal(err)
	}
	demos := map[string][]byte{}
	for _, dir := range dirs {
		var d broadcast.Demo
		var demo []byte
		for part, pattern := range []string{"*/start.bin", "*/full.bin", "*/delta.bin"} {
			names, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				tb.Fatal(err)
			}
			for _, name := range names {
				body, err := os.ReadFile(name)
				if err == nil {
					demo, err = d.Append(demo, broadcast.Part(part), body)
				}
				if err != nil {
					tb.Fatal(name, err)
				}
			}
		}
		demos[filepath.Base(dir)] = demo
	}
	return demos
}

// TestNamedMessages: every message of the corpus has a name.
func TestNamedMessages(t *testing.T) {
	files := source2(t)
	maps.Copy(files, broadcasts(t))
	for name, data := range files {
		_ = run(dem.New(bytes.NewReader(data), dem.Options{}), func(ev *dem.Event) {
			if ev.Kind == dem.KindMessage && len(ev.Message.Name) == 0 {
				t.Errorf("%s: message %d has no name", name, ev.Message.Id)
			}
		})
	}
}

// boonDamage is a row of the damage that an independent decoder found.
type boonDamage struct {
	Tick           int32   `json:"tick"`
	Damage         int32   `json:"damage"`
	PreDamage      float32 `json:"pre_damage"`
	VictimHealth   int32   `json:"victim_health_new"`
	HitGroup       int32   `json:"hitgroup_id"`
	CritDamage     float32 `json:"crit_damage"`
	AttackerClass  uint32  `json:"attacker_class"`
	VictimClass    uint32  `json:"victim_class"`
	VictimEntity   int32   `json:"victim_entity_id"`
	Ability        uint32  `json:"ability_id"`
	Type           int32   `json:"damage_type"`
	CitadelType    int32   `json:"citadel_type"`
	Flags          uint64  `json:"damage_flags"`
	IsMelee        bool    `json:"is_melee"`
	Absorbed       float32 `json:"damage_absorbed"`
	VictimShield   *int32  `json:"victim_shield_new"`
	VictimShieldOf *int32  `json:"victim_shield_max"`
	ServerTick     *int32  `json:"server_tick"`
}

// TestDeadlockDamage: the damages and the kill of a recorded broadcast are those that an independent decoder found, value by value.
func TestDeadlockDamage(t *testing.T) {
	var want struct {
		Damage struct {
			Data []boonDamage `json:"data"`
		} `json:"damage"`
		Kills struct {
			Data []struct {
				Tick int32 `json:"tick"`
			} `json:"data"`
		} `json:"kills"`
	}
	file := decodertest.Read(t, "reference", "broadcast_deadlock_2025-02_boon.json")
	if err := json.Unmarshal(file, &want); err != nil {
		t.Fatal(err)
	}
	set := func(n int32, is bool) *int32 {
		if !is {
			return nil
		}
		return &n
	}
	var damages []boonDamage
	var kills []string
	counts := map[dem.Kind]int{}
	_ = run(dem.New(bytes.NewReader(broadcasts(t)["deadlock_2025-02"]), dem.Options{}), func(ev *dem.Event) {
		counts[ev.Kind]++
		switch ev.Kind {
		case dem.KindDamage:
			o := &ev.Damage
			damages = append(damages, boonDamage{
				Tick: ev.AtTick, Damage: o.Damage, PreDamage: o.PreDamage, VictimHealth: o.VictimHealth, HitGroup: o.HitGroup,
				CritDamage: o.CritDamage, AttackerClass: o.AttackerClass, VictimClass: o.VictimClass, VictimEntity: o.VictimIndex,
				Ability: o.AbilityId, Type: o.Type, CitadelType: o.CitadelType, Flags: o.Flags, IsMelee: o.CitadelType == 3, Absorbed: o.Absorbed,
				VictimShield: set(o.VictimShield, o.HasVictimShield), VictimShieldOf: set(o.VictimShieldMax, o.HasVictimShieldMax),
				ServerTick: set(o.ServerTick, o.HasServerTick),
			})
		case dem.KindKill:
			kills = append(kills, fmt.Sprint(ev.AtTick))
		case dem.KindFault:
			t.Errorf("%s", ev.Fault.Detail)
		}
	})
	if len(damages) != 593 {
		t.Errorf("%d damages", len(damages))
	}
	if diff := cmp.Diff(want.Damage.Data, damages); diff != "" {
		t.Errorf("damages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"15409"}, kills); diff != "" || want.Kills.Data[0].Tick != 15409 {
		t.Errorf("kills (-want +got):\n%s", diff)
	}
	t.Log(counts)
}
