package teehistorian_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// savedTee is the text of a character as DDNet 20.1 writes it. Values that say nothing else are their numbers in the text.
func savedTee(name string) []string {
	values := make([]string, 115)
	for i := range values {
		values[i] = fmt.Sprint(i + 1)
	}
	for i := range 8 { // velocity, hook direction, ninja direction, and two checkpoints
		at := []int{54, 55, 62, 63, 71, 95, 110, 111}[i]
		values[at] = fmt.Sprintf("-%d.250000", i)
	}
	values[97], values[98], values[99] = "0", "1", "0" // only the laser teleports
	values[0], values[100] = name, "01020304-0506-4708-890a-0b0c0d0e0f10"
	return values
}

// saved returns the last event of a file with one save.
func saved(t *testing.T, kind, text string) *teehistorian.Event {
	t.Helper()
	d := decode(file(func(w *writer) {
		w.ex("teehistorian-"+kind+"-success@ddnet.tw", func(w *writer) {
			w.int(3)
			w.uuid(someUUID)
			w.text(text)
		})
	}), nil)
	ev := new(teehistorian.Event)
	for errors.Is(nil, d.Next(ev)) {
	}
	return ev
}

func TestSavedTeam(t *testing.T) {
	tee := savedTee("alice")
	text := strings.Join([]string{
		"2\t2\t2\t1\t1",
		strings.Join(tee, "\t"), strings.Join(savedTee("bob"), "\t"),
		"1\t50\t7", "0\t0\t8", "later\tlines",
	}, "\n")
	s := saved(t, "save", text).SaveSuccess.Contents
	if got := saved(t, "load", text).LoadSuccess.Contents; !cmp.Equal(got, s) {
		t.Error(cmp.Diff(s, got))
	}
	if len(s.Tees) != 2 || s.TeamState != 2 || !s.Locked || !s.Practice || len(s.Error) > 0 {
		t.Fatalf("%+v", s)
	}
	if want := []teehistorian.SavedSwitch{{Status: 1, EndTime: 50, Type: 7}, {Type: 8}}; !cmp.Equal(s.Switches, want) {
		t.Error(cmp.Diff(want, s.Switches))
	}
	if len(s.Unknown) != 1 || string(s.Unknown[0]) != "later\tlines" {
		t.Errorf("unknown: %q", s.Unknown)
	}
	// One value of each group, at the place that CSaveTee::GetString gives it.
	c := s.Tees[0]
	got := fmt.Sprint(string(c.Name), c.Paused, c.Weapons[5].Ammo, c.LastWeapon, c.FreezeTime, c.RaceState, c.Time, c.X, c.Y, c.PreviousY,
		c.LastPenalty, c.CoreX, c.VelocityX, c.VelocityY, c.ActiveWeapon, c.Jumps, c.HookX, c.HookDirectionY, c.HookTeleX, c.HookState,
		c.LastTimeCheckpointTold, c.TimeCheckpoints[0], c.TimeCheckpoints[24], c.TelegunGun, c.TelegunLaser, c.TelegunGrenade, string(c.GameUuid), c.HookedTee,
		c.InputFire, c.ReloadTimer, c.LiveFrozen, c.NinjaDirectionX, c.NinjaOldSpeed, c.ValueCount)
	want := fmt.Sprint("alice", 3, 28, 31, 36, 40, 46, 47, 48, 50,
		52, 53, -0.25, -1.25, 57, 60, 61, -3.25, 65, 68,
		71, -4.25, -5.25, false, true, false, tee[100], 102,
		106, 108, true, -6.25, 115, 115)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if string(s.Tees[1].Name) != "bob" || s.Tees[1].X != c.X {
		t.Errorf("the second character: %+v", s.Tees[1])
	}
}

// TestSavedTeamOfOtherVersions reads texts with fewer and with more values.
func TestSavedTeamOfOtherVersions(t *testing.T) {
	for count, known := range map[int]bool{95: false, 96: true, 97: true, 98: false, 101: true, 108: true, 109: true, 110: true, 114: false, 115: true, 118: true} {
		values := savedTee("alice")
		for len(values) < count {
			values = append(values, fmt.Sprint("new", len(values)))
		}
		s := saved(t, "save", "1\t1\t0\t0\n"+strings.Join(values[:count], "\t")).SaveSuccess.Contents
		if !known {
			if len(s.Tees) != 0 || string(s.Error) != fmt.Sprintf("character 0 has %d values", count) {
				t.Errorf("%d values: %d characters, %s", count, len(s.Tees), s.Error)
			}
			continue
		}
		if len(s.Tees) != 1 || len(s.Error) > 0 || s.Tees[0].ValueCount != int32(count) || len(s.Tees[0].Unknown) != max(count-115, 0) {
			t.Errorf("%d values: %+v", count, s)
			continue
		}
		if hooked := s.Tees[0].HookedTee; count < 108 && hooked != -1 {
			t.Errorf("%d values: it holds %d", count, hooked)
		}
	}
}

func TestSavedTeamErrors(t *testing.T) {
	tee := strings.Join(savedTee("alice"), "\t")
	for text, want := range map[string]string{
		"x":                                  "value 1 of the team is no number",
		"\t":                                 "value 1 of the team is no number",
		"-\t":                                "value 1 of the team is no number",
		"2147483648\t":                       "value 1 of the team is no number",
		"-2147483649\t":                      "value 1 of the team is no number",
		"99999999999999999999\t":             "value 1 of the team is no number",
		"-2147483648\t0\t0\t1":               "",
		"2147483647\t0\t0\t1":                "",
		"1\t1\t0":                            "the team has 3 values",
		"1\t129\t0\t0":                       "it has 129 characters and 0 switches",
		"1\t1\t256\t0":                       "it has 1 characters and 256 switches",
		"1\t-1\t0\t0":                        "it has -1 characters and 0 switches",
		"1\t1\t0\t0":                         "it ends before character 0",
		"1\t1\t0\t0\n":                       "character 0 has 1 values",
		"1\t2\t0\t0\n" + tee:                 "it ends before character 1",
		"1\t1\t1\t0\n" + tee:                 "it ends before switch 1",
		"1\t1\t1\t0\n" + tee + "\n1\t2":      "switch 1 has 2 values",
		"1\t1\t1\t0\n" + tee + "\n1\t2\tx":   "value 3 of switch 1 is no number",
		"1\t1\t0\t0\n" + tee + "\tlater":     "",
		"1\t0\t0\t0\t0\tlater\n" + "another": "",
	} {
		if got := saved(t, "save", text).SaveSuccess.Contents; string(got.Error) != want {
			t.Errorf("%.20q: %q, want %q", text, got.Error, want)
		}
	}
	if ev := saved(t, "save", ""); ev.SaveSuccess.HasContents {
		t.Error("an empty text has contents")
	}
	many := saved(t, "save", "1\t0\t0\t0"+strings.Repeat("\t0", 1000)+strings.Repeat("\n", 1000)).SaveSuccess.Contents
	if len(many.Unknown) != 64 {
		t.Errorf("%d unknown values", len(many.Unknown))
	}
}
