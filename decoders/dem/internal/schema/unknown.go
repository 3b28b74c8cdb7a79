package schema

import "slices"

// encoders are the encoders that change how values are read, each of some types only.
var encoders = [...]string{"coord", "normal", "qangle_precise", "qangle_pitch_yaw", "fixed64", "fixed8"}

// plainAngles are the encoders of angles that are read as those without an encoder.
var plainAngles = [...]string{"qangle", "QAngle"}

// changes reports whether an encoder changes how the field's values are read, if they have a type of that base.
func (f *Field) changes(base, encoder string) bool {
	with, without := f.codec(base, encoder), f.codec(base, "")
	return with.Op != without.Op || with.Float != without.Float
}

// knows reports whether it is known what the field's encoder means for a type. An encoder that is not known may change the values of
// any type, and so may one that is known with other types only.
func (f *Field) knows(base string) bool {
	switch {
	case f.encoder == "" || f.changes(base, f.encoder):
		return true
	case base == "QAngle" && slices.Contains(plainAngles[:], f.encoder):
		return true
	}
	// Of a type that is not known the other encoders say what it may be; but not whether a byte has a sign.
	return f.codec(base, "").Guess && slices.Contains(encoders[:], f.encoder) && f.encoder != "fixed8"
}

// EncodersOf returns the encoders that change how values of a type are read, by its base.
func EncodersOf(base string) (out []string) {
	var f Field
	for _, e := range encoders {
		if f.changes(base, e) {
			out = append(out, e)
		}
	}
	return out
}

// Unknown is what is not known of how values of a field are read.
type Unknown struct {
	// Name is the type's base and, if it is the encoder that is not known, the encoder in brackets.
	Name string
	Base string // of the type
	// Type and Encoder say which of both is not known of values. List says that it is not known whether the field is a list of
	// objects or one object.
	Type, Encoder, List bool
	// Numeric reports whether it is known that values are numbers of variable length; whether they are signed is not.
	Numeric bool
	// MayBeShifted reports whether numbers may be sent plus one, which the schema does not say.
	MayBeShifted bool
}

// unknown returns what is not known of a field's values of a type.
func (c *compiler) unknown(f *Field, t Type) *Unknown {
	u := &Unknown{Name: t.Base, Base: t.Base, Type: f.codec(t.Base, "").Guess, Encoder: !f.knows(t.Base)}
	if u.Encoder {
		u.Name += "(" + f.encoder + ")"
	}
	u.Numeric = u.Type && !u.Encoder && (plainEnums[t.Base] || enums[t.Base])
	u.MayBeShifted = u.Type && !c.saysShifted && !plainEnums[t.Base]
	return u
}

// plainEnums are enums and ids in schemas of Dota 2 from 2015 to January 2024, which do not say which numbers are sent plus one: these
// are not.
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

// enums are other enums and ids of the games. Unlike those of types that nobody knows, their values are numbers even if all that are met
// are 0, which may be an empty text as well.
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
