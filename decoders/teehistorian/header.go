package teehistorian

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/replayd/replayd/decoders"
)

// magic is the first 16 bytes of every file: 699db17b-8efb-34ff-b1d8-da6f60c15dd1, the UUID of "teehistorian@ddnet.tw".
var magic = NameUUID("teehistorian@ddnet.tw")

// Header is the file's description of its game. All texts are valid UTF-8. A text that the server's version does not
// write is empty.
type Header struct {
	// Version is the version of the format: 1, or 2, which has extension records.
	Version int32
	// VersionMinor is the minor version, 2 and up. HasVersionMinor is false in files of servers before DDNet 15.6.
	VersionMinor    int32
	HasVersionMinor bool
	// GameUUID identifies the game, in text form. It is also the file's name.
	GameUUID string
	// PrevGameUUID identifies the previous game in the same server process. It is empty for the first game.
	PrevGameUUID string
	// ServerVersion is the server's version in its own notation, such as "0.6, 20.1 (abcdef0123456789)".
	ServerVersion string
	// StartTime is when the game started, with the server's UTC offset. It is zero when StartTimeText cannot be parsed.
	StartTime time.Time
	// StartTimeText is the start time as written in the file.
	StartTimeText string
	// ServerName is the server's name at the start.
	ServerName string
	// ServerPort is the server's UDP port; 0 if unknown.
	ServerPort int32
	// GameType is the game type, such as "DDraceNetwork".
	GameType string
	// MapName is the map's name, without a file name extension.
	MapName string
	// MapSize is the map file's size in bytes; 0 if unknown.
	MapSize int64
	// MapSHA256 is the SHA-256 of the map file, 64 hexadecimal digits.
	MapSHA256 string
	// MapCRC is the CRC-32 of the map file, 8 hexadecimal digits.
	MapCRC string
	// PRNGDescription is the state of the server's random number generator.
	PRNGDescription string
	// Config holds the server's settings that differ from their defaults.
	Config map[string]string
	// Tuning holds the game's tuning that differs from its defaults, as values times 100.
	Tuning map[string]string
	// UUIDs holds the names of all the UUIDs that the server knew, in the server's order.
	UUIDs []string
	// Other holds the JSON text of the remaining keys: unknown keys, and known keys whose value has the wrong type.
	Other map[string]string
}

// Header returns the file's header. It reads the header if necessary. It returns decoders.ErrMore while the header is
// not completely present. It returns a *decoders.Error at offset 0 for a file of another format, an unknown version, or
// an invalid header. The header is shared with the decoder and must not be modified.
func (d *Decoder) Header() (*Header, error) {
	for d.header == nil {
		if d.err != nil {
			return nil, d.err
		}
		b := d.w.Bytes()
		if n := min(len(b), len(magic)); !bytes.Equal(b[:n], magic[:n]) {
			return nil, d.fail("magic", decoders.ErrCorrupt, "this is not a teehistorian file")
		}
		from := max(d.scanned, len(magic))
		n := -1
		if from < len(b) {
			n = bytes.IndexByte(b[from:], 0)
			d.scanned = len(b)
		}
		switch end := from + n; {
		case n < 0 && len(b) > MaxHeader, end > MaxHeader:
			return nil, d.fail("header", decoders.ErrLimit, "it is longer than %d bytes", MaxHeader)
		case n < 0:
			if err := d.fill("header"); err != nil {
				return nil, err
			}
		default:
			h, err := parseHeader(b[len(magic):end])
			if err != nil {
				return nil, d.fail("header", err.kind, "%s", err.detail)
			}
			d.header, d.state.rules, d.state.settings = h, rulesOf(h), settingsOf(h)
			d.fast = true
			d.w.Advance(end + 1)
		}
	}
	return d.header, nil
}

// UnknownExtensions returns the names of extension records that the server can write and this package does not know. If
// the file has any, they become unknown_ex events. The result is nil for nearly all files.
func (h *Header) UnknownExtensions() []string {
	var unknown []string
	for _, name := range h.UUIDs {
		if strings.Contains(name, "teehistorian") && extensions[NameUUID(name)] == nil {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// headerError describes why a header cannot be used.
type headerError struct {
	kind   error
	detail string
}

// HeaderText returns the header as written, a JSON object. Call it after Header and before anything else is read. The
// result is valid until then.
func (d *Decoder) HeaderText() []byte {
	text := d.w.Behind(int(d.w.Offset()) - len(magic))
	return text[:len(text)-1]
}

// parseHeader parses the JSON object. Servers write all values as strings. Very old and modified servers also wrote
// numbers.
func parseHeader(text []byte) (*Header, *headerError) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		detail := err.Error()
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			detail = "after " + strconv.FormatInt(syntax.Offset, 10) + " bytes of JSON: " + detail
		}
		return nil, &headerError{decoders.ErrCorrupt, detail}
	}
	h := &Header{}
	for key, value := range object {
		if !h.set(key, value) {
			if h.Other == nil {
				h.Other = make(map[string]string)
			}
			h.Other[key] = string(bytes.ToValidUTF8(value, []byte("\uFFFD")))
		}
	}
	switch h.Version {
	case 1, 2:
		return h, nil
	case 0:
		return nil, &headerError{decoders.ErrCorrupt, "it has no version"}
	default:
		return nil, &headerError{decoders.ErrUnsupported, "version " + strconv.Itoa(int(h.Version))}
	}
}

// set sets the field of a key. It returns false for an unknown key, and for a value that the field cannot hold.
func (h *Header) set(key string, value json.RawMessage) bool {
	switch key {
	case "comment":
		var s string // always the same text; kept in Other only if it differs
		return json.Unmarshal(value, &s) == nil && s == "teehistorian@ddnet.tw"
	case "version":
		return setInt(&h.Version, value)
	case "version_minor", "minor_version": // the second spelling was in use for a month of 2021
		h.HasVersionMinor = setInt(&h.VersionMinor, value)
		return h.HasVersionMinor
	case "game_uuid":
		return setText(&h.GameUUID, value)
	case "prev_game_uuid":
		return setText(&h.PrevGameUUID, value)
	case "server_version":
		return setText(&h.ServerVersion, value)
	case "start_time":
		if !setText(&h.StartTimeText, value) {
			return false
		}
		for _, layout := range []string{"2006-01-02T15:04:05-0700", "2006-01-02 15:04:05 -0700", time.RFC3339} {
			if t, err := time.Parse(layout, h.StartTimeText); err == nil {
				h.StartTime = t
				break
			}
		}
		return true
	case "server_name":
		return setText(&h.ServerName, value)
	case "server_port":
		return setInt(&h.ServerPort, value)
	case "game_type":
		return setText(&h.GameType, value)
	case "map_name":
		return setText(&h.MapName, value)
	case "map_size":
		s, ok := scalar(value)
		n, err := strconv.ParseInt(s, 10, 64)
		if ok && err == nil {
			h.MapSize = n
		}
		return ok && err == nil
	case "map_sha256":
		return setText(&h.MapSHA256, value)
	case "map_crc":
		return setText(&h.MapCRC, value)
	case "prng_description":
		return setText(&h.PRNGDescription, value)
	case "config":
		var ok bool
		h.Config, ok = texts(value)
		return ok
	case "tuning":
		var ok bool
		h.Tuning, ok = texts(value)
		return ok
	case "uuids":
		return json.Unmarshal(value, &h.UUIDs) == nil
	default:
		return false
	}
}

// scalar returns the text of a JSON string or number. It returns the empty text for null, which some builds wrote for a
// missing text.
func scalar(value json.RawMessage) (string, bool) {
	switch value[0] {
	case '"':
		var s string
		err := json.Unmarshal(value, &s)
		return s, err == nil
	case 'n':
		return "", true
	case '{', '[', 't', 'f':
		return "", false
	default:
		return string(value), true
	}
}

func setText(field *string, value json.RawMessage) bool {
	s, ok := scalar(value)
	if ok {
		*field = s
	}
	return ok
}

func setInt(field *int32, value json.RawMessage) bool {
	s, ok := scalar(value)
	n, err := strconv.ParseInt(s, 10, 32)
	if ok && err == nil {
		*field = int32(n)
	}
	return ok && err == nil
}

// texts returns the values of a JSON object as strings. Values that are not scalars are returned as JSON text.
func texts(value json.RawMessage) (map[string]string, bool) {
	var raw map[string]json.RawMessage
	if json.Unmarshal(value, &raw) != nil {
		return nil, false
	}
	values := make(map[string]string, len(raw))
	for key, v := range raw {
		s, ok := scalar(v)
		if !ok {
			s = string(bytes.ToValidUTF8(v, []byte("\uFFFD")))
		}
		values[key] = s
	}
	return values, true
}
