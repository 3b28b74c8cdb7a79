package facts

import (
	"slices"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// Options configure a Fold.
type Options struct {
	// Inputs makes the Fold conclude fact_input_stats. It then needs every input_diff, which it otherwise does not look at.
	Inputs bool
}

// Fold concludes facts from the events of one file. Make it with New or Restore. Only one goroutine at a time may use it.
type Fold struct {
	rules   rules
	lost    bool     // there was damage
	clients []client // by id
	places  []place  // where characters have appeared
	kill    tick     // the last one in which a client asked to die
	inputs  *inputs  // nil if no statistics of inputs are wanted

	event   *teehistorian.Event // the last applied event
	ready   []fact              // the facts that it has completed
	next    int                 // the index in ready of the fact that Next fills in
	members []int32             // memory for the members in ready
	names   [][]byte            // memory for the names in ready
}

// fact is a complete fact. kind says which of its values is valid.
type fact struct {
	kind    teehistorian.Kind
	finish  teehistorian.FactFinish
	session teehistorian.FactSession
	team    teehistorian.FactTeam
	save    teehistorian.FactSave
	stats   teehistorian.FactInputStats
	chat    teehistorian.FactChat
	call    teehistorian.FactCallVote
	vote    teehistorian.FactVote
	command teehistorian.FactCommand
	death   teehistorian.FactDeath
	respawn teehistorian.FactRespawn
}

// New returns a Fold in the state before the first event of a file with that header.
func New(h *teehistorian.Header, o Options) *Fold {
	f := &Fold{rules: rulesOf(h)}
	if o.Inputs {
		f.inputs = new(inputs)
	}
	return f
}

// Apply takes the next event. Call it with every event that Next of a Decoder returns, in order. Events of kind player_diff may
// be left out if they move by at most 64 units along each axis, and events of kind input_diff without Options.Inputs. After Apply, call
// Next of the Fold for the facts that the event has completed, and keep ev unchanged until the next call of Apply.
func (f *Fold) Apply(ev *teehistorian.Event) {
	f.event, f.ready, f.next = ev, f.ready[:0], 0
	switch {
	case f.inputs == nil:
	case ev.Kind == teehistorian.KindInputDiff:
		f.inputs.change(ev.AtTick, &ev.InputDiff)
		return
	default:
		f.applyInputs(ev)
	}
	switch ev.Kind {
	case teehistorian.KindDamage:
		f.lose()
	case teehistorian.KindJoin:
		f.joined(ev)
	case teehistorian.KindDrop:
		f.dropped(ev)
	case teehistorian.KindFinish:
		f.closed()
	case teehistorian.KindMessage:
		f.begin(ev.Message.ClientId, ev.AtTick)
		f.asked(&ev.Message)
		f.said(&ev.Message)
		f.wants(ev.AtTick, &ev.Message)
	case teehistorian.KindConsoleCommand:
		f.commanded(&ev.ConsoleCommand)
		f.orders(ev.AtTick, &ev.ConsoleCommand)
	case teehistorian.KindInputNew:
		f.begin(ev.InputNew.ClientId, ev.AtTick)
	case teehistorian.KindPlayerNew:
		f.appeared(ev)
	case teehistorian.KindPlayerOld:
		f.vanished(ev)
	case teehistorian.KindPlayerDiff:
		if f.kill.by(ev.AtTick) {
			f.moved(ev)
		}
	case teehistorian.KindJoinver6:
		f.client(ev.Joinver6.ClientId).seven = false
	case teehistorian.KindJoinver7:
		f.client(ev.Joinver7.ClientId).seven = true
	case teehistorian.KindRejoinver6:
		f.begin(ev.Rejoinver6.ClientId, ev.AtTick)
	case teehistorian.KindPlayerReady:
		f.entered(ev)
	case teehistorian.KindDdnetver:
		f.begin(ev.Ddnetver.ClientId, ev.AtTick).version = ev.Ddnetver.Version
	case teehistorian.KindDdnetverOld:
		f.mention(ev.DdnetverOld.ClientId, ev.AtTick).version = ev.DdnetverOld.Version
	case teehistorian.KindAuthInit:
		f.login(ev.AuthInit.ClientId, ev.AtTick, ev.AuthInit.Level, ev.AuthInit.Role)
	case teehistorian.KindAuthLogin:
		f.login(ev.AuthLogin.ClientId, ev.AtTick, ev.AuthLogin.Level, ev.AuthLogin.Role)
	case teehistorian.KindPlayerName:
		set(&f.mention(ev.PlayerName.ClientId, ev.AtTick).name, ev.PlayerName.Name)
	case teehistorian.KindPlayerTeam:
		f.changedTeam(ev)
	case teehistorian.KindPlayerFinish:
		f.finished(ev)
	case teehistorian.KindTeamFinish:
		f.teamFinished(ev)
	case teehistorian.KindSaveSuccess:
		e := &ev.SaveSuccess
		f.saved(teehistorian.KindFactSave, e.Team, e.SaveId, &e.Contents, e.HasContents)
	case teehistorian.KindLoadSuccess:
		e := &ev.LoadSuccess
		f.saved(teehistorian.KindFactLoad, e.Team, e.SaveId, &e.Contents, e.HasContents)
	}
}

// applyInputs applies an event that may concern inputs.
func (f *Fold) applyInputs(ev *teehistorian.Event) {
	switch s := f.inputs; ev.Kind {
	case teehistorian.KindTick:
		s.tick(ev.AtTick)
		f.tell()
	case teehistorian.KindInputNew:
		s.begin(ev.AtTick, &ev.InputNew)
	case teehistorian.KindJoin:
		s.forget(ev.Join.ClientId)
	case teehistorian.KindDrop:
		s.forget(ev.Drop.ClientId)
	case teehistorian.KindDamage:
		clear(s.clients)
	}
}

// WantsTick reports whether the event of a tick that begins now may concern facts. If not, and the tick skips none, Apply may be left
// out.
func (f *Fold) WantsTick(tick int32) bool {
	s := f.inputs
	return s != nil && (tick/windowTicks != s.window || s.untold < len(s.clients))
}

// Next sets ev to the next fact that the last event has completed. It returns false when there is none. The memory that ev refers
// to belongs to the Fold and to the event, and is valid until the next call of Apply.
func (f *Fold) Next(ev *teehistorian.Event) bool {
	if !f.Pending() {
		return false
	}
	from := &f.ready[f.next]
	f.next++
	ev.AtTick, ev.Kind, ev.Warnings = f.event.AtTick, from.kind, ev.Warnings[:0]
	if slices.Contains(f.event.Warnings, teehistorian.WarningAfterDamage) {
		ev.Warnings = append(ev.Warnings, teehistorian.WarningAfterDamage)
	}
	switch from.kind {
	case teehistorian.KindFactFinish:
		ev.FactFinish = from.finish
	case teehistorian.KindFactSession:
		ev.FactSession = from.session
	case teehistorian.KindFactTeam:
		ev.FactTeam = from.team
	case teehistorian.KindFactSave:
		ev.FactSave = from.save
	case teehistorian.KindFactLoad:
		ev.FactLoad = from.save
	case teehistorian.KindFactInputStats:
		ev.FactInputStats = from.stats
	case teehistorian.KindFactChat:
		ev.FactChat = from.chat
	case teehistorian.KindFactCallVote:
		ev.FactCallVote = from.call
	case teehistorian.KindFactVote:
		ev.FactVote = from.vote
	case teehistorian.KindFactCommand:
		ev.FactCommand = from.command
	case teehistorian.KindFactDeath:
		ev.FactDeath = from.death
	case teehistorian.KindFactRespawn:
		ev.FactRespawn = from.respawn
	}
	return true
}

// Pending reports whether the last event has completed a fact that Next has not filled in yet.
func (f *Fold) Pending() bool { return f.next < len(f.ready) }
