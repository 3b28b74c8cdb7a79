package value

import "math"

// Doubtful reports whether no game has such a value, for example a text with control characters. Values that are read in the
// wrong way are often doubtful. data holds the bytes of a value that lies outside its cell. guessed reports whether the type is
// unknown.
func Doubtful(v *Cell, data []byte, guessed bool) bool {
	switch v.Kind {
	case Text:
		return doubtfulText(data)
	case Float:
		return doubtfulFloat(uint32(v.Word))
	case Vector:
		return doubtfulFloat(uint32(v.Word)) || doubtfulFloat(uint32(v.Word>>32)) || doubtfulFloat(v.Z)
	case Uint:
		// The largest numbers in games are account numbers; flags may be all set.
		return guessed && v.Word > 1<<57 && v.Word != math.MaxUint64
	}
	return false
}

func doubtfulText(b []byte) bool {
	// Names may be cut in the middle of a letter, so not all text is valid UTF-8.
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return true
		}
	}
	return false
}

// doubtfulFloat: games have no numbers that are tiny but not zero, nor immense ones except the largest.
func doubtfulFloat(b uint32) bool {
	const mantissa = 23
	exponent := int(b>>mantissa&0xff) - 127
	return b&^(1<<31) != 0 && (exponent < -40 || exponent > 60) && b&^(1<<31) != math.Float32bits(math.MaxFloat32)
}
