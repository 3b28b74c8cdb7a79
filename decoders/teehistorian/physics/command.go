package physics

import (
	"slices"
	"strconv"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// mapCaller is the client id of commands in the map's configuration, below that of the console.
const mapCaller = -2

// flagChat is set in commands that a client wrote in the chat.
const flagChat = 128

// settings are the settings of a server that matter, and may change while it runs.
var settings = [...]string{
	"sv_freeze_delay", "sv_teleport_hold_hook", "sv_solo_server", "sv_deepfly", "sv_endless_drag", "sv_no_weak_hook", "sv_pauseable",
}

// setting sets a setting. Those that no header and no command names are as servers begin.
func (w *World) setting(name, value string) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return
	}
	on := n != 0
	switch name {
	case "sv_freeze_delay":
		w.freezeTicks = int32(min(max(n, 1), 30)) * ticksPerSecond
	case "sv_teleport_hold_hook":
		w.keepHook = on
	case "sv_solo_server":
		w.solo = on
	case "sv_deepfly":
		w.deepFly = on
	case "sv_endless_drag":
		w.endless = on
	case "sv_no_weak_hook":
		w.evenHooks = on
	case "sv_pauseable":
		w.specPause = pausePlace
		if on {
			w.specPause = pauseAway
		}
	}
}

// command does what a console command does.
func (w *World) command(c *teehistorian.ConsoleCommand) {
	s := w.slot(c.ClientId)
	switch name := string(c.Command); name {
	case "tune":
		if len(c.Arguments) > 1 {
			w.tune.command(string(c.Arguments[0]), string(c.Arguments[1]))
		}
	case "tune_zone", "tune_zone_reset":
		w.doubtAll(CauseCommand)
	case "tune_reset":
		if len(c.Arguments) == 0 {
			w.tune.reset()
		}
	case "pause", "togglepause":
		if s != nil && c.Flags&flagChat != 0 && len(c.Arguments) == 0 {
			w.pause(s, pausePlace)
		}
	case "spec", "togglespec":
		if s != nil && c.Flags&flagChat != 0 && len(c.Arguments) == 0 {
			w.pause(s, w.specPause)
		}
	case "kill":
		if s != nil && c.Flags&flagChat != 0 {
			s.killed = w.tick + 1
			w.asks(s, teehistorian.EndCauseAsked)
		}
	case "save":
		for i := range w.slots {
			if s != nil && w.slots[i].team == s.team {
				w.slots[i].killed = w.tick + 1
				w.asks(&w.slots[i], teehistorian.EndCauseAsked)
			}
		}
	case "rescue", "r", "tp", "teleport", "tc", "telecursor", "lasttp", "back", "super", "endless_hook", "unendless_hook",
		"solo", "unsolo", "deep", "undeep", "livefreeze", "unlivefreeze", "jetpack", "unjetpack", "setjumps", "invincible":
		if s != nil && s.tee != nil {
			w.doubt(s.tee, CauseCommand, 0, true)
		}
	case "tele", "totele", "totelecp", "move", "move_raw", "left", "right", "up", "down", "freeze", "unfreeze",
		"force_pause", "force_unpause", "force_teambalance":
		w.doubtAll(CauseCommand)
	case "weapons", "shotgun", "grenade", "laser", "rifle", "ninja", "addweapon":
		for _, t := range w.present {
			t.armed, t.given = true, true
		}
	case "say", "team", "load", "swap", "practice", "emote", "eyeemote", "lock", "unlock", "invite", "timeout", "team0mode", "w", "whisper", "c",
		"converse", "me", "rank", "teamrank", "top", "points", "info", "rules", "help", "map", "mapinfo", "times", "showothers", "showall":
	case "sv_solo_server":
		if len(c.Arguments) > 0 && c.ClientId <= mapCaller { // the console is too late: servers look at it when they load the map
			w.setting(name, string(c.Arguments[0]))
		}
	case "sv_endless_drag", "sv_freeze_delay", "sv_teleport_hold_hook", "sv_deepfly", "sv_no_weak_hook", "sv_pauseable":
		if len(c.Arguments) > 0 {
			w.setting(name, string(c.Arguments[0])) // who is there keeps what it has
		}
	default:
		if s != nil && s.tee != nil && c.Flags&flagChat != 0 && w.practice[s.team] {
			w.doubt(s.tee, CauseCommand, 0, true)
		}
	}
}

func (w *World) doubtAll(cause Cause) {
	for _, t := range w.present {
		w.doubt(t, cause, 0, true)
	}
}

// pause is whether a client plays, or watches meanwhile.
type pause uint8

const (
	pauseNot   pause = iota
	pausePlace       // its character stays
	pauseAway        // its character leaves as soon as it stands
)

// pause has a client begin or end to watch, as often as it wants.
func (w *World) pause(s *slot, want pause) {
	if !s.there && s.pause != pauseAway {
		return
	}
	if s.pause == want {
		want = pauseNot
	}
	s.pause = want
	if want != pauseAway && s.tee != nil && s.tee.away {
		s.tee.away = false
		s.tee.core.vel = vec{}
		w.order = slices.Insert(w.order, 0, s.tee)
	}
}

// goAway takes a character whose client watches out of the game.
func (w *World) goAway(t *tee) {
	t.away = true
	w.order = slices.DeleteFunc(w.order, func(o *tee) bool { return o == t })
	w.releaseHooked(t)
	t.core.release(hookIdle)
}
