package sc2replay

import (
	"bytes"
	"crypto/sha256"

	"github.com/replayd/replayd/decoders/sc2replay/names"
)

// namesOf returns the names of abilities and unit types for the replay, or nil if none are known.
func (p *Replay) namesOf() *names.Table {
	handles := p.Details.CacheHandles
	if !p.Has.Details {
		handles = p.Lobby.GameDescription.CacheHandles
	}
	return names.Find(expansionOf(handles), int(p.Start.Version.Build))
}

// expansionOf returns the expansion that a game is played with. The newest of Blizzard's mods that the game depends on
// determines it. It returns "" if the game depends on none.
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

// handleHash is the offset of a file's hash in its handle: behind four letters for its type and four for the region.
const handleHash = 8

// expansions are the mods with an expansion's balance data, newest first. Their handles contain the hash of a text
// instead of the file's hash.
var expansions = [...]struct {
	names.Expansion
	hash [sha256.Size]byte
}{
	{names.Void, sha256.Sum256([]byte("Standard Data: Void.SC2Mod"))},
	{names.Swarm, sha256.Sum256([]byte("Standard Data: Swarm.SC2Mod"))},
	{names.Liberty, sha256.Sum256([]byte("Standard Data: Liberty.SC2Mod"))},
}

// betaSource is the source of the names of orders in betas of 2010.
const betaSource = "community notes of 2010"

// nameTable returns the source of the names.
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

// naming sets the names of abilities and unit types in game events.
type naming struct {
	table *names.Table
	beta  bool
}

// name sets the names for all links of an event.
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

// unit returns the name of a unit type. A link of 0 means no unit type.
func (n *naming) unit(link uint32) []byte {
	if link == 0 {
		return nil
	}
	return n.table.Unit(link)
}
