package dem

import "math"

// choose sets how the field's values are read.
func (c *compiler) choose(f *field, t fieldType) {
	switch f.shape {
	case shapePointer:
		f.own = codec{op: opPointer, num: uint8(min(len(f.types), math.MaxUint8))}
	case shapeTable:
		f.own = codec{op: opLength}
	case shapeVector:
		f.own = codec{op: opLength}
		elem := parseFieldType(t.generic)
		f.elem = f.codec(elem)
	case shapeArray:
		f.elem = f.codec(t)
	case shapeValue:
		f.own = f.codec(t)
	}
	if f.own.guess {
		f.unknown = t.base
		if t.generic != "" {
			// It may be a list.
			f.elem = f.codec(parseFieldType(t.generic))
		}
	}
	if f.elem.guess {
		f.unknownElem = t.base
		if t.generic != "" {
			f.unknownElem = parseFieldType(t.generic).base
		}
	}
}

// mayBeList reports whether the field has a type that nobody knows and that may be a list.
func (f *field) mayBeList() bool { return f.own.guess && f.elem.op != opNone }

// handles are the types whose values name entities.
var handles = map[string]bool{
	"CHandle": true, "CEntityHandle": true, "CGameSceneNodeHandle": true, "CBaseVRHandAttachmentHandle": true,
}

// signedTypes are types that are read as signed varints, although nothing in the schema says so. Numbers are signed where
// the game's own type is; enums where one of their members is below zero. Read without the sign, a number is doubled,
// and -1 is 1: of the types whose values occur in recordings all values are even but for those that stand for "none".
var signedTypes = map[string]bool{
	// Numbers. In recordings: even ones, and 1.
	"HeroID_t": true, "PlayerID_t": true, "CPlayerSlot": true, "CEntityIndex": true, "AbilityID_t": true,
	// Even numbers, 1 (-1) and 4294967294 (2³¹-1), both of which are "never", and 2047 (-1024).
	"GameTick_t": true,
	// Enums with -1 for "invalid". In recordings: even ones.
	"AnimLoopMode_t": true, "AnimationAlgorithm_t": true, "HitGroup_t": true, "NPC_STATE": true,
	// The same, and 1: slots that are none, and the innate abilities' bucket.
	"EAbilitySlots_t": true, "EAbilityBucketType": true, "loadout_slot_t": true,
	// Enums with a -1 ("init", "never connected", "invalid") of which recordings have hardly more than 0.
	"CourierState_t": true, "PlayerConnectedState": true, "WeaponAttackType_t": true,
}

// signed reports whether values of a type are read as signed varints, although nothing in the schema says so.
func signed(base string) bool { return signedTypes[base] }

// clips are fields that are sent plus one although schemas from before February 2024 do not say so.
var clips = map[string]bool{"m_iClip1": true, "m_iClip2": true}

// knownUint64 are types that are read as varuint64. Numbers of matches and items passed 2³² long ago.
var knownUint64 = map[string]bool{
	"uint64": true, "CStrongHandle": true, "HeroFacetKey_t": true, "ResourceId_t": true,
	"MatchID_t": true, "itemid_t": true,
}

// knownUnsigned are types that are read as varuint32 for certain; any other type is only guessed to be an enum.
var knownUnsigned = map[string]bool{
	"uint8": true, "uint16": true, "uint32": true, "color32": true, "Color": true, "CUtlStringToken": true,
}

// codec returns how values of a type are read, given the encoder, bits and bounds of the field.
func (f *field) codec(t fieldType) codec {
	if f.minusOne {
		return codec{op: opMinusOne}
	}
	switch t.base {
	case "bool":
		return codec{op: opBool}
	case "int8", "int16", "int32":
		if t.base == "int8" && f.encoder == "fixed8" {
			return codec{op: opFixedInt8}
		}
		return codec{op: opInt32}
	case "int64":
		return codec{op: opInt64}
	case "uint8":
		if f.encoder == "fixed8" {
			return codec{op: opFixedUint8}
		}
		return codec{op: opUint32}
	case "HSequence":
		return codec{op: opMinusOne}
	case "BloodType":
		return codec{op: opFixedUint8}
	case "GameTime_t":
		return codec{op: opFloat}
	case "float32", "CNetworkedQuantizedFloat":
		return f.floatCodec(opFloat)
	case "Vector", "VectorWS":
		if f.encoder == "normal" {
			return codec{op: opNormal3}
		}
		return f.floatCodec(opVector)
	case "Vector2D":
		return f.tupleCodec(2)
	case "Vector4D", "Quaternion":
		return f.tupleCodec(4)
	case "CTransform":
		return f.tupleCodec(6)
	case "QAngle":
		return f.angleCodec()
	case "char", "CUtlString", "CUtlSymbolLarge", "CGlobalSymbol":
		return codec{op: opText}
	case "CUtlBinaryBlock":
		return codec{op: opBlob}
	}
	if handles[t.base] {
		return codec{op: opHandle}
	}
	switch {
	case f.encoder == "fixed64":
		return codec{op: opFixed64}
	case signed(t.base):
		return codec{op: opInt32}
	case knownUint64[t.base]:
		return codec{op: opUint64}
	case knownUnsigned[t.base]:
		return codec{op: opUint32}
	}
	// With 64 bits even a number that is no enum is read to its end.
	return codec{op: opUint64, guess: true}
}

func (f *field) tupleCodec(n uint8) codec {
	c := f.floatCodec(opTuple)
	c.num = n
	return c
}

// floatCodec applies the float rule (docs/formats/dem.md, Floats).
func (f *field) floatCodec(o op) codec {
	switch {
	case f.encoder == "coord":
		return codec{op: o, float: floatCoord}
	case f.encoder == "normal" && o != opTuple:
		return codec{op: o, float: floatNormal}
	case f.name == "m_flSimulationTime" || f.name == "m_flAnimTime":
		return codec{op: o, float: floatTicks}
	case f.bitCount <= 0 || f.bitCount >= 32:
		return codec{op: o}
	}
	low, high := float32(0), float32(1)
	if f.hasLow {
		low = f.low
	}
	if f.hasHigh {
		high = f.high
	}
	if f.name == "m_flRuneTime" && high-low > math.MaxFloat32 {
		// Builds of 2018 and 2019 give the whole range of floats to four bits: the bounds mean nothing.
		low, high = 0, 1
	}
	return codec{op: o, float: floatQuantized, quant: newQuantizer(int(f.bitCount), low, high, int(f.flags))}
}

func (f *field) angleCodec() codec {
	n := f.bitCount
	if n < 0 || n > 32 {
		n = 0
	}
	switch {
	case f.encoder == "qangle_pitch_yaw":
		if n == 32 {
			n = 0
		}
		return codec{op: opPitchYaw, num: uint8(n)}
	case f.encoder == "qangle_precise":
		return codec{op: opPreciseAngles}
	case n == 0:
		return codec{op: opCoordAngles}
	case n == 32:
		return codec{op: opRawAngles}
	}
	return codec{op: opBitAngles, num: uint8(n)}
}
