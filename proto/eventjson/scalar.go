package eventjson

import (
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

// appendUint appends a number. Most have few digits.
func appendUint(dst []byte, n uint64) []byte {
	switch {
	case n < 10:
		return append(dst, '0'+byte(n))
	case n < 100:
		return append(dst, digits[2*n], digits[2*n+1])
	case n < 1000:
		return append(dst, '0'+byte(n/100), digits[n%100*2], digits[n%100*2+1])
	}
	if n >= 10000 {
		dst = appendUint(dst, n/10000)
		n %= 10000
	}
	return append(dst, digits[n/100*2], digits[n/100*2+1], digits[n%100*2], digits[n%100*2+1])
}

// digits are the numbers below 100 with two digits.
const digits = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

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
