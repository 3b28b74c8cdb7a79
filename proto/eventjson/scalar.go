package eventjson

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/replayd/replayd/proto/protoscan"
)

func quoted(dst []byte, f func([]byte) []byte) []byte { return append(f(append(dst, '"')), '"') }

// appendInt appends a number.
func appendInt(dst []byte, v int64) []byte {
	if v < 0 {
		return appendUint(append(dst, '-'), -uint64(v))
	}
	return appendUint(dst, uint64(v))
}

// appendUint appends a number. Most are below 1000.
func appendUint(dst []byte, n uint64) []byte {
	if n >= 1000 {
		dst = appendUint(dst, n/1000)
		d := thousand[n%1000]
		return append(dst, byte(d), byte(d>>8), byte(d>>16))
	}
	d := thousand[n]
	zeros := d >> 24
	dst = binary.LittleEndian.AppendUint32(dst, d>>(8*zeros)) // takes less time than as many bytes as there are digits
	return dst[:len(dst)-1-int(zeros)]
}

// thousand are the numbers below 1000: three digits from the lowest byte on, and in the highest how many of them are zeros that a number
// does not begin with.
var thousand = func() (all [1000]uint32) {
	for n := range uint32(1000) {
		zeros := uint32(0)
		if n < 10 {
			zeros = 2
		} else if n < 100 {
			zeros = 1
		}
		all[n] = '0' + n/100 | ('0'+n/10%10)<<8 | ('0'+n%10)<<16 | zeros<<24
	}
	return all
}()

// AppendFloat appends a number of 32 or 64 bits as protojson formats it: infinities and NaN as text.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 {
		if bits == 64 && (abs < 1e-6 || abs >= 1e21) || bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21) {
			format = 'e'
		}
	}
	dst = strconv.AppendFloat(dst, v, format, -1, bits)
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 becomes e-9
		dst = dst[:n-1]
	}
	return dst
}

// appendTimestamp appends the contents of a google.protobuf.Timestamp with quotes.
func appendTimestamp(dst, b []byte) ([]byte, error) {
	var seconds, nanos int64
	for len(b) > 0 {
		f, rest, ok := protoscan.Next(b)
		if !ok {
			return dst, errMalformed
		}
		b = rest
		switch f.Number {
		case 1:
			seconds = int64(f.Value)
		case 2:
			nanos = int64(int32(f.Value))
		}
	}
	const first, end = -62135596800, 253402300800 // the years 1 to 9999
	if seconds < first || seconds >= end || nanos < 0 || nanos >= 1e9 {
		return dst, fmt.Errorf("%w: no time: %d s and %d ns", errMalformed, seconds, nanos)
	}
	return append(AppendTime(append(dst, '"'), time.Unix(seconds, nanos)), '"'), nil
}

// AppendTime appends a time of the years 1 to 9999 in UTC as protojson formats it: RFC 3339, with none, 3, 6 or 9 digits behind the
// second.
func AppendTime(dst []byte, t time.Time) []byte {
	layout := "2006-01-02T15:04:05.000000000Z"
	switch n := t.Nanosecond(); {
	case n == 0:
		layout = "2006-01-02T15:04:05Z"
	case n%1e6 == 0:
		layout = "2006-01-02T15:04:05.000Z"
	case n%1e3 == 0:
		layout = "2006-01-02T15:04:05.000000Z"
	}
	return t.UTC().AppendFormat(dst, layout)
}

const hex = "0123456789abcdef"

// AppendString appends a string, which must be valid UTF-8, with quotes, as protojson does.
func AppendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			_, n := utf8.DecodeRune(s[i:])
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}
