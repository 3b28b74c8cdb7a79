package natsconn

import "strings"

const digits = "0123456789ABCDEF"

// Escape returns a text in which each byte that is not plain is '%' and two upper-case hexadecimal digits. '%' must not be plain.
func Escape(text string, plain func(byte) bool) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// Unescape is the reverse of Escape. It reports false for a text that Escape does not return, so that no two texts mean the same.
func Unescape(text string, plain func(byte) bool) (string, bool) {
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case plain(c):
		case c != '%' || len(text) < i+3:
			return "", false
		default:
			high, low := strings.IndexByte(digits, text[i+1]), strings.IndexByte(digits, text[i+2])
			if c = byte(high<<4 | low); high < 0 || low < 0 || plain(c) {
				return "", false
			}
			i += 2
		}
		b = append(b, c)
	}
	return string(b), true
}
