package schema

import "slices"

// encoders are the encoders that change how values are read, each for some types only.
var encoders = [...]string{"coord", "normal", "qangle_precise", "qangle_pitch_yaw", "fixed64", "fixed8"}

// plainAngles are encoders of angles that are read like angles without an encoder.
var plainAngles = [...]string{"qangle", "QAngle"}

// changes reports whether an encoder changes how the field's values are read as a base type.
func (f *Field) changes(base, encoder string) bool {
	with, without := f.codec(base, encoder), f.codec(base, "")
	return with.Op != without.Op || with.Float != without.Float
}

// knows reports whether the meaning of the field's encoder for a type is known. An unknown encoder may change the values of any
// type, and so may an encoder that is known only with other types.
func (f *Field) knows(base string) bool {
	switch {
	case f.encoder == "" || f.changes(base, f.encoder):
		return true
	case base == "QAngle" && slices.Contains(plainAngles[:], f.encoder):
		return true
	}
	// For an unknown type, the other encoders suggest what it may be, but not whether a byte has a sign.
	return f.codec(base, "").Guess && slices.Contains(encoders[:], f.encoder) && f.encoder != "fixed8"
}

// EncodersOf returns the encoders that change how values of a base type are read.
func EncodersOf(base string) (out []string) {
	var f Field
	for _, e := range encoders {
		if f.changes(base, e) {
			out = append(out, e)
		}
	}
	return out
}

// Unknown says what is unknown about reading a field's values.
type Unknown struct {
	// Name is the base type and, if the encoder is unknown, the encoder in brackets.
	Name string
	Base string // of the type
	// Type and Encoder say which of the two is unknown. List says that the field may be a list of objects or one object.
	Type, Encoder, List bool
	// Numeric reports whether values are known to be numbers of variable length, signed or not.
	Numeric bool
	// MayBeShifted reports whether numbers may be sent plus one, which the schema does not say.
	MayBeShifted bool
}

// unknown returns what is unknown about a field's values of a type.
func (c *compiler) unknown(f *Field, t Type) *Unknown {
	u := &Unknown{Name: t.Base, Base: t.Base, Type: f.codec(t.Base, "").Guess, Encoder: !f.knows(t.Base)}
	if u.Encoder {
		u.Name += "(" + f.encoder + ")"
	}
	u.Numeric = u.Type && !u.Encoder && (plainEnums[t.Base] || enums[t.Base])
	u.MayBeShifted = u.Type && !c.saysShifted && !plainEnums[t.Base]
	return u
}

// plainEnums are enums and ids that are not sent plus one, for schemas of Dota 2 from 2015 to January 2024, which do not say so.
var plainEnums = map[string]bool{
	"AbilityBarType_t": true, "AttachmentHandle_t": true, "BeamClipStyle_t": true,
	"BeamType_t": true, "CavernCrawlMapVariant_t": true, "DOTACustomHeroPickRulesPhase_t": true,
	"DOTATeam_t": true, "DOTA_HeroPickState": true, "DOTA_PlayerDraftState": true,
	"DOTA_SHOP_TYPE": true, "DamageOptions_t": true, "DoorState_t": true,
	"ECNYBeastAbility": true, "ECrowdLevel": true, "ERoshanSpawnPhase": true,
	"EShowcaseEditorMode": true, "ETeamShowcase_SlotType": true, "EntityDisolveType_t": true,
	"FowBlockerShape_t": true, "GuildID_t": true, "LeagueID_t": true,
	"MaterialModifyMode_t": true, "MoveCollide_t": true, "MoveType_t": true,
	"PeriodicResourceID_t": true, "PingConfirmationIconType": true, "PointWorldTextJustifyHorizontal_t": true,
	"PointWorldTextJustifyVertical_t": true, "PointWorldTextReorientMode_t": true, "PoseController_FModType_t": true,
	"PrecipitationType_t": true, "RenderFx_t": true, "RenderMode_t": true,
	"ScoutState_t": true, "ScreenEffectType_t": true, "ShopItemViewMode_t": true,
	"SolidType_t": true, "SurroundingBoundsType_t": true, "TakeDamageFlags_t": true,
	"ValueRemapperHapticsType_t": true, "ValueRemapperInputType_t": true, "ValueRemapperMomentumType_t": true,
	"ValueRemapperOutputType_t": true, "ValueRemapperRatchetType_t": true, "WeaponState_t": true,
	"WorldGroupId_t": true, "attrib_definition_index_t": true, "attributeprovidertypes_t": true,
	"gender_t": true, "item_definition_index_t": true, "style_index_t": true,
}

// enums are other known enums and ids of the games. Unlike values of unknown types, theirs are numbers even if all values so far
// are 0, which could also be an empty text.
var enums = map[string]bool{
	"CSPlayerBlockingUseAction_t": true, "CSPlayerState": true, "CSWeaponMode": true,
	"CSWeaponState_t": true, "CitadelLobbyPlayerSlot_t": true, "Class_T": true,
	"EAttachState_t": true, "ECitadelGameMode": true, "ECitadelMatchMode": true,
	"EClimbRopeState_t": true, "EFlexSlotTypes_t": true, "EGameState": true,
	"EGuidedBotMatchObjective": true, "EKillTypes_t": true, "EMidStairsLocation_t": true,
	"EMiniMapMarkerType_t": true, "EMinimapHeight": true, "EPlayerPlayState": true,
	"ETier3Phase_t": true, "ETier3State_t": true, "EntityPlatformTypes_t": true,
	"FixAngleSet_t": true, "HeroBuildID_t": true, "MedalRank_t": true,
	"PlayerAnimEvent_t": true, "QuestProgress::Reason": true, "WeaponGameplayAnimState": true,
}
