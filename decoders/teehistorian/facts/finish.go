package facts

import "github.com/replayd/replayd/decoders/teehistorian"

// ticksPerSecond is the speed of every game on a DDNet server.
const ticksPerSecond = 50

// noClient is the id of no client, the value of an absent field.
const noClient = -1

// finished makes the fact of a client's finish.
func (f *Fold) finished(ev *teehistorian.Event) {
	e := &ev.PlayerFinish
	c := f.mention(e.ClientId, ev.AtTick)
	c.finishes++
	f.finish(ev.AtTick, teehistorian.FactFinish{
		ClientId: e.ClientId, Name: c.name, Team: f.teamOf(e.ClientId), Time: e.Time,
	})
}

// teamFinished makes the fact of a team's finish.
func (f *Fold) teamFinished(ev *teehistorian.Event) {
	e := &ev.TeamFinish
	f.finish(ev.AtTick, teehistorian.FactFinish{ClientId: noClient, Team: e.Team, Time: e.Time, MemberClientIds: f.membersOf(e.Team)})
}

// finish adds values to a finish that follow from its time.
func (f *Fold) finish(tick int32, finish teehistorian.FactFinish) {
	finish.Seconds = float64(finish.Time) / ticksPerSecond
	if began := int64(tick) - int64(finish.Time); began >= 0 && finish.Time >= 0 && !f.lost {
		finish.ReckonedTick, finish.HasReckonedTick = int32(began), true
	}
	f.ready = append(f.ready, fact{kind: teehistorian.KindFactFinish, finish: finish})
}

// membersOf returns the clients that records have put in a team.
func (f *Fold) membersOf(team int32) []int32 {
	f.members = f.members[:0]
	for id := range f.clients {
		if c := &f.clients[id]; c.hasTeam && c.team == team {
			f.members = append(f.members, int32(id))
		}
	}
	return f.members
}
