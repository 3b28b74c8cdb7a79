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

// firstWithUserID is the base build since which events refer to users by the index of the user. Before, they used the
// player's number.
const firstWithUserID = 24247

// noUser is the user of events that no user caused.
const noUser = 16

// roster maps the numbers that the parts of a replay use to players. Its values are indices into Players plus one; 0
// means no player.
type roster struct {
	byUser   [32]uint8 // numbers in game and message events: user ids, or player ids before firstWithUserID
	byPlayer [32]uint8 // numbers in tracker events
}

// resolvePlayers combines the data about each player from all parts.
//
// Players are numbered from 1 in the order of slots. Only occupied slots count, including observers and computers. Old
// events, the attributes and the tracker use this number.
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
	p.indexPlayers()
}

func (p *Replay) playersOfLobby() {
	numbers := playerNumbers(p.Lobby.LobbyState.Slots)
	for i := range p.Lobby.LobbyState.Slots {
		slot, number := &p.Lobby.LobbyState.Slots[i], numbers[i]
		if number == 0 || p.isPhantom(slot) {
			continue
		}
		q := PlayerInfo{
			Ref:  PlayerRef{PlayerId: number, HasPlayerId: true, Slot: uint32(i), HasSlot: true, UserId: slot.UserId, HasUserId: slot.HasUserId},
			Team: slot.TeamId, Observer: slot.Observe != 0 && slot.Control != controlComputer, Computer: slot.Control == controlComputer,
			Handicap: slot.Handicap, ToonHandle: slot.ToonHandle, Race: []byte(raceOfAttribute[p.attribute(attributeRace, number)]),
			HasRef: true, ObserverSource: ObserverSourceLobby,
		}
		if q.Computer && slot.Observe != 0 { // see isPhantom
			q.ObserverSource = ObserverSourceDetails
		}
		if !q.Observer {
			q.PickedRace = p.pickedRace(number, slot)
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

// isPhantom reports whether an occupied slot has no participant. Computers do not observe: maps mark slots as observing of which
// they need only the number, for example for a mission's enemies. A computer in the details plays.
func (p *Replay) isPhantom(slot *Slot) bool {
	if slot.Control != controlComputer || slot.Observe == 0 {
		return false
	}
	return !slices.ContainsFunc(p.Details.PlayerList, func(d DetailsPlayer) bool {
		return slot.HasWorkingSetSlotId && d.HasWorkingSetSlotId && d.WorkingSetSlotId == slot.WorkingSetSlotId
	})
}

// lobbyRaces are the races by the lobby's numbers.
var lobbyRaces = [...]string{"Terran", "Zerg", "Protoss"}

// pickedRace returns the race that was picked for a slot, from the attributes, or else from the lobby.
func (p *Replay) pickedRace(number uint32, slot *Slot) []byte {
	race := raceOfAttribute[p.attribute(attributeRace, number)]
	switch {
	case race != "":
	case !slot.HasRacePref:
		race = "Random"
	case int(slot.RacePref) < len(lobbyRaces):
		race = lobbyRaces[slot.RacePref]
	}
	return []byte(race)
}

// playerNumbers returns the player's number of each slot, or 0 for an unoccupied slot. In archon mode, two slots share
// the number of the slot that leads.
func playerNumbers(slots []Slot) []uint32 {
	numbers := make([]uint32, len(slots))
	next := uint32(1)
	for i := range slots {
		if s := &slots[i]; (s.Control == controlHuman || s.Control == controlComputer) && leaderOf(slots, s) < 0 {
			numbers[i] = next
			next++
		}
	}
	for i := range slots {
		if leader := leaderOf(slots, &slots[i]); leader >= 0 {
			numbers[i] = numbers[leader]
		}
	}
	return numbers
}

// leaderOf returns the slot that leads this slot's pair in archon mode, or -1 for a slot that leads or has no pair.
func leaderOf(slots []Slot, s *Slot) int {
	return slices.IndexFunc(slots, func(leader Slot) bool {
		if leader.HasTandemLeaderId || leader.HasTandemLeaderUserId || leader.Control != controlHuman {
			return false
		}
		return s.HasTandemLeaderId && leader.HasTandemId && leader.TandemId == s.TandemLeaderId ||
			s.HasTandemLeaderUserId && leader.HasUserId && leader.UserId == s.TandemLeaderUserId
	})
}

// noRating is the rating of a user without one, for example after too few games.
const noRating = -36400

// finish makes values absent that stand for nothing, and makes a text of the logo's handle.
func (u *LobbyUser) finish() {
	if u.ScaledRating == noRating {
		u.ScaledRating, u.HasScaledRating = 0, false
	}
	u.ClanLogo = handleText(u.ClanLogo)
}

// playersOfDetails lists the players from the details, if there is no lobby.
func (p *Replay) playersOfDetails() {
	for i := range p.Details.PlayerList {
		id := uint32(i + 1)
		p.Players = append(p.Players, PlayerInfo{
			Ref: PlayerRef{PlayerId: id, HasPlayerId: true, UserId: uint32(i), HasUserId: true}, HasRef: true,
			Race: []byte(raceOfAttribute[p.attribute(attributeRace, id)]), ObserverSource: ObserverSourceDetails,
		})
	}
}

// playerOfDetails returns the index in Players of the i-th player of the details, or -1.
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
	// Older details lack this number, but are in the order of slots. They do not list observers.
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
		q.Ref.Name = cutName(name)
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
	if m.HasMmr && m.Mmr != noRating && !q.HasMmr {
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

// raceNames maps the races' names in the game's languages to the English ones.
var raceNames = map[string]string{
	"Terran": "Terran", "Terraner": "Terran", "Terrano": "Terran", "Terranie": "Terran", "Terrani": "Terran",
	"Терраны": "Terran", "Терран": "Terran", "테란": "Terran", "人类": "Terran", "人類": "Terran",
	"Zerg": "Zerg", "Zergi": "Zerg", "Zergowie": "Zerg", "Зерги": "Zerg", "Зерг": "Zerg", "저그": "Zerg", "异虫": "Zerg", "蟲族": "Zerg",
	"Protoss": "Protoss", "Protosi": "Protoss", "Протоссы": "Protoss", "Протосс": "Protoss", "프로토스": "Protoss",
	"星灵": "Protoss", "神族": "Protoss",
}

// toonHandle returns an account in the lobby's notation.
func toonHandle(t *Toon) []byte {
	if t.Id == 0 {
		return nil
	}
	return fmt.Appendf(nil, "%d-%s-%d-%d", t.Region, t.ProgramId, t.Realm, t.Id)
}

// splitClan splits a name of the details: "&lt;CLAN&gt;<sp/>name".
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

// unescape undoes the escaping of the game's markup.
func unescape(s []byte) []byte {
	if !bytes.Contains(s, []byte("&")) {
		return s
	}
	return []byte(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`).Replace(string(s)))
}

// indexPlayers fills the roster. If two players have the same number, the tracker means the leader of the pair.
func (p *Replay) indexPlayers() {
	p.roster = roster{}
	for i := range p.Players {
		ref := &p.Players[i].Ref
		at := uint8(min(i+1, 255))
		if ref.HasPlayerId && int(ref.PlayerId) < len(p.roster.byPlayer) {
			if p.roster.byPlayer[ref.PlayerId] == 0 || !p.isFollower(ref) {
				p.roster.byPlayer[ref.PlayerId] = at
			}
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

// isFollower reports whether another player leads this one's pair, in archon mode.
func (p *Replay) isFollower(ref *PlayerRef) bool {
	slots := p.Lobby.LobbyState.Slots
	return ref.HasSlot && int(ref.Slot) < len(slots) && leaderOf(slots, &slots[ref.Slot]) >= 0
}

// maxSetups bounds the number of events to search for the tracker's player numbers.
const maxSetups = 64

const playerSetupID = 9

// readSetups reads the tracker's PlayerSetup events before all other tracker events. They contain the user and slot of
// each player, and have been authoritative since 2.1.
func (p *Replay) readSetups(data []byte) {
	e := p.table.Event(protocol.Tracker, playerSetupID)
	if e == nil {
		return
	}
	plan, err := rootPlan(e.Type, reflect.TypeFor[PlayerSetup]())
	if err != nil {
		return
	}
	r := wire.NewVersioned(data)
	listed := make([]bool, len(p.Players))
	taken := map[uint32]bool{}
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
		if i := p.playerOfSlot(&s); i >= 0 {
			ref := &p.Players[i].Ref
			ref.PlayerId, ref.HasPlayerId, listed[i] = s.PlayerId, true, true
			taken[s.PlayerId] = true
		}
	}
	// A lobby member who does not take part must not keep a number that belongs to another player.
	for i := range p.Players {
		if ref := &p.Players[i].Ref; !listed[i] && taken[ref.PlayerId] {
			ref.PlayerId, ref.HasPlayerId = 0, false
		}
	}
	p.indexPlayers()
}

// playerOfSlot returns the index in Players of a player of the tracker, by its slot, or -1.
func (p *Replay) playerOfSlot(s *PlayerSetup) int {
	return slices.IndexFunc(p.Players, func(q PlayerInfo) bool { return s.HasSlotId && q.Ref.HasSlot && q.Ref.Slot == s.SlotId })
}
