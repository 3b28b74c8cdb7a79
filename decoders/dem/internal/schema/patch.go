package schema

import "math"

// The last builds of Dota 2 that need a patch (docs/formats/dem.md, Patches of old builds).
const (
	lastManaPatch     = 954
	lastEncoderPatch  = 990
	firstFixed64Patch = 1016
	lastFixed64Patch  = 1027
)

// The schemas of 2015 did not name all encoders.
var (
	coordPatch = map[string]bool{
		"dirPrimary": true, "localSound": true, "m_attachmentPointBoneSpace": true,
		"m_attachmentPointRagdollSpace": true, "m_flElasticity": true, "m_location": true, "m_poolOrigin": true,
		"m_ragPos": true, "m_vecEndPos": true, "m_vecEyeExitEndpoint": true, "m_vecGunCrosshair": true,
		"m_vecLadderDir": true, "m_vecPlayerMountPositionBottom": true, "m_vecPlayerMountPositionTop": true,
		"m_viewtarget": true, "m_WorldMaxs": true, "m_WorldMins": true, "origin": true, "vecExtraLocalOrigin": true,
		"vecLocalOrigin": true,
	}
	anglePatch = map[string]bool{
		"angExtraLocalAngles": true, "angLocalAngles": true, "m_angInitialAngles": true, "m_ragAngles": true,
		"m_vLightDirection": true,
	}
	fixed64Patch = map[string]bool{
		"m_bWorldTreeState": true, "m_ulTeamLogo": true, "m_ulTeamBaseLogo": true, "m_ulTeamBannerLogo": true,
		"m_iPlayerIDsInControl": true, "m_bItemWhiteList": true, "m_iPlayerSteamID": true,
	}
)

// patch corrects a field whose description is wrong in builds of Dota 2 of 2015.
func (c *compiler) patch(f *Field, in *Serializer) {
	if c.dotaBuild == 0 {
		return
	}
	if c.dotaBuild <= lastManaPatch && (f.Name == "m_flMana" || f.Name == "m_flMaxMana") && f.high == math.MaxFloat32 {
		f.low, f.hasLow = 0, false
		f.high = 8192
	}
	if c.dotaBuild <= lastEncoderPatch {
		switch {
		case coordPatch[f.Name]:
			f.encoder = "coord"
		case anglePatch[f.Name]:
			f.encoder = ""
		case f.Name == "m_vecLadderNormal":
			f.encoder = "normal"
		case f.Name == "m_angRotation":
			f.encoder = ""
			if in.Name == "CBodyComponentBaseAnimatingOverlay" && in.Version == 3 {
				f.encoder = "qangle_pitch_yaw"
			}
		}
	}
	if c.dotaBuild >= firstFixed64Patch && c.dotaBuild <= lastFixed64Patch && fixed64Patch[f.Name] {
		f.encoder = "fixed64"
	}
}
