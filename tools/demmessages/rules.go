package main

// rule says how the values of an enum, and their messages, are named.
type rule struct {
	prefix, suffix string
	messages       []string // prefixes
}

// firstOfGames is the first number of the messages that games define themselves.
const firstOfGames = 300

// rules are the enums that number the messages of packets.
var rules = map[string]rule{
	"NET_Messages":                        {prefix: "net_", messages: []string{"CNETMsg_"}},
	"CLC_Messages":                        {prefix: "clc_", messages: []string{"CCLCMsg_"}},
	"SVC_Messages":                        {prefix: "svc_", messages: []string{"CSVCMsg_"}},
	"Bidirectional_Messages":              {prefix: "bi_", messages: []string{"CBidirMsg_"}},
	"Bidirectional_Messages_LowFrequency": {prefix: "bi_", messages: []string{"CBidirMsg_"}},
	"EBaseUserMessages":                   {prefix: "UM_", messages: []string{"CUserMessage", "CUserMessage_", "CUserMsg_"}},
	"EBaseEntityMessages":                 {prefix: "EM_", messages: []string{"CEntityMessage"}},
	"EBaseGameEvents":                     {prefix: "GE_", messages: []string{"CMsg"}},
	"ETEProtobufIds":                      {prefix: "TE_", suffix: "Id", messages: []string{"CMsgTE"}},
	"EDotaUserMessages":                   {prefix: "DOTA_UM_", messages: []string{"CDOTAUserMsg_", "CDOTAUserMessage_"}},
	"ECstrike15UserMessages":              {prefix: "CS_UM_", messages: []string{"CCSUsrMsg_"}},
	"ECsgoGameEvents":                     {prefix: "GE_", suffix: "Id", messages: []string{"CMsgTE", "CMsg"}},
	"CitadelUserMessageIds":               {prefix: "k_EUserMsg_", messages: []string{"CCitadelUserMsg_", "CCitadelUserMessage_"}},
	"CitadelEntityMessageIds":             {prefix: "k_EEntityMsg_", messages: []string{"CCitadelEntityMsg_"}},
	"ECitadelGameEvents":                  {prefix: "GE_", messages: []string{"CMsg"}},
}

// renamed lists the messages whose names do not follow the names of their numbers. For some, no definition is published.
var renamed = map[string]string{
	"net_Disconnect_Legacy":         "CNETMsg_Disconnect_Legacy",
	"bi_GameEvent_DEPRECATED":       "CBidirMsg_GameEvent",
	"bi_GameEvent":                  "CBidirMsg_GameEvent",
	"bi_RelayInfo":                  "CBidirMsg_RelayInfo",
	"bi_RelayPacket":                "CBidirMsg_RelayPacket",
	"svc_UserCmds":                  "CSVCMsg_UserCommands",
	"UM_AnimGraphUpdate":            "CUserMessageAnimStateGraphState",
	"UM_UtilActionResponse":         "CUserMessage_UtilMsg_Response",
	"UM_DllStatusResponse":          "CUserMessage_DllStatus",
	"UM_InventoryResponse":          "CUserMessage_Inventory_Response",
	"UM_DiagnosticResponse":         "CUserMessage_Diagnostic_Response",
	"DOTA_UM_AddUnitToSelection":    "CDOTAUserMsg_AddUnitToSelection",
	"DOTA_UM_CombatLogData":         "CMsgDOTACombatLogEntry",
	"DOTA_UM_ParticleManager":       "CUserMsg_ParticleManager",
	"DOTA_UM_CharacterSpeakConcept": "CDOTAUserMsg_CharacterSpeakConcept",
	"DOTA_UM_TournamentDrop":        "CDOTAUserMsg_TournamentDrop",
	"DOTA_UM_StatsHeroDetails":      "CDOTAUserMsg_StatsHeroDetails",
	"DOTA_UM_PredictionResult":      "CDOTAUserMsg_PredictionResult",
	"DOTA_UM_CombatLogDataHLTV":     "CMsgDOTACombatLogEntry",
	"DOTA_UM_MatchMetadata":         "CDOTAMatchMetadataFile",
	"DOTA_UM_MatchDetails":          "CMsgDOTAMatch",
	"DOTA_EM_InvokerSpellCast":      "CDOTAEntityMsg_InvokerSpellCast",
	"clc_ServerPing":                "CCLCMsg_ServerPing",
	"CS_UM_UtilMsg":                 "CCSUsrMsg_UtilMsg",
	"CS_UM_SayText":                 "CCSUsrMsg_SayText",
	"CS_UM_SayText2":                "CCSUsrMsg_SayText2",
	"CS_UM_TextMsg":                 "CCSUsrMsg_TextMsg",
	"CS_UM_UpdateTeamMoney":         "CCSUsrMsg_UpdateTeamMoney",
	"CS_UM_DisconnectToLobby2":      "CCSUsrMsg_DisconnectToLobby2",
	"GE_RadioIconEventId":           "CMsgTERadioIcon",
	"k_EUserMsg_AbilityFailed":      "CCitadelUserMsg_AbilityFailed",
}

// absent lists values that number no message.
var absent = []string{"UM_MAX_BASE"}

// unpublished lists messages without a published definition among the sources of today.
var unpublished = []struct {
	game string
	numbered
}{
	{"cs2", numbered{338, "CCSUsrMsg_WarmupHasEnded"}},
	{"cs2", numbered{360, "CCSUsrMsg_GlowPropTurnOff"}},
	{"deadlock", numbered{169, "CUserMessage_RemoteServerCommand"}},
	{"deadlock", numbered{170, "CUserMessage_RemoteServerResponse"}},
	{"deadlock", numbered{367, "CMsgCitadelCombatLogEntry"}},
	{"deadlock", numbered{368, "CCitadelUserMsg_CombatLogBulkData"}},
	{"deadlock", numbered{369, "CCitadelUserMsg_PlayerTyping"}},
	{"deadlock", numbered{371, "CCitadelUserMsg_LocalLobby"}},
	{"deadlock", numbered{372, "CCitadelUserMsg_SoulBagPickup"}},
	{"deadlock", numbered{373, "CCitadelUserMsg_HeroReleaseVote"}},
}

// inside lists messages without a number that demos contain in records, string tables and other messages.
var inside = []string{
	"CDemoFileHeader", "CDemoFileInfo", "CDemoSendTables", "CDemoClassInfo", "CDemoStringTables", "CDemoPacket", "CDemoConsoleCmd",
	"CDemoUserCmd", "CDemoFullPacket", "CDemoCustomData", "CDemoCustomDataCallbacks", "CDemoSaveGame", "CDemoSpawnGroups",
	"CDemoAnimationData", "CDemoAnimationHeader", "CDemoRecovery", "CMsgPlayerInfo", "CDOTAModifierBuffTableEntry", "CSGOUserCmdPB",
}

// contents lists messages that consist of the bytes of another message.
var contents = map[string]string{"CCitadelUserMsg_PostMatchDetails": "CMsgMatchMetaDataContents"}
