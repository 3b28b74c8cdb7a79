package teehistorian

import (
	"bytes"
	"math"
	"strconv"
)

// The limits of a saved state, so that the event of a long text stays small. Servers have up to 128 clients and 255 switches.
const (
	maxSavedTees     = 128
	maxSavedSwitches = 255
	maxSavedUnknown  = 64 // values in each list of unknown ones, of maxText bytes each
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
	l := savedLine{rest: line, place: savedPlace{name: "the team", number: -1}}
	s.TeamState = l.int()
	tees, switches := l.int(), l.int()
	s.Locked, s.Practice = l.bool(), l.bool()
	if !s.end(&l, 4, &s.Unknown) {
		return
	}
	if tees < 0 || tees > maxSavedTees || switches < 0 || switches > maxSavedSwitches {
		s.Error = strconv.AppendInt(append(s.Error, "it has "...), int64(tees), 10)
		s.Error = strconv.AppendInt(append(s.Error, " characters and "...), int64(switches), 10)
		s.Error = append(s.Error, " switches"...)
		return
	}
	for i := range tees {
		place := savedPlace{"character", i}
		if !more {
			s.Error = place.append(append(s.Error, "it ends before "...))
			return
		}
		line, rest, more = bytes.Cut(rest, []byte("\n"))
		s.Tees = grow(s.Tees)
		if tee := &s.Tees[i]; !s.tee(line, place, tee) {
			s.Tees = s.Tees[:i]
			return
		}
	}
	for i := range switches {
		place := savedPlace{"switch", i + 1}
		if !more {
			s.Error = place.append(append(s.Error, "it ends before "...))
			return
		}
		line, rest, more = bytes.Cut(rest, []byte("\n"))
		l := savedLine{rest: line, place: place}
		sw := SavedSwitch{Status: l.int(), EndTime: l.int(), Type: l.int()}
		if !s.end(&l, 3, &s.Unknown) {
			return
		}
		s.Switches = append(s.Switches, sw)
	}
	for more {
		line, rest, more = bytes.Cut(rest, []byte("\n"))
		addUnknown(&s.Unknown, line)
	}
}

// grow returns a list with one more element, which reuses the memory of an earlier element, if there was one.
func grow[T any](list []T) []T {
	if len(list) < cap(list) {
		return list[:len(list)+1]
	}
	var zero T
	return append(list, zero)
}

// savedTeeSizes are the numbers of values of a character that servers have written, in ascending order.
var savedTeeSizes = [...]int{96, 97, 101, 108, 109, 110, 115}

// tee reads the line of a character. Its number of values must be one that servers have written, or larger than all of them. It
// reuses the memory of t.
func (s *SavedTeam) tee(line []byte, place savedPlace, t *SavedTee) bool {
	count := bytes.Count(line, []byte("\t")) + 1
	known := count > savedTeeSizes[len(savedTeeSizes)-1]
	for _, size := range savedTeeSizes {
		known = known || count == size
	}
	if !known {
		s.Error = savedCount(place.append(s.Error), count)
		return false
	}
	l := savedLine{rest: line, place: place}
	t.read(&l)
	t.ValueCount = int32(count)
	if count < 101 {
		t.GameUuid = nil
	}
	if count < 108 {
		t.HookedTee = -1
	}
	return s.end(&l, savedTeeSizes[0], &t.Unknown)
}

// read reads a character's values in the order of the text. It reuses the memory of t.
func (t *SavedTee) read(l *savedLine) {
	*t = SavedTee{Weapons: t.Weapons[:0], TimeCheckpoints: t.TimeCheckpoints[:0], Unknown: t.Unknown[:0]}
	t.Name, t.Alive, t.Paused, t.NeededFakeTuning, t.Finished, t.Solo = l.text(), l.bool(), l.int(), l.int(), l.bool(), l.bool()
	for range savedWeapons {
		t.Weapons = append(t.Weapons, SavedWeapon{AmmoRegenStart: l.int(), Ammo: l.int(), AmmoCost: l.int(), Got: l.bool()})
	}
	t.LastWeapon, t.QueuedWeapon = l.int(), l.int()
	t.EndlessJump, t.Jetpack, t.NinjaJetpack = l.bool(), l.bool(), l.bool()
	t.FreezeTime, t.FreezeStart, t.DeepFrozen, t.EndlessHook = l.int(), l.int(), l.bool(), l.bool()
	t.RaceState, t.HitDisabled, t.CollisionEnabled = l.int(), l.int(), l.bool()
	t.TuneZone, t.TuneZoneOld, t.HookHitEnabled, t.Time = l.int(), l.int(), l.bool(), l.int()
	t.X, t.Y, t.PreviousX, t.PreviousY = l.int(), l.int(), l.int(), l.int()
	t.TeleCheckpoint, t.LastPenalty = l.int(), l.int()
	t.CoreX, t.CoreY, t.VelocityX, t.VelocityY = l.int(), l.int(), l.float(), l.float()
	t.ActiveWeapon, t.Jumped, t.JumpedTotal, t.Jumps = l.int(), l.int(), l.int(), l.int()
	t.HookX, t.HookY, t.HookDirectionX, t.HookDirectionY = l.int(), l.int(), l.float(), l.float()
	t.HookTeleX, t.HookTeleY, t.HookTick, t.HookState = l.int(), l.int(), l.int(), l.int()
	t.TimeCheckpointBroadcastEnd, t.LastTimeCheckpoint, t.LastTimeCheckpointTold = l.int(), l.int(), l.int()
	for range savedCheckpoints {
		t.TimeCheckpoints = append(t.TimeCheckpoints, l.float())
	}
	t.NotEligibleForFinish = l.bool()
	t.TelegunGun, t.TelegunLaser, t.TelegunGrenade = l.bool(), l.bool(), l.bool()
	t.GameUuid, t.HookedTee, t.NewHook = l.text(), l.int(), l.bool()
	t.InputDirection, t.InputJump, t.InputFire, t.InputHook = l.int(), l.int(), l.int(), l.int()
	t.ReloadTimer, t.Started, t.LiveFrozen = l.int(), l.bool(), l.bool()
	t.NinjaDirectionX, t.NinjaDirectionY = l.float(), l.float()
	t.NinjaActivation, t.NinjaMoveTime, t.NinjaOldSpeed = l.int(), l.int(), l.int()
}

// savedPlace names a line for the reason why it could not be read.
type savedPlace struct {
	name   string
	number int32 // -1 for none
}

func (p savedPlace) append(b []byte) []byte {
	if b = append(b, p.name...); p.number < 0 {
		return b
	}
	return strconv.AppendInt(append(b, ' '), int64(p.number), 10)
}

// savedCount appends how many values a line has.
func savedCount(b []byte, count int) []byte {
	return append(strconv.AppendInt(append(b, " has "...), int64(count), 10), " values"...)
}

// savedLine reads the values of a line one after the other. After the last value, and after one that is no number, values are
// zero.
type savedLine struct {
	place savedPlace
	rest  []byte
	read  int // values so far, including the one that is no number
	ended bool
	bad   bool // the value is no number
}

// text reads a value. It is cut at maxText bytes.
func (l *savedLine) text() []byte {
	if l.ended || l.bad {
		return nil
	}
	value, rest, more := bytes.Cut(l.rest, []byte("\t"))
	l.read++
	l.rest, l.ended = rest, !more
	return value[:min(len(value), maxText):min(len(value), maxText)]
}

// int reads an integer.
func (l *savedLine) int() int32 {
	if l.ended || l.bad {
		return 0
	}
	v, ok := decimal(l.text())
	l.bad = !ok
	return v
}

// decimal returns the number in a text. Unlike strconv.ParseInt, it allocates nothing for a text without a number.
func decimal(text []byte) (int32, bool) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) == 0 {
		return 0, false
	}
	v := int64(0)
	for _, c := range digits {
		if v = 10*v + int64(c) - '0'; c < '0' || c > '9' || v > math.MaxInt32+1 {
			return 0, false
		}
	}
	if len(digits) < len(text) {
		v = -v
	}
	return int32(v), v <= math.MaxInt32
}

// bool reads an integer as a boolean.
func (l *savedLine) bool() bool { return l.int() != 0 }

// float reads a number with decimals.
func (l *savedLine) float() float64 {
	if l.ended || l.bad {
		return 0
	}
	v, err := strconv.ParseFloat(string(l.text()), 32)
	l.bad = err != nil
	return v
}

// end ends a line that has at least the given number of values. The remaining values go to unknown. It returns false, with the
// reason in s, if a value is no number, or if there are too few.
func (s *SavedTeam) end(l *savedLine, least int, unknown *[][]byte) bool {
	switch {
	case l.bad:
		s.Error = strconv.AppendInt(append(s.Error, "value "...), int64(l.read), 10)
		s.Error = append(l.place.append(append(s.Error, " of "...)), " is no number"...)
		return false
	case l.read < least:
		s.Error = savedCount(l.place.append(s.Error), l.read)
		return false
	}
	for !l.ended {
		addUnknown(unknown, l.text())
	}
	return true
}

// addUnknown adds a value with an unknown place, within the limits.
func addUnknown(list *[][]byte, value []byte) {
	if len(*list) < maxSavedUnknown {
		*list = append(*list, value[:min(len(value), maxText)])
	}
}
