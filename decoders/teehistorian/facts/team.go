package facts

import "github.com/replayd/replayd/decoders/teehistorian"

// changedTeam makes the fact of a change of a client's team.
func (f *Fold) changedTeam(ev *teehistorian.Event) {
	e := &ev.PlayerTeam
	before := f.teamOf(e.ClientId)
	c := f.mention(e.ClientId, ev.AtTick)
	c.team, c.hasTeam = e.Team, true
	f.ready = append(f.ready, fact{kind: teehistorian.KindFactTeam, team: teehistorian.FactTeam{
		ClientId: e.ClientId, Name: c.name, PreviousTeam: before, Team: e.Team,
	}})
}

// saved makes the fact of a saved or loaded game.
func (f *Fold) saved(kind teehistorian.Kind, team int32, id []byte, contents *teehistorian.SavedTeam, known bool) {
	out := teehistorian.FactSave{Team: team, SaveId: id, MemberClientIds: f.membersOf(team)}
	f.names = f.names[:0]
	if known && len(contents.Error) == 0 {
		out.Practice = contents.Practice
		for i := range contents.Tees {
			tee := &contents.Tees[i]
			f.names = append(f.names, tee.Name)
			if !out.HasTime || tee.Time > out.Time {
				out.Time, out.HasTime = tee.Time, true
			}
		}
	}
	out.SavedNames = f.names
	f.ready = append(f.ready, fact{kind: kind, save: out})
}
