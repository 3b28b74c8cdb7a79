package dem_test

import (
	"math"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/dem"
)

// eachField decodes a demo, and calls f with each value of the fields with some names, whichever entity has them.
func eachField(t *testing.T, data []byte, f func(v *dem.FieldValue), fields ...string) {
	t.Helper()
	opts := dem.Options{Kinds: isEntity, Fields: func(_, name string) bool { return slices.Contains(fields, name) }}
	decode(t, data, opts, func(_ *dem.Decoder, ev *dem.Event) {
		for fields, i := fieldsOf(ev), 0; i < len(fields); i++ {
			f(&fields[i])
		}
	})
}

// TestMatchID: numbers of matches are larger than 32 bits. Those of January 2024 begin with 75.
func TestMatchID(t *testing.T) {
	var got []uint64
	eachField(t, readCorpus(t, autoDem), func(v *dem.FieldValue) { got = append(got, v.Uint) }, "m_pGameRules.m_unMatchID64")
	if want := []uint64{7518690009}; !slices.Equal(got, want) {
		t.Errorf("matches %d, want %d", got, want)
	}
}

// TestEyeAngles: nobody can look higher than up or lower than down, and heads hardly roll.
func TestEyeAngles(t *testing.T) {
	seen := 0
	for name, data := range source2(t) {
		if name[0] != '1' {
			continue // CS2's demos have numbers for names
		}
		eachField(t, data, func(v *dem.FieldValue) {
			seen++
			if a := v.Vector; a.X < -90 || a.X > 90 || a.Y < -180 || a.Y > 180 || a.Z < -20 || a.Z > 20 {
				t.Errorf("%s: eye angles %v", name, a)
			}
		}, "m_angEyeAngles")
	}
	if seen < 1000 {
		t.Errorf("%d eye angles only", seen)
	}
}

// TestSignedTypes: ids and enums that can be -1 are neither doubled, nor 1 instead.
func TestSignedTypes(t *testing.T) {
	files := source2(t)
	for _, test := range []struct {
		file, field string
		low, high   int64
	}{
		{"auto-20240102-2233-start-____.dem", "m_nPlayerOwnerID", -1, 9},
		{"auto-20240102-2233-start-____.dem", "m_nNextThinkTick", -1, -1},
		{"auto-20240102-2233-start-____.dem", "m_nCourierState", 1, 1},
		{"14011.dem", "m_nPostponeFireReadyTicks", math.MaxInt32, math.MaxInt32},
		{"14011.dem", "m_pGameRules.m_iRoundEndFunFactPlayerSlot", -1, -1},
		{"14150_ag2.dem", "CBodyComponent.m_nAnimationAlgorithm", 0, 3},
		{"deadlock_hltv_10423.dem", "m_eAbilitySlot", 0, 21},
		{"deadlock_hltv_10423.dem", "m_NPCState", 1, 6},
		{"deadlock_hltv_10423.dem", "m_iBucketID", -1, -1},
	} {
		t.Run(test.file+"/"+test.field, func(t *testing.T) {
			seen, low, high := 0, int64(math.MaxInt64), int64(math.MinInt64)
			eachField(t, files[test.file], func(v *dem.FieldValue) {
				if v.ValueCase == dem.FieldValueValueInt {
					seen++
					low, high = min(low, v.Int), max(high, v.Int)
				}
			}, test.field)
			if seen == 0 || low != test.low || high != test.high {
				t.Errorf("%d values from %d to %d, want %d to %d", seen, low, high, test.low, test.high)
			}
		})
	}
}
