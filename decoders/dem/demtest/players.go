package demtest

import "cmp"

// list is the type of a list of objects, and ref that of a reference to an entity.
func list(of string) string { return "CUtlVectorEmbeddedNetworkVar< " + of + " >" }

const (
	ref  = "CHandle< CBaseEntity >"
	refs = "CNetworkUtlVectorBase< CHandle< CBaseEntity > >"
	none = 1<<24 - 1 // the reference to no entity

	noEntity = 1<<32 - 1 // likewise, in messages of Deadlock
)

// numbers returns fields with a number each.
func numbers(names ...string) (fields []Field) {
	for _, name := range names {
		fields = append(fields, Field{Name: name, Type: "int32"})
	}
	return fields
}

// ints returns the values of the first fields of an object.
func (g *world) ints(path []int, from int, v ...int64) (values []Value) {
	for i, n := range v {
		values = append(values, g.int(append(append([]int(nil), path...), from+i), n))
	}
	return values
}

// pitched returns angles of 90 and 45 degrees.
func pitched(path ...int) Value {
	return Value{path, func(w *Bits) {
		w.Code("110")
		w.Bits(1<<18, 20)
		w.Bits(1<<17, 20)
	}}
}

// Players returns a demo of a game, named as in the header, with a player of each side and one who watches. The first one carries things,
// pays for something and is hurt at tick 2, and is killed by the second at tick 3. It has all fields that the facts of players are read from.
func Players(game string) []byte {
	g := &gameOf{}
	start := func(classes []string, schema []Serializer, names ...string) {
		var entries []Entry
		for i, name := range names {
			entries = append(entries, Entry{Index: i, Key: name})
		}
		schema = append([]Serializer{
			{Name: "CBodyComponent", Fields: bodyFields},
			{Name: "CEntityIdentity", Fields: []Field{{Name: "m_nameStringableIndex", Type: "int32"}}},
		}, schema...)
		g.start(Proto(nil).Text(1, "PBDEMS2\x00").Text(14, game).Varint(13, 10000), 1.0/32, classes, schema, Table{}.Create("EntityNames", false, entries...))
	}
	packet := func(tick int32, e *Entities, messages ...Message) {
		g.d.Packet(tick, append([]Message{{4, Proto(nil).Varint(1, 1000+int64(tick))}, e.Message(tick > 0)}, messages...)...)
	}
	switch game {
	case "dota":
		g.dotaPlayers(start, packet)
	case "csgo":
		g.counterStrikePlayers(start, packet)
	case "citadel":
		g.deadlockPlayers(start, packet)
	}
	packet(4, g.entities()) // ends tick 3
	g.d.Record(CmdStop, 4, nil)
	return g.d.Bytes()
}

var (
	bodyField       = Field{Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"}
	namedField      = Field{Name: "m_pEntity", Type: "CEntityIdentity*", Serializer: "CEntityIdentity"}
	eyeField        = Field{Name: "m_angEyeAngles", Type: "QAngle", Encoder: "qangle_precise"}
	controllerField = Field{Name: "m_hController", Type: ref}
	whoFields       = []Field{
		{Name: "m_iszPlayerName", Type: "char[128]"}, {Name: "m_steamID", Type: "uint64", Encoder: "fixed64"}, {Name: "m_iTeamNum", Type: "uint8"},
		{Name: "m_hPlayerPawn", Type: ref}, {Name: "m_hHeroPawn", Type: ref},
	}
)

// who returns the values of whoFields.
func (g *world) who(name string, steam, team, pawn uint64) []Value {
	return []Value{g.text([]int{0}, name), g.bits([]int{1}, steam, 64), g.uint([]int{2}, team), g.uint([]int{3}, pawn), g.uint([]int{4}, pawn)}
}

func (g *world) named(path []int, name int64) []Value {
	return []Value{g.bool(path, true), g.int(append(append([]int(nil), path...), 0), name)}
}

func all(parts ...[]Value) (values []Value) {
	for _, p := range parts {
		values = append(values, p...)
	}
	return values
}

const steam = 76561197960265729

func (g *gameOf) counterStrikePlayers(start func([]string, []Serializer, ...string), packet func(int32, *Entities, ...Message)) {
	item := numbers("m_iClip1", "m_iItemDefinitionIndex")
	start([]string{"CCSPlayerController", "CCSPlayerPawn", "CWeaponAK47", "CWeaponNew"}, []Serializer{
		{Name: "Money", Fields: numbers("m_iAccount")},
		{Name: "Track", Fields: numbers("m_iKills", "m_iDeaths", "m_iAssists")},
		{Name: "Weapons", Fields: []Field{{Name: "m_hMyWeapons", Type: refs}, {Name: "m_hActiveWeapon", Type: ref}}},
		{Name: "CCSPlayerController", Fields: append(whoFields[:5:5],
			Field{Name: "m_bPawnIsAlive", Type: "bool"},
			Field{Name: "m_pInGameMoneyServices", Type: "Money*", Serializer: "Money"},
			Field{Name: "m_pActionTrackingServices", Type: "Track*", Serializer: "Track"})},
		{Name: "CCSPlayerPawn", Fields: append([]Field{bodyField, eyeField, {Name: "m_pWeaponServices", Type: "Weapons*", Serializer: "Weapons"}},
			append(numbers("m_iHealth", "m_iMaxHealth", "m_ArmorValue"), controllerField)...)},
		{Name: "CWeaponAK47", Fields: item}, {Name: "CWeaponNew", Fields: item},
	})
	player := func(name string, steam, team, pawn uint64) []Value {
		return all(g.who(name, steam, team, pawn), []Value{g.bool([]int{5}, true), g.bool([]int{6}, true), g.int([]int{6, 0}, 800), g.bool([]int{7}, true)},
			g.ints([]int{7}, 0, 0, 0, 0))
	}
	e := g.entities()
	e.Create(1, 0, 1, player("somebody", steam, 2, handle(10))...)
	e.Create(2, 0, 1, player("Larry", 0, 3, handle(11))...)
	e.Create(3, 0, 1, player("watcher", steam+2, 1, none)...)
	e.Create(10, 1, 1, all(g.body(512, -1000.5, 2000, 64), []Value{pitched(1), g.bool([]int{2}, true), g.uint([]int{2, 0}, 3), g.uint([]int{2, 0, 0}, handle(12)),
		g.uint([]int{2, 0, 1}, none), g.uint([]int{2, 0, 2}, handle(13)), g.uint([]int{2, 1}, handle(13))}, g.ints(nil, 3, 100, 100, 50),
		[]Value{g.uint([]int{6}, handle(1))})...)
	e.Create(11, 1, 1, all(g.body(512, 1000, -500, 64), []Value{g.bool([]int{2}, true), g.uint([]int{2, 0}, 1),
		g.uint([]int{2, 0, 0}, 12|2<<14) /* of an entity that is no more */}, g.ints(nil, 3, 100, 100, 0))...)
	e.Create(12, 2, 1, g.ints(nil, 0, 30, 7)...)
	e.Create(13, 3, 1, g.ints(nil, 0, 30, 9999)...)
	hurt := gameEvent{1, "player_hurt", []string{"userid", "attacker", "health", "armor", "weapon", "dmg_health", "dmg_armor", "hitgroup"}}
	death := gameEvent{2, "player_death", []string{"userid", "attacker", "assister", "assistedflash", "weapon", "headshot", "penetrated", "noscope",
		"thrusmoke", "attackerblind", "distance", "dmg_health", "dmg_armor", "hitgroup", "attackerinair"}}
	const nobody = 65535
	list := Proto(nil).Bytes(1, hurt.described()).Bytes(1, death.described())
	for _, event := range grenadeEvents {
		list = list.Bytes(1, event.described())
	}
	packet(0, e, Message{205, list})
	e = g.entities()
	e.Update(1, g.int([]int{6, 0}, 100))
	packet(2, e, hurt.happened(playerKey(0), playerKey(1), intKey(73), intKey(41), textKey("ak47"), intKey(27), intKey(9), intKey(6)),
		hurt.happened(playerKey(1), playerKey(nobody), intKey(95), intKey(0), textKey(""), intKey(5), intKey(0), intKey(0)))
	e = g.entities()
	e.Update(1, g.bool([]int{5}, false), g.int([]int{7, 1}, 1))
	e.Update(2, g.int([]int{7, 0}, 1))
	e.Update(10, g.uint([]int{2, 0}, 1), g.int([]int{3}, 0))
	packet(3, e, hurt.happened(playerKey(0), playerKey(1), intKey(0), intKey(40), textKey("ak47"), intKey(73), intKey(1), intKey(1)),
		death.happened(playerKey(0), playerKey(1), playerKey(2), boolKey(true), textKey("ak47"), boolKey(true), intKey(2), boolKey(true), boolKey(true),
			boolKey(true), floatKey(12.5), intKey(111), intKey(1), intKey(1), boolKey(true)),
		death.happened(playerKey(1), playerKey(nobody), playerKey(nobody), boolKey(false), textKey("world")))
	at := []Proto{floatKey(-900.5), floatKey(1900), floatKey(72)}
	of := func(first ...Proto) []Proto { return append(first, at...) }
	const flash, fire, decoy = 90, 91, 92
	packet(4, g.entities(),
		grenadeThrown.happened(playerKey(0), textKey("flashbang")), grenadeThrown.happened(playerKey(1), textKey("weapon_incgrenade")),
		grenadeThrown.happened(playerKey(1), textKey("breachcharge")),
		flashDetonated.happened(of(playerKey(0), intKey(flash))...),
		blinded.happened(playerKey(1), playerKey(0), intKey(flash), floatKey(2.5)), blinded.happened(playerKey(0), playerKey(nobody), intKey(flash), floatKey(0.5)),
		fireDetonated.happened(of(playerKey(1))...), fireBurns.happened(of(intKey(fire))...), fireOver.happened(of(intKey(fire))...), fireQuenched.happened(of(intKey(fire))...),
		decoyStarted.happened(of(handleKey(handle(10)), intKey(decoy))...), decoyOver.happened(of(playerKey(0), intKey(decoy))...),
		smokeBegan.happened(of(playerKey(0), intKey(decoy))...), smokeOver.happened(of(playerKey(0), intKey(decoy))...), heDetonated.happened(of(playerKey(1), intKey(decoy))...))
}

// The game events of grenades.
var (
	grenadeThrown  = gameEvent{10, "grenade_thrown", []string{"userid", "weapon"}}
	heDetonated    = gameEvent{11, "hegrenade_detonate", []string{"userid", "entityid", "x", "y", "z"}}
	flashDetonated = gameEvent{12, "flashbang_detonate", heDetonated.keys}
	smokeBegan     = gameEvent{13, "smokegrenade_detonate", heDetonated.keys}
	smokeOver      = gameEvent{14, "smokegrenade_expired", heDetonated.keys}
	fireDetonated  = gameEvent{15, "molotov_detonate", []string{"userid", "x", "y", "z"}}
	fireBurns      = gameEvent{16, "inferno_startburn", []string{"entityid", "x", "y", "z"}}
	fireOver       = gameEvent{17, "inferno_expire", fireBurns.keys}
	fireQuenched   = gameEvent{18, "inferno_extinguish", fireBurns.keys}
	decoyStarted   = gameEvent{19, "decoy_started", []string{"userid_pawn", "entityid", "x", "y", "z"}}
	decoyOver      = gameEvent{20, "decoy_detonate", heDetonated.keys}
	blinded        = gameEvent{21, "player_blind", []string{"userid", "attacker", "entityid", "blind_duration"}}

	grenadeEvents = []gameEvent{
		grenadeThrown, heDetonated, flashDetonated, smokeBegan, smokeOver, fireDetonated, fireBurns, fireOver, fireQuenched, decoyStarted, decoyOver, blinded,
	}
)

func (g *gameOf) deadlockPlayers(start func([]string, []Serializer, ...string), packet func(int32, *Entities, ...Message)) {
	counts := numbers("m_nHeroID", "m_iLevel", "m_iGoldNetWorth", "m_iPlayerKills", "m_iDeaths", "m_iPlayerAssists", "m_iLastHits", "m_iDenies")
	start([]string{"CCitadelPlayerController", "CCitadelPlayerPawn", "CCitadel_Item", "CCitadel_Ability"}, []Serializer{
		{Name: "CCitadelPlayerController", Fields: append(append(whoFields[:5:5], Field{Name: "m_bAlive", Type: "bool"}), counts...)},
		{Name: "CCitadelPlayerPawn", Fields: append([]Field{bodyField, eyeField, namedField, {Name: "m_nCurrencies", Type: "int32[2]"}, {Name: "m_vecAbilities", Type: refs}},
			append(numbers("m_iHealth", "m_iMaxHealth"), controllerField)...)},
		{Name: "CCitadel_Item", Fields: []Field{namedField}}, {Name: "CCitadel_Ability", Fields: []Field{namedField}},
	}, "hero_haze", "hero_bebop", "upgrade_headshot_booster", "ability_sleep_dagger")
	player := func(name string, steam, team, pawn uint64, hero int64) []Value {
		return all(g.who(name, steam, team, pawn), []Value{g.bool([]int{5}, true)}, g.ints(nil, 6, hero, 4, 1900, 0, 0, 2, 14, 1))
	}
	e := g.entities()
	e.Create(1, 0, 1, player("somebody", steam, 2, handle(10), 13)...)
	e.Create(2, 0, 1, player("another", steam+1, 3, handle(11), 15)...)
	e.Create(3, 0, 1, player("watcher", steam+2, 1, none, 0)...)
	e.Create(10, 1, 1, all(g.body(512, -1000.5, 2000, 64), []Value{pitched(1)}, g.named([]int{2}, 0), g.ints([]int{3}, 0, 650, 1),
		[]Value{g.uint([]int{4}, 2), g.uint([]int{4, 0}, handle(12)), g.uint([]int{4, 1}, handle(13)), g.uint([]int{7}, handle(1))}, g.ints(nil, 5, 600, 650))...)
	e.Create(11, 1, 1, all(g.body(512, 1000, -500, 64), g.named([]int{2}, 1), g.ints([]int{3}, 0, 200, 0), g.ints(nil, 5, 500, 550), []Value{g.uint([]int{7}, handle(2))})...)
	e.Create(12, 3, 1, g.named([]int{0}, 3)...)
	e.Create(13, 2, 1, g.named([]int{0}, 2)...)
	packet(0, e)
	e = g.entities()
	e.Update(10, g.int([]int{3, 0}, 150))
	// Deadlock's numbers for "ability_sleep_dagger" and "upgrade_headshot_booster".
	const sleepDagger, booster = 2948410412, 2010028405
	damage := func(amount, victim, attacker, ability, health, group int64) Proto {
		return Proto(nil).Varint(1, amount).Varint(3, 2).Varint(4, 1).Varint(6, victim).Varint(8, attacker).Varint(9, ability).Varint(11, 650).Varint(12, health).
			Varint(21, group).Float(26, 4).Float(27, 24.75).Float(28, 6)
	}
	packet(2, e, Message{300, damage(46, 10, 11, 12, 554, 1)}, Message{300, damage(7, 13, 10, 12, 0, -1)},
		Message{300, Proto(nil).Varint(1, 5).Varint(2, 8).Varint(6, 77).Varint(8, 0).Varint(10, 3).Varint(14, sleepDagger)}, // of an old build
		Message{309, Proto(nil).Varint(1, 0).Varint(2, booster).Varint(3, 0)}, Message{309, Proto(nil).Varint(1, 0).Varint(2, booster).Varint(3, 2)},
		Message{309, Proto(nil).Varint(1, 1).Varint(2, 1).Varint(3, 0)})
	e = g.entities()
	e.Update(1, g.bool([]int{5}, false), g.int([]int{10}, 1))
	e.Update(2, g.int([]int{9}, 1))
	e.Update(10, g.int([]int{5}, 0))
	packet(3, e, Message{319, Proto(nil).Varint(1, 10).Varint(2, 13).Varint(3, 13).Varint(4, 11).Varint(4, 77).Varint(5, 11).Varint(7, 2)},
		Message{319, Proto(nil).Varint(1, 11).Varint(3, 13).Varint(7, 3)},
		Message{349, Proto(nil)}, Message{347, Proto(nil).Varint(1, 3).Varint(2, 2).Varint(3, int64(handle(12))).Varint(5, 11)},
		Message{72, Proto(nil).Varint(1, 347).Bytes(2, Proto(nil).Varint(1, 2).Varint(3, noEntity).Varint(5, noEntity))},
		Message{347, append(Proto(nil).Varint(3, 10), 5<<3)}) // cannot be read to its end
}

func (g *gameOf) dotaPlayers(start func([]string, []Serializer, ...string), packet func(int32, *Entities, ...Message)) {
	hero := append([]Field{bodyField, namedField, {Name: "m_hItems", Type: ref + "[3]"}, {Name: "m_lifeState", Type: "uint8"}, {Name: "m_flMana", Type: "float32"},
		{Name: "m_flMaxMana", Type: "float32"}}, numbers("m_iHealth", "m_iMaxHealth")...)
	start([]string{"CDOTA_PlayerResource", "CDOTA_DataRadiant", "CDOTA_DataDire", "CDOTA_Unit_Hero_Axe", "CDOTA_Unit_Hero_Lina", "CDOTA_Item", "CDOTA_NPC_Observer_Ward",
		"CDOTA_NPC_Observer_Ward_TrueSight", "CDOTAPlayerController", "CDOTAGamerulesProxy"}, []Serializer{
		{Name: "CDOTAGamerules", Fields: rulesFields}, {Name: "CDOTAGamerulesProxy", Fields: proxyFields},
		{Name: "CDOTA_NPC_Observer_Ward", Fields: wardFields}, {Name: "CDOTA_NPC_Observer_Ward_TrueSight", Fields: wardFields},
		{Name: "CDOTAPlayerController", Fields: assignedFields},
		{Name: "Data", Fields: []Field{{Name: "m_bIsValid", Type: "bool"}, {Name: "m_iszPlayerName", Type: "CUtlString"}, {Name: "m_iPlayerTeam", Type: "int32"},
			{Name: "m_iPlayerSteamID", Type: "uint64", Encoder: "fixed64"}}},
		{Name: "TeamData", Fields: append(numbers("m_iTeamSlot", "m_nSelectedHeroID", "m_iLevel", "m_iKills", "m_iDeaths", "m_iAssists"), Field{Name: "m_hSelectedHero", Type: ref})},
		{Name: "SideData", Fields: numbers("m_iReliableGold", "m_iUnreliableGold", "m_iNetWorth", "m_iLastHitCount", "m_iDenyCount")},
		{Name: "CDOTA_PlayerResource", Fields: []Field{{Name: "m_vecPlayerData", Type: list("Data"), Serializer: "Data"},
			{Name: "m_vecPlayerTeamData", Type: list("TeamData"), Serializer: "TeamData"}}},
		{Name: "CDOTA_DataRadiant", Fields: []Field{{Name: "m_vecDataTeam", Type: list("SideData"), Serializer: "SideData"}}},
		{Name: "CDOTA_DataDire", Fields: []Field{{Name: "m_vecDataTeam", Type: list("SideData"), Serializer: "SideData"}}},
		{Name: "CDOTA_Unit_Hero_Axe", Fields: hero}, {Name: "CDOTA_Unit_Hero_Lina", Fields: hero}, {Name: "CDOTA_Item", Fields: []Field{namedField}},
	}, "npc_dota_hero_axe", "npc_dota_hero_lina", "item_blink", "item_tango")
	who := func(i int, valid bool, name string, team int64, steam uint64) []Value {
		return []Value{g.bool([]int{0, i, 0}, valid), g.text([]int{0, i, 1}, name), g.int([]int{0, i, 2}, team), g.bits([]int{0, i, 3}, steam, 64)}
	}
	team := func(i int, hero uint64, counts ...int64) []Value {
		return append(g.ints([]int{1, i}, 0, counts...), g.uint([]int{1, i, 6}, hero))
	}
	e := g.entities()
	e.Create(1, 0, 1, all([]Value{g.uint([]int{0}, 4)}, who(0, true, "somebody", 2, steam), who(1, true, "another", 3, steam+1), who(2, true, "watcher", 1, steam+2),
		who(3, false, "", 2, 0), []Value{g.uint([]int{1}, 2)}, team(0, handle(10), 1, 2, 5, 0, 0, 3), team(1, handle(11), 0, 0, 6, 0, 0, 4))...)
	e.Create(2, 1, 1, all([]Value{g.uint([]int{0}, 2)}, g.ints([]int{0, 0}, 0, 1, 2, 3, 4, 5), g.ints([]int{0, 1}, 0, 100, 550, 2650, 12, 3))...)
	e.Create(3, 2, 1, all([]Value{g.uint([]int{0}, 1)}, g.ints([]int{0, 0}, 0, 0, 200, 900, 20, 4))...)
	unit := func(at []Value, name int64, items [3]uint64, mana float32, health ...int64) []Value {
		return all(at, g.named([]int{1}, name), []Value{g.uint([]int{2, 0}, items[0]), g.uint([]int{2, 1}, items[1]), g.uint([]int{2, 2}, items[2]), g.uint([]int{3}, 0),
			g.floats([]int{4}, mana), g.floats([]int{5}, 291)}, g.ints(nil, 6, health...))
	}
	e.Create(10, 3, 1, unit(g.body(128, -6700, -6300, 384), 0, [3]uint64{handle(12), none, handle(13)}, 120.5, 700, 720)...)
	e.Create(11, 4, 1, unit(g.body(128, 6700.5, 6300, 384), 1, [3]uint64{none, none, none}, 291, 600, 600)...)
	e.Create(12, 5, 1, g.named([]int{0}, 2)...)
	e.Create(13, 5, 1, g.named([]int{0}, 3)...)
	e.Create(14, 6, 1, g.ward(10, 20, 3, handle(11))...)
	e.Create(18, 8, 1, g.uint([]int{0}, handle(10)))
	e.Create(19, 9, 1, g.bool([]int{0}, true), g.int([]int{0, 0}, 8), g.int([]int{0, 3, 0}, 10))
	log := []Entry{{Index: 0, Key: "dota_unknown"}}
	for i, name := range []string{"npc_dota_hero_axe", "npc_dota_hero_lina", "lina_laguna_blade", "npc_dota_creep_badguys_melee", "npc_dota_lone_druid_bear1", "npc_dota_badguys_tower1_mid",
		"npc_dota_roshan", "npc_dota_miniboss", "item_blink", "npc_dota_observer_wards", "npc_dota_courier", "modifier_smoke_of_deceit"} {
		log = append(log, Entry{Index: i + 1, Key: name})
	}
	const unknown, axe, lina, blade, creep, bear, tower, roshan, tormentor, blink, ward, courier, smoke = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
	entry := func(typ, target, targetOwner, attacker, owner int64) Proto {
		return Proto(nil).Varint(1, typ).Varint(2, target).Varint(3, targetOwner).Varint(4, attacker).Varint(5, owner)
	}
	packet(0, e, Table{}.Create("CombatLogNames", false, log...))
	e = g.entities()
	e.Update(1, g.int([]int{1, 1, 1}, 25))
	e.Update(19, g.int([]int{0, 3, 1}, 11), g.int([]int{0, 4, 0}, 25), g.int([]int{0, 4, 1}, 9999))
	packet(1, e)
	e = g.entities()
	e.Update(2, g.int([]int{0, 1, 1}, 460))
	e.Create(15, 6, 1, g.ward(30, 40, 3, handle(11))...)
	e.Create(16, 7, 1, g.ward(50, 60, 2, handle(18))...)
	e.Create(17, 7, 1, g.ward(70, 80, 2, none)...)
	packet(2, e,
		Message{554, entry(0, axe, axe, lina, lina).Varint(6, blade).Varint(8, 1).Varint(10, 1).Varint(13, 450).Varint(14, 250).Varint(28, 3).Varint(29, 2).Varint(49, 2)},
		Message{470, Proto(nil).
			Bytes(1, entry(0, axe, axe, creep, creep).Varint(6, unknown).Varint(10, 1).Varint(13, 20).Varint(14, 230).Varint(28, 3).Varint(29, 2)).
			Bytes(1, entry(4, creep, creep, axe, axe).Varint(8, 1).Varint(28, 2).Varint(29, 3)).
			Bytes(1, entry(0, axe, axe, bear, lina).Varint(9, 1).Varint(10, 1).Varint(13, 30).Varint(14, 200).Varint(28, 3).Varint(29, 2).Varint(49, 1))})
	e = g.entities()
	e.Update(1, g.int([]int{1, 0, 4}, 1), g.int([]int{1, 1, 3}, 1))
	e.Update(10, g.uint([]int{3}, 2), g.int([]int{6}, 0))
	e.Delete(14)
	e.Create(15, 6, 2, g.ward(90, 100, 3, handle(10))...) // another one in the same slot
	e.Delete(16)
	packet(3, e,
		Message{554, entry(4, lina, lina, axe, axe).Varint(8, 1).Varint(9, 1).Varint(10, 1)}, // an illusion
		Message{554, entry(4, axe, axe, bear, lina).Varint(10, 1).Varint(28, 3).Varint(29, 2).Varint(40, 1).Varint(40, 9).Varint(78, 1)},
		Message{554, entry(4, tower, tower, bear, lina).Varint(28, 3).Varint(29, 3).Varint(37, 1)},
		Message{554, entry(4, roshan, roshan, axe, axe).Varint(8, 1).Varint(28, 2).Varint(29, 4)}, Message{554, entry(4, tormentor, tormentor, axe, axe).Varint(8, 1)},
		Message{554, entry(11, axe, axe, unknown, unknown).Varint(13, blink)},
		Message{554, entry(4, lina, lina, lina, lina).Varint(6, blade).Varint(8, 1).Varint(10, 1)})
	said := func(typ, value, player int64) Message {
		return Message{466, Proto(nil).Varint(1, typ).Varint(2, value).Sint(3, player)}
	}
	packet(4, g.entities(),
		said(22, 5, 0), said(23, 0, 1), said(114, 99, 0), said(8, 0, 0), said(53, 0, 1), said(51, 0, 0), said(8, 0, -1), said(0, 0, 1),
		Message{554, entry(12, axe, axe, axe, axe).Varint(13, 0)}, Message{554, entry(12, axe, axe, axe, axe).Varint(13, 1<<31)},
		Message{554, entry(2, lina, lina, axe, axe).Varint(6, smoke).Varint(8, 1).Varint(10, 1)}, Message{554, entry(2, lina, lina, axe, axe).Varint(6, blade).Varint(8, 1).Varint(10, 1)},
		Message{554, entry(4, ward, ward, lina, lina).Varint(8, 1).Varint(28, 3).Varint(29, 3)}, Message{554, entry(4, courier, courier, axe, axe).Varint(8, 1).Varint(28, 2).Varint(29, 3)})
}

// wardFields are the fields of a ward, and assignedFields those of the entity of a player of Dota 2.
var (
	wardFields     = []Field{bodyField, {Name: "m_iTeamNum", Type: "uint8"}, {Name: "m_hOwnerEntity", Type: ref}}
	assignedFields = []Field{{Name: "m_hAssignedHero", Type: ref}}
)

// rulesFields are the fields of the game's rules in Dota 2, and proxyFields those of their entity.
var (
	rulesFields = []Field{
		{Name: "m_nGameState", Type: "int32"}, {Name: "m_flGameStartTime", Type: "float32"}, {Name: "m_flStateTransitionTime", Type: "float32"},
		{Name: "m_BannedHeroes", Type: "HeroID_t[24]"}, {Name: "m_SelectedHeroes", Type: "HeroID_t[24]"},
	}
	proxyFields = []Field{{Name: "m_pGameRules", Type: "CDOTAGamerules*", Serializer: "CDOTAGamerules"}}
)

// ward returns the values of wardFields.
func (g *gameOf) ward(x, y float64, team, owner uint64) []Value {
	return append(g.body(128, x, y, 256), g.uint([]int{1}, team), g.uint([]int{2}, owner))
}

// gameEvent is a kind of game events.
type gameEvent struct {
	id   int64
	name string
	keys []string
}

// keyTypes are the types of keys that are no whole numbers, of 32 bits.
var keyTypes = map[string]int64{
	"weapon": 1, "distance": 2, "assistedflash": 6, "headshot": 6, "noscope": 6, "thrusmoke": 6, "attackerblind": 6, "attackerinair": 6,
	"userid": 9, "attacker": 9, "assister": 9, "userid_pawn": 8, "x": 2, "y": 2, "z": 2, "blind_duration": 2,
}

// described returns the description of the kind.
func (e gameEvent) described() Proto {
	p := Proto(nil).Varint(1, e.id).Text(2, e.name)
	for _, key := range e.keys {
		p = p.Bytes(3, Proto(nil).Varint(1, cmp.Or(keyTypes[key], 3)).Text(2, key))
	}
	return p
}

// happened returns a game event with the values of its first keys.
func (e gameEvent) happened(values ...Proto) Message {
	p := Proto(nil).Varint(2, e.id)
	for _, v := range values {
		p = p.Bytes(3, v)
	}
	return Message{207, p}
}

func textKey(v string) Proto   { return Proto(nil).Varint(1, 1).Text(2, v) }
func floatKey(v float32) Proto { return Proto(nil).Varint(1, 2).Float(3, v) }
func intKey(v int64) Proto     { return Proto(nil).Varint(1, 3).Varint(4, v) }
func boolKey(v bool) Proto {
	p := Proto(nil).Varint(1, 6)
	if v {
		p = p.Varint(7, 1)
	}
	return p
}

func handleKey(v uint64) Proto { return Proto(nil).Varint(1, 8).Varint(4, int64(v)) }

// playerKey returns a key with the slot of a player.
func playerKey(slot int64) Proto { return Proto(nil).Varint(1, 9).Varint(5, slot) }
