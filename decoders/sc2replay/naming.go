package sc2replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"github.com/replayd/replayd/decoders/sc2replay/names"
)

// chooseNames chooses the names of abilities and unit types for the replay.
func (p *Replay) chooseNames() {
	v := &p.Start.Version
	if v.BaseBuild < firstRelease {
		p.nameTable = NameTable{Source: []byte(betaSource)}
		return
	}
	handles := p.Details.CacheHandles
	if len(handles) == 0 {
		handles = p.Lobby.GameDescription.CacheHandles
	}
	expansion := expansionOf(handles)
	guessed := expansion == ""
	if guessed {
		expansion = newestExpansion(v.Major)
	}
	build := v.Build
	if build == 0 {
		build = v.BaseBuild
	}
	table, own := p.data.names.Find(expansion, int(build))
	p.names = table
	p.nameTable = NameTable{
		Build: uint32(table.Build), Source: []byte(table.Source), Expansion: []byte(expansion),
		ExpansionGuessed: guessed, BuildGuessed: !own,
	}
}

// BuildTime returns the number of gameloops, to half a second, for making a unit, a structure or an upgrade in the replay's
// version of the game. name is its name in the tracker's events. ok is false if the time is not known.
func (p *Replay) BuildTime(name []byte) (loops int32, ok bool) {
	if t := &p.nameTable; t.ExpansionGuessed || string(t.Expansion) != string(names.Void) {
		return 0, false
	}
	return p.data.times.Loops(name, p.Start.Version.Build)
}

// newestExpansion returns the newest expansion of a major version of the game. Games of bots and of the game's API are
// played with it, and do not name it.
func newestExpansion(major uint32) names.Expansion {
	switch {
	case major >= 3:
		return names.Void
	case major == 2:
		return names.Swarm
	}
	return names.Liberty
}

// expansionOf returns the expansion that a game is played with. The newest of Blizzard's mods that the game depends on
// determines it. It returns "" if the game depends on none.
func expansionOf(handles [][]byte) names.Expansion {
	for _, e := range expansions {
		for _, handle := range handles {
			if bytes.Contains(handle, e.hash) {
				return e.Expansion
			}
		}
	}
	return ""
}

// expansions are the mods with an expansion's balance data, newest first. Their handles contain the hash of a text
// instead of the file's hash.
var expansions = [...]struct {
	names.Expansion
	hash []byte // in hexadecimal, as in handles
}{
	{names.Void, hashOf("Standard Data: Void.SC2Mod")},
	{names.Swarm, hashOf("Standard Data: Swarm.SC2Mod")},
	{names.Liberty, hashOf("Standard Data: Liberty.SC2Mod")},
}

func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return hex.AppendEncode(nil, sum[:])
}

// betaSource is the source of the names of orders in betas of 2010.
const betaSource = "community notes of 2010"

// naming sets the names of abilities and unit types in game events.
type naming struct {
	all     *names.Set
	table   *names.Table
	guessed bool // the table is of another build or perhaps of another expansion
	beta    bool
	learned map[uint32]vote // by link, the types of the units that were selected by it
}

// vote is the result of a majority vote: the most frequent type of all, if one of them has more than half of the votes.
type vote struct {
	typeName []byte
	lead     int
}

// namingOf returns the naming of a replay.
func namingOf(p *Replay) naming {
	t := &p.nameTable
	return naming{
		all: p.data.names, table: p.names, guessed: t.ExpansionGuessed || t.BuildGuessed, beta: p.Start.Version.BaseBuild < firstRelease,
		learned: map[uint32]vote{},
	}
}

// learn notes that a unit was selected by a link while the tracker gave it a type.
func (n *naming) learn(link uint32, typeName []byte) {
	if _, sure := n.table.Unit(link); sure && !n.guessed {
		return
	}
	v := n.learned[link]
	switch {
	case bytes.Equal(v.typeName, typeName):
		v.lead++
	case v.lead > 0:
		v.lead--
	default:
		v = vote{typeName, 1}
	}
	n.learned[link] = v
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
			groups[i].UnitName, groups[i].UnitNameGuessed = n.unit(groups[i].UnitLink)
		}
	case KindTriggerUi:
		if ev.TriggerUi.HasAbil {
			n.ability(&ev.TriggerUi.Abil)
		}
	case KindAiCommunicate:
		e := &ev.AiCommunicate
		e.TargetUnitSnapshotUnitName, e.TargetUnitSnapshotUnitNameGuessed = n.unit(e.TargetUnitSnapshotUnitLink)
	}
}

func (n *naming) ability(a *Ability) {
	if n.beta {
		a.Name = betaAbility(a.Link, a.CommandIndex)
		return
	}
	name, sure := n.table.Command(a.Link, a.CommandIndex)
	a.Name, a.NameGuessed = name, name != nil && (n.guessed || !sure)
}

func (n *naming) target(t *TargetUnit) {
	t.SnapshotUnitName, t.SnapshotUnitNameGuessed = n.unit(t.SnapshotUnitLink)
}

// unit returns the name of a unit type, and whether it is a guess. A link of 0 means no unit type. Where the table is not
// sure, the types of units that were selected by the link decide, because new unit types move the links of others from build
// to build.
func (n *naming) unit(link uint32) (name []byte, guessed bool) {
	if link == 0 {
		return nil, false
	}
	name, sure := n.table.Unit(link)
	if sure && !n.guessed {
		return name, false
	}
	if v, ok := n.learned[link]; ok {
		name = v.typeName
	}
	return name, name != nil
}
