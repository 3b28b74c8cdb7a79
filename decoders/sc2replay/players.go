package sc2replay

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
	"github.com/replayd/replayd/decoders/sc2replay/wire"
)

// Controls of a slot.
const (
	controlHuman    = 2
	controlComputer = 3
)

// firstWithUserID is the base build since which events name who caused them by the index of the user. Before, they used
// the number of the player.
const firstWithUserID = 24247

// nobody is the user of events that nobody caused.
const nobody = 16

// roster finds a player by the numbers that the parts of a replay use. Its values are indices into Players plus one; 0 is
// nobody.
type roster struct {
	byUser   [32]uint8 // what game and message events say: user ids, or player ids before firstWithUserID
	byPlayer [32]uint8 // what tracker events say
}

// resolvePlayers brings together what the parts say of each player.
//
// Players are numbered from 1 in the order of slots; only occupied slots count, those of observers and computers
// included. That is the number by which old events, the attributes and the tracker name them.
func (p *Replay) resolvePlayers() {
	if p.Has.Lobby {
		p.playersOfLobby()
	} else {
		p.playersOfDetails()
	}
	if p.Has.Details {
		for i := range p.Details.PlayerList {
			if at := p.playerOfDetails(i); at >= 0 {
				p.addDetails(&p.Players[at], &p.Details.PlayerList[i])
			}
		}
	}
	for i := range p.Metadata.Players {
		m := &p.Metadata.Players[i]
		for j := range p.Players {
			if q := &p.Players[j]; q.Ref.PlayerId == m.PlayerId {
				addMetadata(q, m)
			}
		}
	}
	p.index()
}

func (p *Replay) playersOfLobby() {
	number := uint32(0)
	for i := range p.Lobby.LobbyState.Slots {
		slot := &p.Lobby.LobbyState.Slots[i]
		if slot.Control != controlHuman && slot.Control != controlComputer {
			continue
		}
		number++
		q := PlayerInfo{
			Ref:  PlayerRef{PlayerId: number, HasPlayerId: true, Slot: uint32(i), HasSlot: true, UserId: slot.UserId, HasUserId: slot.HasUserId},
			Team: slot.TeamId, Observer: slot.Observe != 0, Computer: slot.Control == controlComputer,
			Handicap: slot.Handicap, ToonHandle: slot.ToonHandle, Race: []byte(raceOfAttribute[p.attribute(attributeRace, number)]),
			HasRef: true,
		}
		if slot.HasColorPref {
			q.ColorName = []byte(ColorName(int(slot.ColorPref)))
		}
		if q.Computer {
			q.Difficulty = []byte(DifficultyName(int(slot.Difficulty)))
		}
		if slot.HasUserId && int(slot.UserId) < len(p.Lobby.UserInitialData) {
			u := &p.Lobby.UserInitialData[slot.UserId]
			q.Ref.Name, q.Clan = u.Name, u.ClanTag
			q.HighestLeague, q.HasHighestLeague = u.HighestLeague, u.HasHighestLeague
			q.Mmr, q.HasMmr = u.ScaledRating, u.HasScaledRating
		}
		p.Players = append(p.Players, q)
	}
}

// playersOfDetails numbers the players of the details, for want of a lobby.
func (p *Replay) playersOfDetails() {
	for i := range p.Details.PlayerList {
		id := uint32(i + 1)
		p.Players = append(p.Players, PlayerInfo{
			Ref: PlayerRef{PlayerId: id, HasPlayerId: true, UserId: uint32(i), HasUserId: true}, HasRef: true,
			Race: []byte(raceOfAttribute[p.attribute(attributeRace, id)]),
		})
	}
}

// playerOfDetails returns which of Players the i-th player of the details is, or -1.
func (p *Replay) playerOfDetails(i int) int {
	d := &p.Details.PlayerList[i]
	if !p.Has.Lobby {
		return i
	}
	numbered := slices.ContainsFunc(p.Lobby.LobbyState.Slots, func(s Slot) bool { return s.HasWorkingSetSlotId })
	if d.HasWorkingSetSlotId && numbered {
		for j := range p.Players {
			slot := &p.Lobby.LobbyState.Slots[p.Players[j].Ref.Slot]
			if slot.HasWorkingSetSlotId && slot.WorkingSetSlotId == d.WorkingSetSlotId {
				return j
			}
		}
		return -1
	}
	// Older details have no such number, but the order of the slots; observers are not listed.
	for j := range p.Players {
		if p.Players[j].Observer {
			continue
		}
		if i == 0 {
			return j
		}
		i--
	}
	return -1
}

func (p *Replay) addDetails(q *PlayerInfo, d *DetailsPlayer) {
	clan, name := splitClan(d.Name)
	if len(q.Ref.Name) == 0 {
		q.Ref.Name = short(name)
	}
	if len(q.Clan) == 0 {
		q.Clan = clan
	}
	if race, ok := raceNames[string(d.Race)]; ok {
		q.Race = []byte(race)
	} else if len(d.Race) > 0 && (len(q.Race) == 0 || string(q.Race) == "Random") {
		q.Race = d.Race
	}
	q.Team = d.TeamId
	q.Color, q.HasColor = d.Color, d.HasColor
	q.Handicap = d.Handicap
	q.Result = Result(d.Result) + ResultUndecided
	if q.Computer = q.Computer || d.Control == controlComputer; !q.Computer && len(q.ToonHandle) == 0 && d.HasToon {
		q.ToonHandle = toonHandle(&d.Toon)
	}
}

func addMetadata(q *PlayerInfo, m *MetadataPlayer) {
	if race, ok := raceOfAttribute[string(m.AssignedRace)]; ok {
		q.Race = []byte(race)
	}
	if m.HasMmr && !q.HasMmr {
		q.Mmr, q.HasMmr = int32(m.Mmr), true
	}
	q.Apm, q.HasApm = m.Apm, m.HasApm
	if q.Result == ResultUnspecified || q.Result == ResultUndecided {
		if r, ok := resultNames[string(m.Result)]; ok {
			q.Result = r
		}
	}
}

var resultNames = map[string]Result{"Win": ResultWin, "Loss": ResultLoss, "Tie": ResultTie, "Undecided": ResultUndecided}

var raceOfAttribute = map[string]string{"Terr": "Terran", "Zerg": "Zerg", "Prot": "Protoss", "RAND": "Random"}

// raceNames are the races as the game's languages spell them.
var raceNames = map[string]string{
	"Terran": "Terran", "Terraner": "Terran", "Terrano": "Terran", "Terranie": "Terran", "Terrani": "Terran",
	"Терраны": "Terran", "Терран": "Terran", "테란": "Terran", "人类": "Terran", "人類": "Terran",
	"Zerg": "Zerg", "Zergi": "Zerg", "Zergowie": "Zerg", "Зерги": "Zerg", "Зерг": "Zerg", "저그": "Zerg", "异虫": "Zerg", "蟲族": "Zerg",
	"Protoss": "Protoss", "Protosi": "Protoss", "Протоссы": "Protoss", "Протосс": "Protoss", "프로토스": "Protoss",
	"星灵": "Protoss", "神族": "Protoss",
}

// toonHandle spells an account as the lobby does.
func toonHandle(t *Toon) []byte {
	if t.Id == 0 {
		return nil
	}
	return fmt.Appendf(nil, "%d-%s-%d-%d", t.Region, t.ProgramId, t.Realm, t.Id)
}

// splitClan takes a name of the details apart: "&lt;CLAN&gt;<sp/>name".
func splitClan(name []byte) (clan, rest []byte) {
	rest = name
	if before, after, ok := bytes.Cut(name, []byte("<sp/>")); ok {
		clan, rest = before, after
	} else if bytes.HasPrefix(name, []byte("&lt;")) {
		// Some replays lack the space between the two.
		if before, after, ok := bytes.Cut(name[4:], []byte("&gt;")); ok {
			clan, rest = before, after
		}
	}
	clan = bytes.TrimPrefix(unescape(clan), []byte("<"))
	return bytes.TrimSuffix(clan, []byte(">")), unescape(rest)
}

// unescape undoes what makes a name safe in the game's markup.
func unescape(s []byte) []byte {
	if !bytes.Contains(s, []byte("&")) {
		return s
	}
	return []byte(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`).Replace(string(s)))
}

// index fills the roster.
func (p *Replay) index() {
	p.roster = roster{}
	for i := range p.Players {
		ref := &p.Players[i].Ref
		at := uint8(min(i+1, 255))
		if ref.HasPlayerId && int(ref.PlayerId) < len(p.roster.byPlayer) {
			p.roster.byPlayer[ref.PlayerId] = at
		}
		number, ok := ref.UserId, ref.HasUserId
		if p.table.Build < firstWithUserID {
			number, ok = ref.PlayerId, ref.HasPlayerId
		}
		if ok && int(number) < len(p.roster.byUser) {
			p.roster.byUser[number] = at
		}
	}
}

// maxSetups bounds how many events are looked at in search of the tracker's numbers for players.
const maxSetups = 64

const playerSetupID = 9

// setup reads, before anything else of the tracker's events, those that tell which user and slot its players are: since
// 2.1 they are the authority on that.
func (p *Replay) setup(data []byte) {
	e := p.table.Event(protocol.Tracker, playerSetupID)
	if e == nil {
		return
	}
	plan, err := rootPlan(e.Type, reflect.TypeFor[PlayerSetup]())
	if err != nil {
		return
	}
	r := wire.NewVersioned(data)
	changed := false
	for range maxSetups {
		delta, ok := trackerDelta(&r)
		if id, isNumber := r.Number(); !ok || !isNumber || delta != 0 || r.Failed() || r.Done() {
			break
		} else if id != playerSetupID {
			r.Skip()
			continue
		}
		var s PlayerSetup
		plan.fillVersioned(&r, unsafe.Pointer(&s))
		if r.Failed() {
			break
		}
		for i := range p.Players {
			if ref := &p.Players[i].Ref; s.HasSlotId && ref.HasSlot && ref.Slot == s.SlotId && ref.PlayerId != s.PlayerId {
				ref.PlayerId, changed = s.PlayerId, true
			}
		}
	}
	if changed {
		p.index()
	}
}
