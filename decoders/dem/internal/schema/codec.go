package schema

import (
	"math"

	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// choose determines how the field's values are read.
func (c *compiler) choose(f *Field, t Type) {
	elem := t
	switch f.Shape {
	case ShapePointer:
		f.Own = value.Codec{Op: value.OpPointer, Num: uint8(min(len(f.Types), math.MaxUint8))}
	case ShapeTable:
		f.Own = value.Codec{Op: value.OpLength, Guess: !t.isTable()}
	case ShapeVector:
		f.Own = value.Codec{Op: value.OpLength}
		elem = ParseType(t.Generic)
		f.Elem = f.Codec(elem)
	case ShapeArray:
		f.Elem = f.Codec(t)
	case ShapeValue:
		f.Own = f.Codec(t)
	}
	switch {
	case f.Own.Guess && f.Shape == ShapeTable:
		f.Unknown = &Unknown{Name: t.Base, Base: t.Base, List: true}
	case f.Own.Guess:
		if f.Unknown = c.unknown(f, t); f.Unknown.Type && t.Generic != "" {
			// It may be a list.
			elem = ParseType(t.Generic)
			f.Elem = f.Codec(elem)
		}
	}
	if f.Elem.Guess {
		f.UnknownElem = c.unknown(f, elem)
	}
}

// MayBeList reports whether the field has an unknown type that may be a list.
func (f *Field) MayBeList() bool { return f.Own.Guess && f.Elem.Op != value.OpNone }

// handles are the types whose values name entities.
var handles = map[string]bool{
	"CHandle": true, "CEntityHandle": true, "CGameSceneNodeHandle": true, "CBaseVRHandAttachmentHandle": true,
}

// signedTypes are types that are read as signed varints, although the schema does not say so. A number is signed if the game's
// own type is; an enum is signed if one of its members is below zero. Read without a sign, a number is doubled, and -1 is 1: in
// recordings all values of these types are even, except those that mean "none".
var signedTypes = map[string]bool{
	// Numbers, whose raw values in recordings are even, or 1.
	"HeroID_t": true, "PlayerID_t": true, "CPlayerSlot": true, "CEntityIndex": true, "AbilityID_t": true,
	// Raw values are even, or 1 (-1) and 4294967294 (2³¹-1), which both mean "never", or 2047 (-1024).
	"GameTick_t": true,
	// Enums with -1 for "invalid". Raw values in recordings are even.
	"AnimLoopMode_t": true, "AnimationAlgorithm_t": true, "HitGroup_t": true, "NPC_STATE": true,
	// Enums with -1, too, whose raw values are also 1: empty slots, and the bucket of innate abilities.
	"EAbilitySlots_t": true, "EAbilityBucketType": true, "loadout_slot_t": true,
	// Enums with a -1 ("init", "never connected", "invalid"), of which recordings have little more than 0.
	"CourierState_t": true, "PlayerConnectedState": true, "WeaponAttackType_t": true,
}

// Signed reports whether values of a type are read as signed varints, although the schema does not mark them as signed.
func Signed(base string) bool { return signedTypes[base] }

// clips are fields that are sent plus one, although schemas from before February 2024 do not say so.
var clips = map[string]bool{"m_iClip1": true, "m_iClip2": true}

// knownUint64 are types that are read as varuint64. Numbers of matches and items passed 2³² long ago.
var knownUint64 = map[string]bool{
	"uint64": true, "CStrongHandle": true, "HeroFacetKey_t": true, "ResourceId_t": true,
	"MatchID_t": true, "itemid_t": true,
}

// knownUnsigned are types that are certainly read as varuint32; any other type is only guessed to be an enum.
var knownUnsigned = map[string]bool{
	"uint8": true, "uint16": true, "uint32": true, "color32": true, "Color": true, "CUtlStringToken": true,
}

// Codec returns the codec for values of a type, with the field's encoder, bits and bounds.
func (f *Field) Codec(t Type) value.Codec {
	c := f.codec(t.Base, f.encoder)
	c.Guess = c.Guess || !f.knows(t.Base)
	return c
}

// CodecAs returns the codec for the field's values as if they had the given base type and encoder. An empty encoder means the
// field's own.
func (f *Field) CodecAs(base, encoder string) value.Codec {
	if encoder == "" {
		encoder = f.encoder
	}
	return f.codec(base, encoder)
}

// codec returns the codec for values of a base type with an encoder. It ignores an encoder that means nothing for the type.
func (f *Field) codec(base, encoder string) value.Codec {
	if f.minusOne {
		return value.Codec{Op: value.OpMinusOne}
	}
	switch base {
	case "bool":
		return value.Codec{Op: value.OpBool}
	case "int8", "int16", "int32":
		if base == "int8" && encoder == "fixed8" {
			return value.Codec{Op: value.OpFixedInt8}
		}
		return value.Codec{Op: value.OpInt32}
	case "int64":
		return value.Codec{Op: value.OpInt64}
	case "uint8":
		if encoder == "fixed8" {
			return value.Codec{Op: value.OpFixedUint8}
		}
		return value.Codec{Op: value.OpUint32}
	case "HSequence":
		return value.Codec{Op: value.OpMinusOne}
	case "BloodType":
		return value.Codec{Op: value.OpFixedUint8}
	case "GameTime_t":
		return value.Codec{Op: value.OpFloat}
	case "float32", "CNetworkedQuantizedFloat":
		return f.floatCodec(value.OpFloat, encoder)
	case "Vector", "VectorWS":
		if encoder == "normal" {
			return value.Codec{Op: value.OpNormal3}
		}
		return f.floatCodec(value.OpVector, encoder)
	case "Vector2D":
		return f.tupleCodec(2, encoder)
	case "Vector4D", "Quaternion":
		return f.tupleCodec(4, encoder)
	case "CTransform":
		return f.tupleCodec(6, encoder)
	case "QAngle":
		return f.angleCodec(encoder)
	case "char", "CUtlString", "CUtlSymbolLarge", "CGlobalSymbol":
		return value.Codec{Op: value.OpText}
	case "CUtlBinaryBlock":
		return value.Codec{Op: value.OpBlob}
	}
	if handles[base] {
		return value.Codec{Op: value.OpHandle}
	}
	switch {
	case encoder == "fixed64":
		return value.Codec{Op: value.OpFixed64}
	case Signed(base):
		return value.Codec{Op: value.OpInt32}
	case knownUint64[base]:
		return value.Codec{Op: value.OpUint64}
	case knownUnsigned[base]:
		return value.Codec{Op: value.OpUint32}
	}
	// With 64 bits, a number that is no enum is read to its end, too.
	return value.Codec{Op: value.OpUint64, Guess: true}
}

func (f *Field) tupleCodec(n uint8, encoder string) value.Codec {
	c := f.floatCodec(value.OpTuple, encoder)
	c.Num = n
	return c
}

// floatCodec applies the float rule (docs/formats/dem.md, Floats).
func (f *Field) floatCodec(o value.Op, encoder string) value.Codec {
	switch {
	case encoder == "coord":
		return value.Codec{Op: o, Float: value.FloatCoord}
	case encoder == "normal" && o != value.OpTuple:
		return value.Codec{Op: o, Float: value.FloatNormal}
	case f.Name == "m_flSimulationTime" || f.Name == "m_flAnimTime":
		return value.Codec{Op: o, Float: value.FloatTicks}
	case f.bitCount <= 0 || f.bitCount >= 32:
		return value.Codec{Op: o}
	}
	low, high := float32(0), float32(1)
	if f.hasLow {
		low = f.low
	}
	if f.hasHigh {
		high = f.high
	}
	if f.Name == "m_flRuneTime" && high-low > math.MaxFloat32 {
		// Builds of 2018 and 2019 give four bits the whole range of floats: the bounds mean nothing.
		low, high = 0, 1
	}
	return value.Codec{Op: o, Float: value.FloatQuantized, Quant: value.NewQuantizer(int(f.bitCount), low, high, int(f.flags))}
}

func (f *Field) angleCodec(encoder string) value.Codec {
	n := f.bitCount
	if n < 0 || n > 32 {
		n = 0
	}
	switch {
	case encoder == "qangle_pitch_yaw":
		if n == 32 {
			n = 0
		}
		return value.Codec{Op: value.OpPitchYaw, Num: uint8(n)}
	case encoder == "qangle_precise":
		return value.Codec{Op: value.OpPreciseAngles}
	case n == 0:
		return value.Codec{Op: value.OpCoordAngles}
	case n == 32:
		return value.Codec{Op: value.OpRawAngles}
	}
	return value.Codec{Op: value.OpBitAngles, Num: uint8(n)}
}
