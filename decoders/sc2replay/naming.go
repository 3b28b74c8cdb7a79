package sc2replay

import (
	"bytes"
	"crypto/sha256"

	"github.com/replayd/replayd/decoders/sc2replay/names"
)

// namesOf finds the names of abilities and unit types that hold for the replay. It returns nil when none are known.
func (p *Replay) namesOf() *names.Table {
	handles := p.Details.CacheHandles
	if !p.Has.Details {
		handles = p.Lobby.GameDescription.CacheHandles
	}
	return names.Find(expansionOf(handles), int(p.Start.Version.Build))
}

// expansionOf returns the expansion that a game is played with: that of the newest mod of Blizzard's that the game depends
// on, "" when it depends on none.
func expansionOf(handles [][]byte) names.Expansion {
	for _, e := range expansions {
		for _, handle := range handles {
			if len(handle) > handleHash && bytes.Equal(handle[handleHash:], e.hash[:]) {
				return e.Expansion
			}
		}
	}
	return ""
}

// handleHash is where a file's hash begins in its handle: after four letters of its type and four of the region.
const handleHash = 8

// expansions are the mods that an expansion's balance data is in, newest first. Their handles have the hash of a text in
// place of the file's.
var expansions = [...]struct {
	names.Expansion
	hash [sha256.Size]byte
}{
	{names.Void, sha256.Sum256([]byte("Standard Data: Void.SC2Mod"))},
	{names.Swarm, sha256.Sum256([]byte("Standard Data: Swarm.SC2Mod"))},
	{names.Liberty, sha256.Sum256([]byte("Standard Data: Liberty.SC2Mod"))},
}

// betaSource is what the names of orders in betas of 2010 are taken from.
const betaSource = "community notes of 2010"

// nameTable is what names are taken from.
func (p *Replay) nameTable() NameTable {
	if p.Start.Version.BaseBuild < firstRelease {
		return NameTable{Source: []byte(betaSource)}
	}
	t := p.namesOf()
	if t == nil {
		return NameTable{}
	}
	return NameTable{Build: uint32(t.Build), Source: []byte(t.Source)}
}

// naming names the abilities and unit types of game events.
type naming struct {
	table *names.Table
	beta  bool
}

// name names what an event has links of.
func (n *naming) name(ev *Event) {
	switch ev.Kind {
	case KindCmd:
		c := &ev.Cmd
		if c.HasAbil {
			n.ability(&c.Abil)
		}
		if c.TargetCase == CmdTargetTargetUnit {
			n.target(&c.TargetUnit)
		}
	case KindCmdUpdateTargetUnit:
		n.target(&ev.CmdUpdateTargetUnit.Target)
	case KindSelectionDelta:
		groups := ev.SelectionDelta.AddSubgroups
		for i := range groups {
			groups[i].UnitName = n.table.Unit(groups[i].UnitLink)
		}
	case KindTriggerCommandError:
		if ev.TriggerCommandError.HasAbil {
			n.ability(&ev.TriggerCommandError.Abil)
		}
	case KindTriggerTargetModeUpdate:
		e := &ev.TriggerTargetModeUpdate
		e.Name = n.table.Command(e.AbilLink, e.AbilCmdIndex)
	case KindTriggerPing:
		ev.TriggerPing.UnitName = n.unit(ev.TriggerPing.UnitLink)
	case KindAiCommunicate:
		e := &ev.AiCommunicate
		e.TargetUnitSnapshotUnitName = n.unit(e.TargetUnitSnapshotUnitLink)
	}
}

func (n *naming) ability(a *Ability) {
	if n.beta {
		a.Name = betaAbility(a.Link, a.CommandIndex)
		return
	}
	a.Name = n.table.Command(a.Link, a.CommandIndex)
}

func (n *naming) target(t *TargetUnit) { t.SnapshotUnitName = n.unit(t.SnapshotUnitLink) }

// unit names a type of unit whose link is 0 where there is none.
func (n *naming) unit(link uint32) []byte {
	if link == 0 {
		return nil
	}
	return n.table.Unit(link)
}
