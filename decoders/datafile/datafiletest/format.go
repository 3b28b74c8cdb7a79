package datafiletest

// The numbers of the item types (docs/formats/datafile.md).
const (
	typeVersion   = 0
	typeInfo      = 1
	typeImage     = 2
	typeEnvelope  = 3
	typeGroup     = 4
	typeLayer     = 5
	typePoints    = 6
	typeSound     = 7
	numTypes      = 8
	typeUuidLast  = 0xfffe // the highest number of a type with a UUID
	typeUuidIndex = 0xffff
	maxTypes      = 1 << 16
)

// The types of layers.
const (
	layerTiles          = 2
	layerQuads          = 3
	layerSoundsOriginal = 9
	layerSounds         = 10
)

const (
	headerSize = 36
	tileBytes  = 4
	bezierInts = 16
)

// physicsFlags are the flags of the tile layers that keep their tiles in a separate blob, in the order of the blobs.
var physicsFlags = [...]int32{2, 4, 8, 16, 32}

// uuid is a UUID, with its bytes in the usual order.
type uuid [16]byte

var (
	uuidAutomapper = uuid{0x3e, 0x1b, 0x27, 0x16, 0x17, 0x8c, 0x39, 0x78, 0x9b, 0xd9, 0xb1, 0x1a, 0xe0, 0x41, 0x0d, 0xd8}
	uuidBeziers    = uuid{0x3a, 0xb4, 0xf8, 0x4d, 0xd9, 0xcc, 0x3c, 0x78, 0xb5, 0x85, 0x0d, 0x6c, 0xcd, 0xb2, 0xe2, 0x5c}
)
