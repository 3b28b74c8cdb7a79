package schema

import "testing"

// FuzzFieldType parses any text as a type.
func FuzzFieldType(f *testing.F) {
	f.Add("CNetworkUtlVectorBase< CHandle< CBaseEntity > >")
	f.Add("CDOTA_AbilityDraftAbilityState[MAX_ABILITY_DRAFT_ABILITIES]")
	f.Fuzz(func(t *testing.T, s string) {
		ft := ParseType(s)
		if ft.count < 0 || ft.count > MaxElements {
			t.Fatalf("%q has %d elements", s, ft.count)
		}
		ft.shape(true)
		ft.shape(false)
	})
}
