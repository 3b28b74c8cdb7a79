package teehistorian

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// Writer writes a file that this package and other readers of the format can read. It is the inverse of a Decoder: it
// reproduces the bytes that a Decoder read, except where the original has an unusual encoding. Events with such records
// carry Warnings. A Writer is not safe for concurrent use.
type Writer struct {
	w       io.Writer
	b       []byte
	tick    int32 // of the last record
	prev    int32 // client id of the last PLAYER record of this tick, as in State
	implied bool  // a tick began that needs no record if a PLAYER record implies it
	to      int32 // that tick
	cutText bool  // even a text that was cut ends with a NUL
}

// ErrWrite is wrapped by the errors of a Writer for an event that cannot be written.
var ErrWrite = errors.New("teehistorian: cannot be written")

// NewWriter returns a writer of a file with the given header, a JSON object, and writes the header to w. See
// Decoder.HeaderText and EditHeader.
func NewWriter(w io.Writer, header []byte) (*Writer, error) {
	h, bad := parseHeader(header)
	if bad != nil || slices.Contains(header, 0) {
		return nil, fmt.Errorf("%w: the header", ErrWrite)
	}
	out := &Writer{w: w, prev: math.MaxInt32, cutText: h.VersionMinor < saveTextMinor}
	out.b = append(append(append(out.b, magic[:]...), header...), 0)
	if err := out.flush(); err != nil {
		return nil, err
	}
	return out, nil
}

func (w *Writer) flush() error {
	_, err := w.w.Write(w.b)
	w.b = w.b[:0]
	return err
}

// Write writes an event. Events must be in the order of their ticks, as a Decoder delivers them. Tick events may be
// omitted.
func (w *Writer) Write(ev *Event) error {
	if ev.Kind == KindTick {
		return w.writeTick(ev)
	}
	if err := w.mark(ev); err != nil {
		return err
	}
	if err := w.append(ev); err != nil {
		w.b = w.b[:0]
		return err
	}
	return w.flush()
}

// WriteRecord writes an event by its encoded record, which must be the event's.
func (w *Writer) WriteRecord(ev *Event, record []byte) error {
	if ev.Kind == KindTick {
		return w.writeTick(ev)
	}
	if err := w.mark(ev); err != nil {
		return err
	}
	w.b = append(w.b, record...)
	return w.flush()
}

func (w *Writer) writeTick(ev *Event) error {
	if ev.Tick.Implicit {
		w.implied, w.to = true, ev.AtTick
		return nil
	}
	w.implied = false
	if w.tick+ev.Tick.Skipped+1 == ev.AtTick {
		w.skip(ev.Tick.Skipped)
	} else {
		w.skip(ev.AtTick - w.tick - 1)
	}
	return w.flush()
}

// skip writes a TICK_SKIP.
func (w *Writer) skip(ticks int32) {
	w.b = appendInt(appendInt(w.b, idTickSkip), ticks)
	w.tick += ticks + 1
	w.prev = -1
}

// mark writes a TICK_SKIP if the next record would otherwise not belong to its event's tick.
func (w *Writer) mark(ev *Event) error {
	id := int32(-1)
	switch ev.Kind {
	case KindPlayerDiff:
		id = ev.PlayerDiff.ClientId
	case KindPlayerNew:
		id = ev.PlayerNew.ClientId
	case KindPlayerOld:
		id = ev.PlayerOld.ClientId
	}
	if w.implied || ev.AtTick != w.tick {
		w.implied = false
		if id >= 0 && id <= w.prev && ev.AtTick == w.tick+1 {
			w.tick++
			w.prev = -1
		} else {
			w.skip(ev.AtTick - w.tick - 1)
		}
	}
	if id < 0 {
		return nil
	}
	if id <= w.prev {
		return fmt.Errorf("%w: in tick %d client %d follows client %d", ErrWrite, ev.AtTick, id, w.prev)
	}
	w.prev = id
	return nil
}

// append appends the record of an event.
func (w *Writer) append(ev *Event) error {
	switch ev.Kind {
	case KindPlayerDiff:
		w.ints(ev.PlayerDiff.ClientId, ev.PlayerDiff.Dx, ev.PlayerDiff.Dy)
	case KindPlayerNew:
		w.ints(idPlayerNew, ev.PlayerNew.ClientId, ev.PlayerNew.X, ev.PlayerNew.Y)
	case KindPlayerOld:
		w.ints(idPlayerOld, ev.PlayerOld.ClientId)
	case KindInputDiff:
		v := ev.InputDiff.Diff.values()
		w.ints(idInputDiff, ev.InputDiff.ClientId)
		w.ints(v[:]...)
	case KindInputNew:
		v := ev.InputNew.Input.values()
		w.ints(idInputNew, ev.InputNew.ClientId)
		w.ints(v[:]...)
	case KindMessage:
		raw := ev.Message.Raw
		if ev.Message.Redacted && len(raw) == 0 {
			raw = ev.Message.redacted()
		}
		w.ints(idMessage, ev.Message.ClientId, int32(len(raw)))
		w.b = append(w.b, raw...)
	case KindJoin:
		w.ints(idJoin, ev.Join.ClientId)
	case KindDrop:
		w.ints(idDrop, ev.Drop.ClientId)
		w.text(ev.Drop.Reason)
	case KindConsoleCommand:
		c := &ev.ConsoleCommand
		w.ints(idConsoleCommand, c.ClientId, c.Flags)
		w.text(c.Command)
		w.ints(int32(len(c.Arguments)))
		for _, a := range c.Arguments {
			w.text(a)
		}
	case KindFinish:
		w.ints(idFinish)
	case KindNone, KindTick, KindPlayerState, KindDamage:
		return fmt.Errorf("%w: an event of kind %v", ErrWrite, ev.Kind)
	default:
		return w.extension(ev)
	}
	return nil
}

// extension appends an EX record.
func (w *Writer) extension(ev *Event) error {
	name, data := w.extensionData(ev)
	u := NameUUID(name)
	if ev.Kind == KindUnknownEx {
		var ok bool
		if u, ok = parseUUID(ev.UnknownEx.Uuid); !ok {
			return fmt.Errorf("%w: %q is no UUID", ErrWrite, ev.UnknownEx.Uuid)
		}
	} else if name == "" {
		return fmt.Errorf("%w: an event of kind %v", ErrWrite, ev.Kind)
	}
	w.ints(idEx)
	w.b = append(w.b, u[:]...)
	w.ints(int32(len(data)))
	w.b = append(w.b, data...)
	return nil
}

// extensionData returns the name and the data of an EX record.
func (w *Writer) extensionData(ev *Event) (name string, data []byte) {
	d := &Writer{}
	switch ev.Kind {
	case KindTest:
		name = "teehistorian-test@ddnet.tw"
	case KindAuthInit:
		name = d.login("auth-init", ev.AuthInit.ClientId, ev.AuthInit.Level, ev.AuthInit.Role, ev.AuthInit.AuthName)
	case KindAuthLogin:
		name = d.login("auth-login", ev.AuthLogin.ClientId, ev.AuthLogin.Level, ev.AuthLogin.Role, ev.AuthLogin.AuthName)
	case KindAuthLogout:
		name = "teehistorian-auth-logout@ddnet.tw"
		d.ints(ev.AuthLogout.ClientId)
	case KindDdnetverOld:
		name = "teehistorian-ddnetver-old@ddnet.tw"
		d.ints(ev.DdnetverOld.ClientId, ev.DdnetverOld.Version)
	case KindDdnetver:
		name = "teehistorian-ddnetver@ddnet.tw"
		d.ints(ev.Ddnetver.ClientId)
		d.uuid(ev.Ddnetver.ConnectionId)
		d.ints(ev.Ddnetver.Version)
		d.text(ev.Ddnetver.VersionText)
	case KindJoinver6:
		name = "teehistorian-joinver6@ddnet.tw"
		d.ints(ev.Joinver6.ClientId)
	case KindJoinver7:
		name = "teehistorian-joinver7@ddnet.tw"
		d.ints(ev.Joinver7.ClientId)
	case KindRejoinver6:
		name = "teehistorian-rejoinver6@ddnet.org"
		d.ints(ev.Rejoinver6.ClientId)
	case KindSaveSuccess:
		name = "teehistorian-save-success@ddnet.tw"
		d.save(ev.SaveSuccess.Team, ev.SaveSuccess.SaveId, ev.SaveSuccess.Save, w.cut(ev))
	case KindSaveFailure:
		name = "teehistorian-save-failure@ddnet.tw"
		d.ints(ev.SaveFailure.Team)
	case KindLoadSuccess:
		name = "teehistorian-load-success@ddnet.tw"
		d.save(ev.LoadSuccess.Team, ev.LoadSuccess.SaveId, ev.LoadSuccess.Save, w.cut(ev))
	case KindLoadFailure:
		name = "teehistorian-load-failure@ddnet.tw"
		d.ints(ev.LoadFailure.Team)
	case KindPlayerTeam:
		name = "teehistorian-player-team@ddnet.tw"
		d.ints(ev.PlayerTeam.ClientId, ev.PlayerTeam.Team)
	case KindTeamPractice:
		name = "teehistorian-team-practice@ddnet.tw"
		d.ints(ev.TeamPractice.Team, int32(boolByte(ev.TeamPractice.Practice)))
	case KindPlayerReady:
		name = "teehistorian-player-ready@ddnet.tw"
		d.ints(ev.PlayerReady.ClientId)
	case KindPlayerSwap:
		name = "teehistorian-player-swap@ddnet.tw"
		d.ints(ev.PlayerSwap.ClientId, ev.PlayerSwap.OtherClientId)
	case KindAntibot:
		name = "teehistorian-antibot@ddnet.org"
		d.b = append(d.b, ev.Antibot.Data...)
	case KindPlayerName:
		name = "teehistorian-player-name@ddnet.org"
		d.ints(ev.PlayerName.ClientId)
		d.text(ev.PlayerName.Name)
	case KindPlayerFinish:
		name = "teehistorian-player-finish@ddnet.org"
		d.ints(ev.PlayerFinish.ClientId, ev.PlayerFinish.Time)
	case KindTeamFinish:
		name = "teehistorian-team-finish@ddnet.org"
		d.ints(ev.TeamFinish.Team, ev.TeamFinish.Time)
	case KindUnknownEx:
		d.b = append(d.b, ev.UnknownEx.Data...)
	}
	return name, d.b
}

// cut reports whether a save's text has no final NUL.
func (w *Writer) cut(ev *Event) bool {
	return !w.cutText && slices.Contains(ev.Warnings, WarningTextCut)
}

// login appends a login in the form that its event was read from, and returns the record's name.
func (w *Writer) login(name string, id int32, level AuthLevel, role, key []byte) string {
	w.ints(id)
	if len(role) > 0 {
		w.text(role)
		w.text(key)
		return "teehistorian-" + name + "-role@ddnet.org"
	}
	w.ints(int32(level))
	w.text(key)
	return "teehistorian-" + name + "@ddnet.tw"
}

func (w *Writer) save(team int32, id, text []byte, cut bool) {
	w.ints(team)
	w.uuid(id)
	if w.b = append(w.b, text...); !cut {
		w.b = append(w.b, 0)
	}
}

func (w *Writer) ints(values ...int32) {
	for _, v := range values {
		w.b = appendInt(w.b, v)
	}
}

func (w *Writer) text(text []byte) { w.b = append(append(w.b, text...), 0) }

// uuid appends a UUID that is given in text form. An invalid text, such as a withheld one, becomes zeros.
func (w *Writer) uuid(text []byte) {
	u, _ := parseUUID(text)
	w.b = append(w.b, u[:]...)
}

func parseUUID(text []byte) (u UUID, ok bool) {
	b, err := hex.DecodeString(strings.ReplaceAll(string(text), "-", ""))
	if err != nil || len(b) != len(u) {
		return u, false
	}
	return UUID(b), true
}

// appendInt appends an integer in the shortest form, as servers do.
func appendInt(b []byte, v int32) []byte {
	bits, sign := uint32(v), byte(0)
	if v < 0 {
		bits, sign = ^bits, 0x40
	}
	first := sign | byte(bits&0x3f)
	if bits >>= 6; bits == 0 {
		return append(b, first)
	}
	return binary.AppendUvarint(append(b, first|0x80), uint64(bits))
}

// redacted returns the rest of a message whose raw bytes are withheld.
func (m *Message) redacted() []byte {
	w := &Writer{}
	w.ints(m.MessageId << 1)
	if m.MessageId == 0 {
		uuid, _ := hex.DecodeString(strings.ReplaceAll(string(m.Uuid), "-", ""))
		w.b = append(w.b, uuid...)
	}
	switch {
	case m.ContentCase == MessageContentSay && m.Protocol == ProtocolSeven:
		w.ints(int32(m.Say.Mode), m.Say.TargetClientId)
		w.text(m.Say.Text)
	case m.ContentCase == MessageContentSay:
		w.ints(int32(boolByte(m.Say.Mode == SayModeTeam)))
		w.text(m.Say.Text)
	case m.ContentCase == MessageContentCommand:
		w.text(m.Command.Name)
		w.text(m.Command.Arguments)
	}
	return w.b
}

// EditHeader returns the header with some values replaced. An empty value removes its key. Everything else stays as
// written and in the same order. New keys are added at the end.
func EditHeader(header []byte, values map[string]string) ([]byte, error) {
	left := maps.Clone(values)
	out, err := editObject(header, func(key string, value json.RawMessage) (json.RawMessage, error) {
		now, edited := values[key]
		if delete(left, key); !edited {
			return value, nil
		}
		if now == "" {
			return nil, nil
		}
		return json.Marshal(now)
	})
	if err != nil {
		return nil, fmt.Errorf("%w: the header: %w", ErrWrite, err)
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		if left[key] == "" {
			continue
		}
		value, err := json.Marshal(left[key])
		if err != nil {
			return nil, err
		}
		if out, err = appendMember(out[:len(out)-1], key, value); err != nil {
			return nil, err
		}
		out = append(out, '}')
	}
	return out, nil
}

// editObject returns a JSON object with each value replaced by the result of edit, in the same order. A nil value removes its
// key.
func editObject(object []byte, edit func(key string, value json.RawMessage) (json.RawMessage, error)) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, cmp.Or(err, errNoObject)
	}
	out := []byte{'{'}
	for d.More() {
		token, err := d.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return nil, cmp.Or(err, errNoObject)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if value, err = edit(key, value); err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		if out, err = appendMember(out, key, value); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

var errNoObject = errors.New("it is no JSON object")

// appendMember appends a member to the beginning of a JSON object.
func appendMember(object []byte, key string, value []byte) ([]byte, error) {
	name, err := json.Marshal(key)
	if len(object) > 1 {
		object = append(object, ',')
	}
	return append(append(append(object, name...), ':'), value...), err
}
