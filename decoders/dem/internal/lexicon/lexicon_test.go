package lexicon

import "testing"

// TestName: a number from 300 on means something else in each game.
func TestName(t *testing.T) {
	for _, test := range []struct {
		number              uint32
		dota, cs2, deadlock string
	}{
		{4, "CNETMsg_Tick", "CNETMsg_Tick", "CNETMsg_Tick"},
		{76, "CSVCMsg_UserCommands", "CSVCMsg_UserCommands", "CSVCMsg_UserCommands"},
		{208, "CMsgSosStartSoundEvent", "CMsgSosStartSoundEvent", "CMsgSosStartSoundEvent"},
		{214, "CMsgClothEffectAnimEvent", "CMsgClothEffectAnimEvent", "CMsgClothEffectAnimEvent"},
		{300, "", "", "CCitadelUserMessage_Damage"},
		{319, "", "CCSUsrMsg_VoiceMask", "CCitadelUserMsg_HeroKilled"},
		{373, "", "CCSUsrMsg_SurvivalStats", "CCitadelUserMsg_HeroReleaseVote"},
		{450, "", "CMsgTEPlayerAnimEvent", "CMsgFireBullets"},
		{452, "", "CMsgTEFireBullets", ""},
		{460, "", "", "CMsgServerRequestedTracer"}, // no longer there
		{466, "CDOTAUserMsg_ChatEvent", "", "CMsgRemoveBullet"},
		{468, "CMsgDOTACombatLogEntry", "", ""},
		{636, "CDOTAUserMsg_GiveItem", "", ""},
		{9999, "", "", ""},
	} {
		for g, want := range [...]string{test.dota, test.cs2, test.deadlock} {
			if got := string(Name(Game(g), test.number)); got != want {
				t.Errorf("%s: message %d is %q, want %q", gameNames[g], test.number, got, want)
			}
		}
	}
	for g, want := range [...]int{320, 235, 240} {
		n := 0
		for _, m := range known().numbers[g] {
			if m.name != nil {
				n++
			}
		}
		if n < want {
			t.Errorf("%s has %d messages, want %d at least", gameNames[g], n, want)
		}
	}
}
