package dem

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/facts"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// MaxPlayers is the number of players that SamplePlayer is asked for.
const MaxPlayers = 64

// holder is an entity that a player's facts are read from.
type holder uint8

const (
	holderNone       holder = iota
	holderController        // of the player
	holderBody              // of the player: the hero in Dota 2 and Deadlock
	holderRoster            // Dota 2: of all players
	holderSide              // Dota 2: of the players of a side
	holderItem              // that a body carries
	holderRules             // Dota 2, Counter-Strike 2: of the game
	holderUnit              // Dota 2: any other
	holders
)

// A playerFact is a fact of a player that the games keep in fields of entities.
type playerFact uint8

const (
	playerValid playerFact = iota
	playerName
	playerSteam
	playerTeam
	playerSeat // in the lists of a side
	playerBody
	playerHero
	playerAlive
	playerHealth
	playerMaxHealth
	playerLife
	playerAngles
	playerMoney
	playerMoreMoney
	playerNetWorth
	playerLevel
	playerKills
	playerDeaths
	playerAssists
	playerLastHits
	playerDenies
	playerArmor
	playerMana
	playerMaxMana
	playerItems
	playerActive
	bodyController // the entity of the player who has a body
	bodyName       // of a hero, as an entity
	itemName       // of an item, as an entity
	itemNumber
	playerEquipment
	playerSpent
	roundStarts
	roundEnds
	roundsPlayed
	roundWinner
	roundReason
	roundWarmup
	roundOvertime
	draftBanned
	draftPicked
	unitOwner // a hero, or the entity of a player
	unitTeam
	unitHero // of the entity of a player
	playerFacts
)

// source says where a game keeps a fact: in which entity, and in which field. The element of a list that is the player's, or is counted, is
// written as #.
type source struct {
	in   holder
	path string
}

// sources holds where each game keeps the facts of players.
var sources = [...][playerFacts]source{
	gameDota: {
		playerValid:     {holderRoster, "m_vecPlayerData.#.m_bIsValid"},
		playerName:      {holderRoster, "m_vecPlayerData.#.m_iszPlayerName"},
		playerSteam:     {holderRoster, "m_vecPlayerData.#.m_iPlayerSteamID"},
		playerTeam:      {holderRoster, "m_vecPlayerData.#.m_iPlayerTeam"},
		playerSeat:      {holderRoster, "m_vecPlayerTeamData.#.m_iTeamSlot"},
		playerBody:      {holderRoster, "m_vecPlayerTeamData.#.m_hSelectedHero"},
		playerHero:      {holderRoster, "m_vecPlayerTeamData.#.m_nSelectedHeroID"},
		playerHealth:    {holderBody, "m_iHealth"},
		playerMaxHealth: {holderBody, "m_iMaxHealth"},
		playerLife:      {holderBody, "m_lifeState"},
		playerAngles:    {holderBody, "CBodyComponent.m_angRotation"},
		playerMoney:     {holderSide, "m_vecDataTeam.#.m_iReliableGold"},
		playerMoreMoney: {holderSide, "m_vecDataTeam.#.m_iUnreliableGold"},
		playerNetWorth:  {holderSide, "m_vecDataTeam.#.m_iNetWorth"},
		playerLevel:     {holderRoster, "m_vecPlayerTeamData.#.m_iLevel"},
		playerKills:     {holderRoster, "m_vecPlayerTeamData.#.m_iKills"},
		playerDeaths:    {holderRoster, "m_vecPlayerTeamData.#.m_iDeaths"},
		playerAssists:   {holderRoster, "m_vecPlayerTeamData.#.m_iAssists"},
		playerLastHits:  {holderSide, "m_vecDataTeam.#.m_iLastHitCount"},
		playerDenies:    {holderSide, "m_vecDataTeam.#.m_iDenyCount"},
		playerMana:      {holderBody, "m_flMana"},
		playerMaxMana:   {holderBody, "m_flMaxMana"},
		playerItems:     {holderBody, "m_hItems.#"},
		itemName:        {holderItem, "m_pEntity.m_nameStringableIndex"},
		draftBanned:     {holderRules, "m_pGameRules.m_BannedHeroes.#"},
		draftPicked:     {holderRules, "m_pGameRules.m_SelectedHeroes.#"},
		unitOwner:       {holderUnit, "m_hOwnerEntity"},
		unitTeam:        {holderUnit, "m_iTeamNum"},
		unitHero:        {holderUnit, "m_hAssignedHero"},
	},
	gameCS2: {
		playerName:      {holderController, "m_iszPlayerName"},
		playerSteam:     {holderController, "m_steamID"},
		playerTeam:      {holderController, "m_iTeamNum"},
		playerBody:      {holderController, "m_hPlayerPawn"},
		playerAlive:     {holderController, "m_bPawnIsAlive"},
		playerHealth:    {holderBody, "m_iHealth"},
		playerMaxHealth: {holderBody, "m_iMaxHealth"},
		playerAngles:    {holderBody, "m_angEyeAngles"},
		playerMoney:     {holderController, "m_pInGameMoneyServices.m_iAccount"},
		playerKills:     {holderController, "m_pActionTrackingServices.m_iKills"},
		playerDeaths:    {holderController, "m_pActionTrackingServices.m_iDeaths"},
		playerAssists:   {holderController, "m_pActionTrackingServices.m_iAssists"},
		playerArmor:     {holderBody, "m_ArmorValue"},
		playerItems:     {holderBody, "m_pWeaponServices.m_hMyWeapons.#"},
		playerActive:    {holderBody, "m_pWeaponServices.m_hActiveWeapon"},
		bodyController:  {holderBody, "m_hController"},
		itemNumber:      {holderItem, "m_iItemDefinitionIndex"},
		playerEquipment: {holderBody, "m_unFreezetimeEndEquipmentValue"},
		playerSpent:     {holderController, "m_pInGameMoneyServices.m_iCashSpentThisRound"},
		roundStarts:     {holderRules, "m_pGameRules.m_nRoundStartCount"},
		roundEnds:       {holderRules, "m_pGameRules.m_nRoundEndCount"},
		roundsPlayed:    {holderRules, "m_pGameRules.m_totalRoundsPlayed"},
		roundWinner:     {holderRules, "m_pGameRules.m_iRoundEndWinnerTeam"},
		roundReason:     {holderRules, "m_pGameRules.m_eRoundEndReason"},
		roundWarmup:     {holderRules, "m_pGameRules.m_bWarmupPeriod"},
		roundOvertime:   {holderRules, "m_pGameRules.m_nOvertimePlaying"},
	},
	gameDeadlock: {
		playerName:      {holderController, "m_iszPlayerName"},
		playerSteam:     {holderController, "m_steamID"},
		playerTeam:      {holderController, "m_iTeamNum"},
		playerBody:      {holderController, "m_hHeroPawn"},
		playerHero:      {holderController, "m_nHeroID"},
		playerAlive:     {holderController, "m_bAlive"},
		playerHealth:    {holderBody, "m_iHealth"},
		playerMaxHealth: {holderBody, "m_iMaxHealth"},
		playerAngles:    {holderBody, "m_angEyeAngles"},
		playerMoney:     {holderBody, "m_nCurrencies.#"},
		playerNetWorth:  {holderController, "m_iGoldNetWorth"},
		playerLevel:     {holderController, "m_iLevel"},
		playerKills:     {holderController, "m_iPlayerKills"},
		playerDeaths:    {holderController, "m_iDeaths"},
		playerAssists:   {holderController, "m_iPlayerAssists"},
		playerLastHits:  {holderController, "m_iLastHits"},
		playerDenies:    {holderController, "m_iDenies"},
		playerItems:     {holderBody, "m_vecAbilities.#"},
		bodyController:  {holderBody, "m_hController"},
		bodyName:        {holderBody, "m_pEntity.m_nameStringableIndex"},
		itemName:        {holderItem, "m_pEntity.m_nameStringableIndex"},
	},
}

// Names of classes and items, or parts of them.
const (
	rosterClass     = "CDOTA_PlayerResource"
	controllerClass = "PlayerController"
	rulesClass      = "CCSGameRulesProxy"
	upgrade         = "upgrade_" // begins the name of an item of Deadlock; other abilities are the hero's
)

// The numbers of the sides.
const (
	firstSide  = 2
	secondSide = 3
)

// sideClasses are the classes of what Dota counts of the players of each side.
var sideClasses = [...]string{"CDOTA_DataRadiant", "CDOTA_DataDire"}

// players reads facts of players.
type players struct {
	game  game
	paths [playerFacts][]entity.Step // an empty name is the element of a list
	texts []byte                     // names of classes in the last event

	// What the present player's facts are read from; nil where it is not there.
	of     [holders]*entity.Entity
	number [holders]int // of the player in the lists of an entity
}

// setGame makes the paths of a game.
func (p *players) setGame(g game) {
	if p.game == g {
		return
	}
	p.game = g
	for i, s := range sources[g] {
		p.paths[i] = nil
		if s.in == holderNone {
			continue
		}
		for name := range strings.SplitSeq(s.path, ".") {
			p.paths[i] = append(p.paths[i], entity.Step{Name: strings.Trim(name, "#")})
		}
	}
}

// holdsPlayers reports whether facts of players are read from entities of a class.
func holdsPlayers(g game, c *entity.Class, name string) bool {
	switch g {
	case gameDota:
		return name == rosterClass || name == "CDOTAPlayerController" || slices.Contains(sideClasses[:], name) || wardTypes[name] != WardTypeUnspecified ||
			strings.HasPrefix(name, "CDOTA_Unit_Hero_") || strings.HasPrefix(name, "CDOTA_Item")
	case gameCS2:
		return name == "CCSPlayerController" || name == "CCSPlayerPawn" || name == rulesClass || c.Has("m_iClip1")
	case gameDeadlock:
		return name == "CCitadelPlayerController" || name == "CCitadelPlayerPawn" || strings.HasPrefix(name, "CCitadel_")
	}
	return false
}

// cell returns the value of a fact, and the entity that has it. The entity is nil where the value is not known. element is the number of an
// element that is not the player's own.
func (d *Decoder) cell(fact playerFact, element int) (*entity.Entity, *entity.Node, *value.Cell) {
	p := &d.players
	ent := p.of[sources[p.game][fact].in]
	if ent == nil || ent.Class.Root == nil {
		return nil, nil, nil
	}
	n := ent.Class.Root
	for i := range p.paths[fact] {
		step := &p.paths[fact][i]
		if step.Name == "" {
			n = n.Element(element)
		} else {
			n = ent.Below(n, step)
		}
		if n == nil {
			return nil, nil, nil
		}
	}
	c := ent.At(n.Cell)
	if c.Kind == value.None || d.world.unproven(n.Guess, c) {
		return nil, nil, nil
	}
	return ent, n, c
}

// number returns a fact that is a number of 32 bits.
func (d *Decoder) number(fact playerFact) (int32, bool) {
	_, _, c := d.cell(fact, d.players.number[sources[d.players.game][fact].in])
	if c == nil {
		return 0, false
	}
	switch c.Kind {
	case value.Int:
		return int32(c.Word), int64(c.Word) == int64(int32(c.Word))
	case value.Uint, value.Bool:
		return int32(c.Word), c.Word <= math.MaxInt32
	}
	return 0, false
}

// float returns a fact that is a number with a fraction.
func (d *Decoder) float(fact playerFact) (float32, bool) {
	if _, _, c := d.cell(fact, 0); c != nil && c.Kind == value.Float {
		return math.Float32frombits(uint32(c.Word)), true
	}
	return 0, false
}

// named returns the name that a fact's number stands for, or nil.
func (d *Decoder) named(fact playerFact) []byte {
	_, n, c := d.cell(fact, d.players.number[sources[d.players.game][fact].in])
	if c == nil || c.Kind != value.Int && c.Kind != value.Uint {
		return nil
	}
	var f FieldValue
	fill(&f, c, nil, nil)
	d.world.mark(&f, n, c)
	return f.Name
}

// referred returns the entity to which a fact refers, and its slot. The entity is nil if there is none that is decoded.
func (d *Decoder) referred(fact playerFact, element int) (*entity.Entity, int) {
	_, _, c := d.cell(fact, element)
	if c == nil || c.Kind != value.Handle || c.Word == noHandle {
		return nil, -1
	}
	const indexBits, serialBits = 14, 10
	slot := int(c.Word & (MaxEntities - 1))
	ent := d.world.store.Slots[slot]
	if ent == nil || !ent.Decoded || uint64(ent.Serial)&(1<<serialBits-1) != c.Word>>indexBits&(1<<serialBits-1) {
		return nil, -1
	}
	return ent, slot
}

// SamplePlayer fills ev with a SamplePlayer that says how a player stands now, at a tick. ok is false when there is no player of this number
// on a side. The position does not move. Options must select the kind.
func (d *Decoder) SamplePlayer(tick int32, player int, ev *Event) (ok bool) {
	p := &d.players
	p.setGame(d.match.game)
	if p.game == gameUnknown || uint(player) >= MaxPlayers || !d.meet(player) {
		return false
	}
	team, _ := d.number(playerTeam)
	if team != firstSide && team != secondSide {
		return false
	}
	s := &ev.SamplePlayer
	*s = SamplePlayer{PlayerId: int32(player), Team: team, BodyIndex: -1, Items: s.Items[:0]}
	ev.AtTick, ev.Kind = tick, KindSamplePlayer
	s.BodyIndex = d.seat(team)
	d.fillPlayer(s)
	d.fillCounts(s)
	d.fillItems(s)
	return true
}

// meet finds what a player's facts are read from. It reports whether there is such a player.
func (d *Decoder) meet(player int) bool {
	p := &d.players
	p.texts = p.texts[:0]
	p.of, p.number = [holders]*entity.Entity{}, [holders]int{}
	if p.game != gameDota {
		e := d.world.store.Slots[player+1]
		if e == nil || !e.Decoded || !strings.HasSuffix(d.Name(e.Class.Name), controllerClass) {
			return false
		}
		p.of[holderController] = e
		return true
	}
	e := d.world.store.Slots[d.match.roster.index]
	if e == nil || !e.Class.Roster || !e.Decoded {
		return false
	}
	p.of[holderRoster], p.number[holderRoster] = e, player
	valid, ok := d.number(playerValid)
	return ok && valid != 0
}

// seat finds what a player of a side has. It returns the slot of the hero or the body, or -1.
func (d *Decoder) seat(team int32) (body int32) {
	p := &d.players
	if side := int(team - firstSide); p.game == gameDota && uint(side) < uint(len(sideClasses)) {
		seat, ok := d.number(playerSeat)
		if e := d.world.store.Slots[d.match.roster.sides[side]]; ok && e != nil && e.Decoded && e.Class.Side == side+1 {
			p.of[holderSide], p.number[holderSide] = e, int(seat)
		}
	}
	var slot int
	p.of[holderBody], slot = d.referred(playerBody, p.number[sources[p.game][playerBody].in])
	return int32(slot)
}

// name returns the present player's name, or nil.
func (d *Decoder) name() []byte {
	if ent, _, c := d.cell(playerName, d.players.number[holderRoster]); c != nil && c.Kind == value.Text {
		return ent.Data(c)
	}
	return nil
}

// steamID returns the present player's Steam id, or 0.
func (d *Decoder) steamID() uint64 {
	if _, _, c := d.cell(playerSteam, d.players.number[holderRoster]); c != nil && c.Kind == value.Uint {
		return c.Word
	}
	return 0
}

// heroName returns the name of the present player's hero, or nil.
func (d *Decoder) heroName() []byte {
	if d.players.game == gameDeadlock {
		return d.named(bodyName)
	}
	return d.named(playerHero)
}

// bodyPlace returns where the present player's hero or body is, if that is known.
func (d *Decoder) bodyPlace() (at Vector, known bool) {
	if body := d.players.of[holderBody]; body != nil {
		return d.knownPlace(body)
	}
	return at, false
}

// knownPlace returns where an entity is, if that is known.
func (d *Decoder) knownPlace(ent *entity.Entity) (at Vector, known bool) {
	var f FieldValue
	if d.world.fillPlace(&f, ent) && !f.Unproven {
		return f.Vector, true
	}
	return at, false
}

// fillPlayer says who the player is, and how the body is.
func (d *Decoder) fillPlayer(s *SamplePlayer) {
	p := &d.players
	s.Name, s.SteamId, s.HeroName = d.name(), d.steamID(), d.heroName()
	if table := tablesOf[p.game][entity.Team]; table != nil {
		s.TeamName = table.Name(int64(s.Team))
	}
	if hero, ok := d.number(playerHero); ok && hero > 0 {
		s.HeroId = hero
	}
	if p.of[holderBody] == nil {
		return
	}
	s.Place, s.HasPlace = d.bodyPlace()
	if _, _, c := d.cell(playerAngles, 0); c != nil && c.Kind == value.Vector {
		s.Angles, s.HasAngles = vectorOf(c), true
	}
	s.Health, s.HasHealth = d.number(playerHealth)
	s.MaxHealth, s.HasMaxHealth = d.number(playerMaxHealth)
	s.Mana, s.HasMana = d.float(playerMana)
	s.MaxMana, s.HasMaxMana = d.float(playerMaxMana)
	s.Armor, s.HasArmor = d.number(playerArmor)
	if life, ok := d.number(playerLife); ok {
		s.Alive, s.HasAlive = life == 0, true
	}
	if alive, ok := d.number(playerAlive); ok {
		s.Alive, s.HasAlive = alive != 0, true
	}
}

// fillCounts says what the game counts of the player.
func (d *Decoder) fillCounts(s *SamplePlayer) {
	s.Money, s.HasMoney = d.number(playerMoney)
	if more, ok := d.number(playerMoreMoney); ok && s.HasMoney {
		sum := int64(s.Money) + int64(more)
		if s.Money, s.HasMoney = int32(sum), sum == int64(int32(sum)); !s.HasMoney {
			s.Money = 0
		}
	}
	s.NetWorth, s.HasNetWorth = d.number(playerNetWorth)
	s.Level, s.HasLevel = d.number(playerLevel)
	s.Kills, s.HasKills = d.number(playerKills)
	s.Deaths, s.HasDeaths = d.number(playerDeaths)
	s.Assists, s.HasAssists = d.number(playerAssists)
	s.LastHits, s.HasLastHits = d.number(playerLastHits)
	s.Denies, s.HasDenies = d.number(playerDenies)
}

// maxCarried is the greatest number of things that a body carries, in any game.
const maxCarried = 64

// fillItems says what the body carries.
func (d *Decoder) fillItems(s *SamplePlayer) {
	for i := range maxCarried {
		item, _ := d.referred(playerItems, i)
		if name := d.nameItem(item); name != nil && (d.players.game != gameDeadlock || bytes.HasPrefix(name, []byte(upgrade))) {
			s.Items = append(s.Items, name)
		}
	}
	if item, _ := d.referred(playerActive, 0); item != nil {
		s.ActiveItem = d.nameItem(item)
	}
}

// nameItem returns the name of an item, or nil.
func (d *Decoder) nameItem(item *entity.Entity) []byte {
	p := &d.players
	if p.of[holderItem] = item; item == nil {
		return nil
	}
	if p.game != gameCS2 {
		return d.named(itemName)
	}
	if number, ok := d.number(itemNumber); ok {
		if name := facts.CSItems.Name(int64(number)); name != nil {
			return name
		}
	}
	start := len(p.texts)
	p.texts = append(p.texts, d.Name(item.Class.Name)...)
	return p.texts[start:len(p.texts):len(p.texts)]
}
