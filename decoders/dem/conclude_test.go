package dem_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

func isFact(k dem.Kind) bool { return strings.HasPrefix(k.String(), "fact_") }

// everything selects all kinds, and facts.
func everything(dem.Kind) bool { return true }

// set returns the parts of a value that are set, with texts as such.
func set(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() && !strings.HasPrefix(v.Type().Field(i).Name, "Has") {
				parts = append(parts, v.Type().Field(i).Name+":"+set(f))
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	case reflect.Slice:
		if text, ok := reflect.TypeAssert[[]byte](v); ok {
			return string(text)
		}
		var parts []string
		for i := range v.Len() {
			parts = append(parts, set(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		return fmt.Sprint(v.Interface())
	}
}

// readableFact returns what is set of a fact.
func readableFact(ev *dem.Event) string {
	switch ev.Kind {
	case dem.KindFactKill:
		return fmt.Sprint(ev.AtTick, " killed ", set(reflect.ValueOf(ev.FactKill)))
	case dem.KindFactDamage:
		return fmt.Sprint(ev.AtTick, " hurt ", set(reflect.ValueOf(ev.FactDamage)))
	case dem.KindFactRound:
		return fmt.Sprint(ev.AtTick, " round ", set(reflect.ValueOf(ev.FactRound)))
	case dem.KindFactPlayerRound:
		return fmt.Sprint(ev.AtTick, " in it ", set(reflect.ValueOf(ev.FactPlayerRound)))
	case dem.KindFactObjective:
		return fmt.Sprint(ev.AtTick, " took ", set(reflect.ValueOf(ev.FactObjective)))
	case dem.KindFactPurchase:
		return fmt.Sprint(ev.AtTick, " bought ", set(reflect.ValueOf(ev.FactPurchase)))
	case dem.KindFactGrenade:
		return fmt.Sprint(ev.AtTick, " grenade ", set(reflect.ValueOf(ev.FactGrenade)))
	case dem.KindFactBlind:
		return fmt.Sprint(ev.AtTick, " blinded ", set(reflect.ValueOf(ev.FactBlind)))
	case dem.KindFactBuyback:
		return fmt.Sprint(ev.AtTick, " bought back ", set(reflect.ValueOf(ev.FactBuyback)))
	case dem.KindFactRune:
		return fmt.Sprint(ev.AtTick, " rune ", set(reflect.ValueOf(ev.FactRune)))
	case dem.KindFactSmoke:
		return fmt.Sprint(ev.AtTick, " smoke ", set(reflect.ValueOf(ev.FactSmoke)))
	case dem.KindFactWard:
		return fmt.Sprint(ev.AtTick, " ward ", set(reflect.ValueOf(ev.FactWard)))
	case dem.KindFactDraft:
		return fmt.Sprint(ev.AtTick, " draft ", set(reflect.ValueOf(ev.FactDraft)))
	default:
		return ""
	}
}

// TestFacts: demos of our own of each game give the facts in the golden files.
func TestFacts(t *testing.T) {
	files := map[string][]byte{"match": demtest.Match(), "round": demtest.Round()}
	for _, game := range playedGames {
		files[game] = demtest.Players(game)
	}
	for name, data := range files {
		var got []string
		_ = run(dem.New(bytes.NewReader(data), dem.Options{Kinds: isFact}), func(ev *dem.Event) { got = append(got, readableFact(ev)) })
		golden(t, filepath.Join("testdata", "facts-"+name+".golden"), []byte(strings.Join(got, "\n")+"\n"))
	}
}

// factFiles are demos of our own that have facts.
func factFiles() map[string][]byte {
	files := map[string][]byte{"match": demtest.Match(), "round": demtest.Round(), "fight": demtest.Fight(), "sample": demtest.Sample()}
	for _, game := range playedGames {
		files[game] = demtest.Players(game)
	}
	files["rounds"], _ = demtest.Rounds(5, 3, demtest.ByCounts)
	return files
}

// TestFactsAnywhere: facts stand behind the event that they are concluded from, at the same places whatever else is delivered. They change no
// other event. TestPositions and TestSnapshots have facts, too.
func TestFactsAnywhere(t *testing.T) {
	for name, data := range factFiles() {
		whole := walk(t, data, dem.Options{Kinds: everything}, nil)
		own := only(whole, func(p *placed) bool { return !isFact(p.kind) })
		facts := only(whole, func(p *placed) bool { return isFact(p.kind) })
		if len(facts) == 0 {
			t.Errorf("%s: no facts", name)
		}
		same(t, name+", without facts", walk(t, data, dem.Options{}, nil), own)
		same(t, name+", only facts", walk(t, data, dem.Options{Kinds: isFact}, nil), facts)
		none := func(dem.Kind, int32, []byte) bool { return false }
		same(t, name+", without types", walk(t, data, dem.Options{Kinds: isFact, Types: none}, nil), facts)
		some := only(whole, func(p *placed) bool { return isFact(p.kind) || p.kind == dem.KindTick })
		same(t, name+", facts and ticks", walk(t, data, dem.Options{Kinds: func(k dem.Kind) bool { return isFact(k) || k == dem.KindTick }}, nil), some)
		kinds := map[dem.Kind]bool{}
		for i := range facts {
			kinds[facts[i].kind] = true
		}
		for kind := range kinds {
			alone := dem.Options{Kinds: func(k dem.Kind) bool { return k == kind }}
			same(t, fmt.Sprintf("%s, only %v", name, kind), walk(t, data, alone, nil), only(facts, func(p *placed) bool { return p.kind == kind }))
		}
		for i := range facts {
			p := &facts[i]
			before := p.at.Own()
			behind := func(q placed) bool { return q.at == before || isEntity(q.kind) && q.at.Offset == before.Offset } // which may change nothing
			if before == p.at || !slices.ContainsFunc(own, behind) {
				t.Errorf("%s: %v %s stands behind no event", name, p.at, p.text)
			}
		}
	}
}

// TestFactsOfPlayers: facts are the same whether all of a demo is decoded, or some of its classes and fields.
func TestFactsOfPlayers(t *testing.T) {
	o := dem.Options{
		Kinds:   func(k dem.Kind) bool { return isFact(k) || k == dem.KindEntityUpdated },
		Classes: func(name string) bool { return strings.Contains(name, "x") },
		Fields:  func(_, field string) bool { return strings.Contains(field, "x") },
	}
	for name, data := range factFiles() {
		fact := func(p *placed) bool { return isFact(p.kind) }
		same(t, name, only(walk(t, data, o, nil), fact), only(walk(t, data, dem.Options{Kinds: everything}, nil), fact))
	}
}

// TestPositionHasNoFacts: the position behind an event without facts is none of a fact, so that cursors there do not depend on facts.
func TestPositionHasNoFacts(t *testing.T) {
	for name, data := range factFiles() {
		for _, p := range walk(t, data, dem.Options{}, nil) {
			if p.next.Own() != p.next {
				t.Fatalf("%s: behind %v the position is %v", name, p.at, p.next)
			}
		}
	}
}

// TestFactsOfBroadcast: the facts of a recorded broadcast of Deadlock have the damages and the kill that an independent decoder found, value
// by value. Who they are is what the samples of players, which were compared with another one, say.
func TestFactsOfBroadcast(t *testing.T) {
	var want struct {
		Damage struct {
			Data []boonDamage `json:"data"`
		} `json:"damage"`
	}
	if err := json.Unmarshal(decodertest.Read(t, "reference", "broadcast_deadlock_2025-02_boon.json"), &want); err != nil {
		t.Fatal(err)
	}
	for i := range want.Damage.Data { // facts leave these out
		w := &want.Damage.Data[i]
		w.AttackerClass, w.VictimClass, w.Ability, w.Flags, w.VictimShield, w.VictimShieldOf, w.ServerTick = 0, 0, 0, 0, nil, nil, nil
	}
	var got []boonDamage
	var kills []string
	var own dem.Damage
	d := dem.New(bytes.NewReader(broadcasts(t)["deadlock_2025-02"]), dem.Options{Kinds: everything})
	_ = run(d, func(ev *dem.Event) {
		f := &ev.FactDamage
		switch ev.Kind {
		case dem.KindDamage:
			own = ev.Damage
		case dem.KindFactKill:
			kills = append(kills, readableFact(ev))
		case dem.KindFactDamage:
			got = append(got, boonDamage{
				Tick: ev.AtTick, Damage: f.Damage, PreDamage: f.PreDamage, VictimHealth: f.Health, HitGroup: f.HitGroup, CritDamage: f.CritDamage,
				VictimEntity: f.Victim.Index, Type: f.Type, CitadelType: f.CitadelType, IsMelee: f.CitadelType == 3, Absorbed: f.Absorbed,
			})
			var sample dem.Event
			for _, a := range []*dem.Actor{&f.Attacker, &f.Victim} {
				if a.PlayerId < 0 {
					continue
				}
				s := &sample.SamplePlayer
				if !d.SamplePlayer(ev.AtTick, int(a.PlayerId), &sample) || s.BodyIndex != a.Index || s.SteamId != a.SteamId || s.Place != a.Place ||
					s.Team != a.Team || !bytes.Equal(s.HeroName, a.HeroName) || !bytes.Equal(s.Name, a.Name) {
					t.Fatalf("%s: the sample is %s", readableFact(ev), readablePlayer(s))
				}
			}
			if f.Attacker.Index != own.AttackerIndex && own.AttackerIndex > 0 || f.Victim.Index != own.VictimIndex || len(f.Weapon) == 0 && own.AbilityIndex > 0 {
				t.Fatalf("%s is of %+v", readableFact(ev), own)
			}
		}
	})
	if diff := cmp.Diff(want.Damage.Data, got); diff != "" {
		t.Errorf("damages (-want +got):\n%s", diff)
	}
	if len(kills) != 1 || !strings.HasPrefix(kills[0], "15409 ") {
		t.Errorf("kills: %q", kills)
	}
}
