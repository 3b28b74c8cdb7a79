package teehistorian

import (
	"bytes"
	"fmt"
	"strconv"
)

// The limits of a saved state, so that the event of a long text stays small. Servers have up to 128 clients and 255 switches.
const (
	maxSavedTees     = 128
	maxSavedSwitches = 255
	maxSavedUnknown  = 64 // values of each list of unknown ones, of maxText bytes each
)

// savedWeapons and savedCheckpoints are how many weapons and time checkpoints a character in a saved state has.
const (
	savedWeapons     = 6
	savedCheckpoints = 25
)

// parse reads a text of a saved state: a line for the team, one for each character, and one for each switch. Values are separated by
// tabs. Newer versions add values at the end of a line. It reuses the memory of s. See docs/formats/teehistorian.md, "Saves".
func (s *SavedTeam) parse(text []byte) {
	*s = SavedTeam{Tees: s.Tees[:0], Switches: s.Switches[:0], Unknown: s.Unknown[:0], Error: s.Error[:0]}
	line, rest, more := bytes.Cut(text, []byte("\n"))
	var tees, switches int32
	values := []any{&s.TeamState, &tees, &switches, &s.Locked, &s.Practice}
	if !s.line(line, "the team", values, 4, &s.Unknown) {
		return
	}
	if tees < 0 || tees > maxSavedTees || switches < 0 || switches > maxSavedSwitches {
		s.failf("it has %d characters and %d switches", tees, switches)
		return
	}
	for i := range tees {
		if !more {
			s.failf("it ends before character %d", i)
			return
		}
		line, rest, more = bytes.Cut(rest, []byte("\n"))
		s.Tees = append(s.Tees, SavedTee{})
		if tee := &s.Tees[i]; !s.tee(line, i, tee) {
			s.Tees = s.Tees[:i]
			return
		}
	}
	for i := range switches {
		if !more {
			s.failf("it ends before switch %d", i+1)
			return
		}
		line, rest, more = bytes.Cut(rest, []byte("\n"))
		var sw SavedSwitch
		if !s.line(line, "switch "+strconv.Itoa(int(i)+1), []any{&sw.Status, &sw.EndTime, &sw.Type}, 3, &s.Unknown) {
			return
		}
		s.Switches = append(s.Switches, sw)
	}
	for more {
		line, rest, more = bytes.Cut(rest, []byte("\n"))
		addUnknown(&s.Unknown, line)
	}
}

// savedTeeSizes are the numbers of values of a character that servers have written, in ascending order.
var savedTeeSizes = [...]int{96, 97, 101, 108, 109, 110, 115}

// tee reads the line of a character. Its number of values must be one that servers have written, or larger than all of them.
func (s *SavedTeam) tee(line []byte, i int32, t *SavedTee) bool {
	what := "character " + strconv.Itoa(int(i))
	t.ValueCount = int32(bytes.Count(line, []byte("\t")) + 1)
	known := int(t.ValueCount) > savedTeeSizes[len(savedTeeSizes)-1]
	for _, size := range savedTeeSizes {
		known = known || int(t.ValueCount) == size
	}
	if !known {
		s.failf("%s has %d values", what, t.ValueCount)
		return false
	}
	if t.ValueCount < 101 {
		t.GameUuid = nil
	}
	if t.ValueCount < 108 {
		t.HookedTee = -1
	}
	return s.line(line, what, t.values(), savedTeeSizes[0], &t.Unknown)
}

// values returns the places of a character's values, in the order of the text.
func (t *SavedTee) values() []any {
	t.Weapons, t.TimeCheckpoints = make([]SavedWeapon, savedWeapons), make([]float64, savedCheckpoints)
	list := []any{&t.Name, &t.Alive, &t.Paused, &t.NeededFakeTuning, &t.Finished, &t.Solo}
	for i := range t.Weapons {
		w := &t.Weapons[i]
		list = append(list, &w.AmmoRegenStart, &w.Ammo, &w.AmmoCost, &w.Got)
	}
	list = append(list, &t.LastWeapon, &t.QueuedWeapon,
		&t.EndlessJump, &t.Jetpack, &t.NinjaJetpack, &t.FreezeTime, &t.FreezeStart, &t.DeepFrozen, &t.EndlessHook,
		&t.RaceState, &t.HitDisabled, &t.CollisionEnabled, &t.TuneZone, &t.TuneZoneOld, &t.HookHitEnabled, &t.Time,
		&t.X, &t.Y, &t.PreviousX, &t.PreviousY, &t.TeleCheckpoint, &t.LastPenalty,
		&t.CoreX, &t.CoreY, &t.VelocityX, &t.VelocityY, &t.ActiveWeapon, &t.Jumped, &t.JumpedTotal, &t.Jumps,
		&t.HookX, &t.HookY, &t.HookDirectionX, &t.HookDirectionY, &t.HookTeleX, &t.HookTeleY, &t.HookTick, &t.HookState,
		&t.TimeCheckpointBroadcastEnd, &t.LastTimeCheckpoint, &t.LastTimeCheckpointTold)
	for i := range t.TimeCheckpoints {
		list = append(list, &t.TimeCheckpoints[i])
	}
	return append(list, &t.NotEligibleForFinish, &t.TelegunGun, &t.TelegunLaser, &t.TelegunGrenade, &t.GameUuid, &t.HookedTee, &t.NewHook,
		&t.InputDirection, &t.InputJump, &t.InputFire, &t.InputHook, &t.ReloadTimer, &t.Started, &t.LiveFrozen,
		&t.NinjaDirectionX, &t.NinjaDirectionY, &t.NinjaActivation, &t.NinjaMoveTime, &t.NinjaOldSpeed)
}

// line reads the values of a line into their places. A line may have fewer, but at least the given number; those that are left over go
// to unknown.
func (s *SavedTeam) line(line []byte, what string, values []any, least int, unknown *[][]byte) bool {
	for i, more := 0, true; more; i++ {
		var value []byte
		value, line, more = bytes.Cut(line, []byte("\t"))
		switch {
		case i >= len(values):
			addUnknown(unknown, value)
		case !readValue(value, values[i]):
			s.failf("value %d of %s is no number", i+1, what)
			return false
		}
		if !more && i+1 < least {
			s.failf("%s has %d values", what, i+1)
			return false
		}
	}
	return true
}

// readValue reads a value into its place.
func readValue(value []byte, to any) bool {
	if to, ok := to.(*[]byte); ok {
		*to = value[:min(len(value), maxText)]
		return true
	}
	if to, ok := to.(*float64); ok {
		v, err := strconv.ParseFloat(string(value), 32)
		*to = v
		return err == nil
	}
	v, err := strconv.ParseInt(string(value), 10, 32)
	switch to := to.(type) {
	case *int32:
		*to = int32(v)
	case *bool:
		*to = v != 0
	}
	return err == nil
}

// addUnknown adds a value that no place is known for, within the limits.
func addUnknown(list *[][]byte, value []byte) {
	if len(*list) < maxSavedUnknown {
		*list = append(*list, value[:min(len(value), maxText)])
	}
}

func (s *SavedTeam) failf(format string, args ...any) {
	s.Error = fmt.Appendf(s.Error[:0], format, args...)
}
