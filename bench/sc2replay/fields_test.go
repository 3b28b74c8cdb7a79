package sc2replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/icza/s2prot"
	"github.com/icza/s2prot/rep"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/wire"
)

// corpus returns each fifth replay of the corpus, or with CORPUS=all every one.
func corpus(tb testing.TB) map[string][]byte {
	tb.Helper()
	root := decodertest.Shared(tb, "corpus", "sc2replay")
	files, n := map[string][]byte{}, 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if n++; n%5 != 1 && !decodertest.WholeCorpus() {
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil {
			name, _ := filepath.Rel(root, path)
			files[filepath.ToSlash(name)] = data
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

// TestSameFields decodes replays that s2prot can decode with both decoders, and compares all fields.
func TestSameFields(t *testing.T) {
	builds := map[int64]bool{}
	replays, events, values := 0, 0, 0
	files := corpus(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data := files[name]
		theirs, err := rep.New(bytes.NewReader(data))
		if err != nil {
			continue
		}
		if theirs.GameEvtsErr || theirs.MessageEvtsErr || theirs.TrackerEvtsErr {
			t.Errorf("%s: s2prot fails in the middle", name)
			continue
		}
		ours, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c := &comparison{replay: name, cells: 1}
		if theirs.Header.BaseBuild() < 27950 {
			c.cells = 4
		}
		c.value("header", theirs.Header.Struct, reflect.ValueOf(ours.Start))
		c.value("details", theirs.Details.Struct, reflect.ValueOf(ours.Details))
		c.value("initData", theirs.InitData.Struct, reflect.ValueOf(ours.Lobby))
		c.events(ours, theirs)
		for _, d := range c.differences {
			t.Errorf("%s: %s", name, d)
		}
		replays++
		events += c.count
		values += c.values
		builds[theirs.Header.BaseBuild()] = true
		_ = theirs.Close()
	}
	t.Logf("%d replays of %d base builds: %d events, %d values are equal", replays, len(builds), events, values)
}

// comparison compares one replay.
type comparison struct {
	replay        string
	cells         int64 // number of cells per unit of the tracker's positions
	count, values int
	differences   []string
}

func (c *comparison) differ(path, format string, args ...any) {
	if len(c.differences) < 5 {
		c.differences = append(c.differences, path+": "+fmt.Sprintf(format, args...))
	}
}

var (
	trackerKinds = []string{
		"unit_born", "unit_died", "unit_type_change", "player_stats", "unit_init", "unit_done", "unit_owner_change", "upgrade",
		"unit_positions", "player_setup",
	}
	messageKinds = []string{"chat", "ping", "loading_progress", "server_ping", "reconnect_notify"}
	otherKinds   = []string{"start", "details", "lobby", "attributes", "game_metadata", "player_info", "member", "end"}
)

// events compares each of our events, which are merged from all streams, with the next event of the same stream of theirs.
func (c *comparison) events(ours *sc2replay.Replay, theirs *rep.Rep) {
	var tracker []s2prot.Event
	if theirs.TrackerEvts != nil {
		tracker = theirs.TrackerEvts.Evts
	}
	streams := map[string][]s2prot.Event{"game": theirs.GameEvts, "message": theirs.MessageEvts, "tracker": tracker}
	d := ours.Events(sc2replay.Options{})
	var ev sc2replay.Event
	for {
		err := d.Next(&ev)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			c.differ("event", "%v", err)
			return
		}
		kind := ev.Kind.String()
		stream := "game"
		switch {
		case slices.Contains(otherKinds, kind):
			continue
		case slices.Contains(trackerKinds, kind):
			stream = "tracker"
		case slices.Contains(messageKinds, kind):
			stream = "message"
		}
		if len(streams[stream]) == 0 {
			c.differ(stream, "%s at %d is too many", kind, ev.AtTick)
			return
		}
		c.event(stream, &streams[stream][0], &ev)
		streams[stream] = streams[stream][1:]
		c.count++
	}
	for stream, rest := range streams {
		if len(rest) > 0 {
			c.differ(stream, "%d more", len(rest))
		}
	}
}

func (c *comparison) event(stream string, theirs *s2prot.Event, ours *sc2replay.Event) {
	path := stream + "." + theirs.Name
	if theirs.Loop() != int64(ours.AtTick) {
		c.differ(path, "at %d, theirs at %d", ours.AtTick, theirs.Loop())
	}
	if stream != "tracker" {
		c.user(path, theirs, ours)
	}
	s := s2prot.Struct{}
	for k, v := range theirs.Struct {
		switch k {
		case "id", "evtTypeName", "loop", "userid":
		default:
			s[k] = v
		}
	}
	if ours.Kind == sc2replay.KindOther || ours.Kind == sc2replay.KindTriggerUi {
		name, fields := ours.Other.Name, ours.Other.Fields
		if ours.Kind == sc2replay.KindTriggerUi {
			name, fields = ours.TriggerUi.Name, ours.TriggerUi.Fields
		}
		if string(name) != theirs.Name {
			c.differ(path, "is %s", name)
			return
		}
		c.fields(path, s, fields)
		return
	}
	name := strings.TrimSuffix(theirs.Name, "Message")
	if stream == "game" {
		name = theirs.Name
	}
	v := reflect.ValueOf(ours).Elem().FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
	if !v.IsValid() || strings.ReplaceAll(ours.Kind.String(), "_", "") != strings.ToLower(name) {
		c.differ(path, "is %v", ours.Kind)
		return
	}
	c.value(path, s, v)
}

// user compares the user who caused an event.
func (c *comparison) user(path string, theirs *s2prot.Event, ours *sc2replay.Event) {
	who, _ := theirs.Struct["userid"].(s2prot.Struct)
	if id, ok := who["userId"].(int64); ok {
		if ours.HasPlayer != (id != 16) || ours.HasPlayer && int64(ours.Player.UserId) != id {
			c.differ(path, "by %+v, theirs by user %d", ours.Player, id)
		}
	} else if id, ok := who["playerId"].(int64); ok {
		if ours.HasPlayer != (id != 16) || ours.HasPlayer && int64(ours.Player.PlayerId) != id {
			c.differ(path, "by %+v, theirs by player %d", ours.Player, id)
		}
	}
}

// names maps their field names to ours where these differ, by the end of the path.
var names = map[string]string{
	"unitTagIndex": "Unit.Index", "unitTagRecycle": "Unit.Recycle", "unitTypeName": "Unit.TypeName",
	"creatorUnitTagIndex": "Creator.Index", "creatorUnitTagRecycle": "Creator.Recycle",
	"killerUnitTagIndex": "Killer.Index", "killerUnitTagRecycle": "Killer.Recycle",
	"abilLink": "Link", "abilCmdIndex": "CommandIndex", "abilCmdData": "CommandData",
	"tag": "Unit.Tag", "snapshotPlayerId": "SnapshotControlPlayerId", "otherUnit": "OtherUnit.Tag",
	"UnitClick.unitTag": "Unit.Tag", "UnitHighlight.unitTag": "Unit.Tag",
	"ChatMessage.string": "Text", "Chat.string": "Text", "header.fixedFileHash": "ReplayCompatibilityHash",
	"Cmd.data": "Target", "SelectionDelta.delta.removeMask": "RemoveMask", "ControlGroupUpdate.mask": "RemoveMask",
}

// value compares a value of theirs with one of ours.
func (c *comparison) value(path string, theirs any, ours reflect.Value) {
	switch theirs := theirs.(type) {
	case s2prot.Struct:
		if strings.HasSuffix(path, ".Cmd") && theirs["targetPoint"] != nil {
			c.oldCmd(path, theirs, ours.Interface().(sc2replay.Cmd))
			return
		}
		if len(theirs) == 1 && ours.Kind() != reflect.Struct {
			for _, inner := range theirs { // such as {race ?u8}
				c.value(path, inner, ours)
			}
			return
		}
		for name, inner := range theirs {
			c.field(path, name, inner, ours)
		}
	case []any:
		c.list(path, theirs, ours)
	case int64:
		c.values++
		if path == "details.timeUTC" { // a point in time in ours
			theirs = (theirs - 116_444_736_000_000_000) / 10
		}
		switch path {
		case "tracker.UnitBorn.x", "tracker.UnitBorn.y", "tracker.UnitInit.x", "tracker.UnitInit.y",
			"tracker.UnitDied.x", "tracker.UnitDied.y":
			theirs *= c.cells
		}
		c.number(path, theirs, ours)
	case bool:
		c.values++
		if ours.Kind() != reflect.Bool || ours.Bool() != theirs {
			c.differ(path, "%v, theirs %v", ours, theirs)
		}
	case string:
		c.values++
		if strings.HasSuffix(path, ".programId") {
			theirs = strings.Trim(theirs, "\x00")
		}
		if theirs = asText(path, theirs); string(ours.Bytes()) != theirs {
			c.differ(path, "%q, theirs %q", ours.Bytes(), theirs)
		}
	case s2prot.BitArr:
		c.values++
		if m := ours.Interface().(sc2replay.BitMask); !sameBits(m, theirs) {
			c.differ(path, "%d bits %x, theirs %v", m.Size, m.Bits, theirs)
		}
	case nil:
	default:
		c.differ(path, "of type %T", theirs)
	}
}

// noRating is the rating of players who have none.
const noRating = -36400

// asText returns a hash, or a handle of a file, as the text that replayd has for it.
func asText(path, bytes string) string {
	switch name := path[strings.LastIndexByte(path, '.')+1:]; {
	case (name == "cacheHandles[]" || name == "clanLogo") && len(bytes) == 40 && bytes[4:6] == "\x00\x00":
		return fmt.Sprintf("%s/%x.%s", bytes[6:8], bytes[8:], bytes[:4])
	case name == "cacheHandles[]" || name == "clanLogo" || strings.HasPrefix(name, "data") && strings.HasPrefix(path, "header."):
		return fmt.Sprintf("%x", bytes)
	}
	return bytes
}

// sameBits compares lists of bits. They are encoded as 32-bit numbers (docs/formats/sc2replay.md, "Encodings"). s2prot reads them
// as bytes instead, which differs unless the list begins at a byte boundary. It does not report the bit offset where a list begins.
// So sameBits rearranges its bytes for each possible offset, and one of the results must equal our list.
func sameBits(ours sc2replay.BitMask, theirs s2prot.BitArr) bool {
	if int(ours.Size) != theirs.Count {
		return false
	}
	for skip := range 8 {
		buf := make([]byte, (skip+theirs.Count+7)/8)
		pos := skip
		for k, v := range theirs.Data {
			for n := min(8, theirs.Count-8*k); n > 0; {
				take := min(8-pos&7, n)
				n -= take
				buf[pos>>3] |= v >> n & (1<<take - 1) << (pos & 7)
				pos += take
			}
		}
		r := wire.NewPacked(buf)
		r.Bits(uint(skip))
		if bytes.Equal(r.AppendBits(nil, theirs.Count), ours.Bits) {
			return true
		}
	}
	return false
}

// field compares a field of a struct.
func (c *comparison) field(path, name string, theirs any, ours reflect.Value) {
	full := path + "." + name
	target, ok := names[name]
	short := full[strings.LastIndex(path, ".")+1:]
	for _, key := range []string{short, full, strings.TrimPrefix(full, "game.")} {
		if t, found := names[key]; found {
			target, ok = t, true
		}
	}
	if strings.HasSuffix(full, "UnitPositions.items") {
		c.positions(full, theirs.([]any), ours.Interface().(sc2replay.UnitPositions))
		return
	}
	if !ok {
		target = strings.TrimPrefix(name, "scoreValue")
	}
	if which := ours.FieldByName(target + "Case"); which.IsValid() {
		c.choice(full, theirs, ours, which, target)
		return
	}
	v := ours
	for step := range strings.SplitSeq(target, ".") {
		f, found := v.Type().FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, step) })
		if !found {
			if s, isStruct := theirs.(s2prot.Struct); isStruct {
				c.value(full, s, ours) // a struct that ours does not have
				return
			}
			c.differ(full, "not there")
			return
		}
		if theirs == any(int64(noRating)) && step == "scaledRating" {
			theirs = nil
		}
		if has := v.FieldByName("Has" + f.Name); has.IsValid() && has.Bool() != present(theirs) {
			c.differ(full, "there: %v, theirs: %v", has.Bool(), theirs)
		}
		v = v.FieldByIndex(f.Index)
	}
	c.value(full, theirs, v)
}

// present reports whether an optional value is set. A struct of one optional value stands for that value.
func present(v any) bool {
	if s, ok := v.(s2prot.Struct); ok && len(s) == 1 {
		for _, inner := range s {
			return inner != nil
		}
	}
	return v != nil
}

// choice compares a choice with a oneof.
func (c *comparison) choice(path string, theirs any, ours, which reflect.Value, oneof string) {
	at, _ := ours.Type().FieldByName(oneof + "Case")
	alternative := func(i uint64) reflect.Value { return ours.Field(at.Index[0] + int(i)) }
	switch theirs := theirs.(type) {
	case nil:
		if which.Uint() != 0 {
			c.differ(path, "not empty")
		}
	case s2prot.BitArr: // before 1.1
		if theirs.Count == 0 && which.Uint() == 0 {
			return
		}
		if which.Uint() != 1 {
			c.differ(path, "no mask")
			return
		}
		c.value(path, theirs, alternative(1))
	case s2prot.Struct:
		for name, inner := range theirs {
			if name == "None" {
				if which.Uint() != 0 {
					c.differ(path, "not empty")
				}
				continue
			}
			if which.Uint() == 0 || !strings.EqualFold(ours.Type().Field(at.Index[0]+int(which.Uint())).Name, name) {
				c.differ(path, "case %v, theirs %s", which, name)
				continue
			}
			if m, ok := inner.(s2prot.BitArr); ok && m.Count == 0 {
				continue
			}
			c.value(path+"."+name, inner, alternative(which.Uint()))
		}
	default:
		c.differ(path, "of type %T", theirs)
	}
}

func (c *comparison) list(path string, theirs []any, ours reflect.Value) {
	if ours.Kind() == reflect.Struct && ours.NumField() == 1 {
		ours = ours.Field(0)
	}
	if ours.Kind() != reflect.Slice || ours.Len() != len(theirs) {
		c.differ(path, "%v, theirs %v", ours, theirs)
		return
	}
	for i, inner := range theirs {
		elem := ours.Index(i)
		if u, ok := elem.Interface().(sc2replay.Unit); ok {
			elem = reflect.ValueOf(u.Tag)
		}
		c.value(fmt.Sprintf("%s[]", path), inner, elem)
	}
}

// number compares a number: ours may be a fraction, an enum, which begins at 1, or narrower.
func (c *comparison) number(path string, theirs int64, ours reflect.Value) {
	var got int64
	switch ours.Kind() {
	case reflect.Int32, reflect.Int64:
		got = ours.Int()
		if ours.Type().PkgPath() != "" && path != "details.timeUTC" { // an enumeration
			got--
		}
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		got = int64(ours.Uint())
	case reflect.Float32:
		scale := 4096.0
		if strings.Contains(path, "Camera") {
			scale = 256
		}
		raw := ours.Float() * scale
		if theirs < 1<<24 && theirs > -1<<24 && raw != math.Trunc(raw) {
			c.differ(path, "%v is no multiple of 1/%v", ours, scale)
		}
		got = int64(raw)
		if float32(theirs) == float32(raw) {
			got = theirs // beyond 24 bits a float is only the nearest value
		}
	default:
		c.differ(path, "of kind %v", ours.Kind())
		return
	}
	if got != theirs {
		c.differ(path, "%d, theirs %d", got, theirs)
	}
}

// positions compares triples of index difference, x and y with the decoded positions.
func (c *comparison) positions(path string, theirs []any, ours sc2replay.UnitPositions) {
	if len(theirs) != 3*len(ours.Positions)+len(ours.Items) {
		c.differ(path, "%d positions, theirs %d numbers", len(ours.Positions), len(theirs))
		return
	}
	index := int64(ours.FirstUnitIndex)
	for i, p := range ours.Positions {
		c.values += 3
		index += theirs[3*i].(int64)
		if int64(p.Unit.Index) != index || int64(p.X) != c.cells*theirs[3*i+1].(int64) || int64(p.Y) != c.cells*theirs[3*i+2].(int64) {
			c.differ(path, "%+v, theirs %d %v", p, index, theirs[3*i:3*i+3])
		}
	}
}

// oldCmd compares orders of version 1.0, which are flat and always contain all fields. The kind of target follows from the unit's
// tag and type and the position. Without a unit as the target, the other fields of the unit have no meaning.
func (c *comparison) oldCmd(path string, s s2prot.Struct, ours sc2replay.Cmd) {
	n := func(name string) int64 { v, _ := s[name].(int64); return v }
	point, _ := s["targetPoint"].(s2prot.Struct)
	raw := func(p sc2replay.Point) [3]int64 {
		return [3]int64{int64(p.X * 4096), int64(p.Y * 4096), int64(p.Z * 4096)}
	}
	want := [3]int64{point["x"].(int64), point["y"].(int64), point["z"].(int64)}
	u := ours.TargetUnit
	got := ours.TargetPoint
	if ours.TargetCase == sc2replay.CmdTargetTargetUnit {
		got = u.SnapshotPoint
	} else {
		u = sc2replay.TargetUnit{}
	}
	player, hasPlayer := s["targetUnitSnapshotPlayerId"].(int64)
	target := sc2replay.CmdTargetNone
	switch {
	case n("targetUnitTag") != 0 || n("targetUnitSnapshotUnitLink") != 0:
		target = sc2replay.CmdTargetTargetUnit
	case want != [3]int64{}:
		target = sc2replay.CmdTargetTargetPoint
	}
	if ours.TargetCase != target {
		c.differ(path, "target %d, theirs %v", ours.TargetCase, s)
	}
	unitFlags := n("targetUnitFlags")
	if target != sc2replay.CmdTargetTargetUnit {
		player, hasPlayer, unitFlags = 0, false, 0
	}
	c.values += 12
	if int64(ours.CmdFlags) != n("cmdFlags") || int64(ours.Abil.Link) != n("abilLink") ||
		int64(ours.Abil.CommandIndex) != n("abilCmdIndex") || int64(ours.Abil.CommandData) != n("abilCmdData") ||
		ours.HasAbil != (n("abilLink") != 0xFFFF) || int64(ours.OtherUnit.Tag) != n("otherUnit") ||
		int64(u.Unit.Tag) != n("targetUnitTag") || int64(u.TargetUnitFlags) != unitFlags ||
		int64(u.Timer) != n("targetUnitTimer") || int64(u.SnapshotUnitLink) != n("targetUnitSnapshotUnitLink") ||
		u.HasSnapshotControlPlayerId != hasPlayer || int64(u.SnapshotControlPlayerId) != player || raw(got) != want {
		c.differ(path, "%+v, theirs %v", ours, s)
	}
}

// fields compares a struct with a tree of named values.
func (c *comparison) fields(path string, theirs s2prot.Struct, ours []sc2replay.Field) {
	there := 0
	for name, inner := range theirs {
		if inner == nil {
			continue
		}
		there++
		i := slices.IndexFunc(ours, func(f sc2replay.Field) bool { return string(f.Name) == name })
		if i < 0 {
			c.differ(path+"."+name, "not there")
			continue
		}
		c.tree(path+"."+name, inner, &ours[i])
	}
	for i := range ours {
		if ours[i].ValueCase == sc2replay.FieldValueNone && len(ours[i].Fields) == 0 { // an alternative without a value
			there++
		}
	}
	if there != len(ours) {
		c.differ(path, "%d fields, theirs %d", len(ours), there)
	}
}

func (c *comparison) tree(path string, theirs any, ours *sc2replay.Field) {
	c.values++
	switch theirs := theirs.(type) {
	case s2prot.Struct:
		c.fields(path, theirs, ours.Fields)
	case []any:
		if len(theirs) != len(ours.Fields) {
			c.differ(path, "%d elements, theirs %d", len(ours.Fields), len(theirs))
			return
		}
		for i, inner := range theirs {
			c.tree(path+"[]", inner, &ours.Fields[i])
		}
	case int64:
		if ours.IntValue != theirs {
			c.differ(path, "%d, theirs %d", ours.IntValue, theirs)
		}
	case bool:
		if ours.BoolValue != theirs {
			c.differ(path, "%v, theirs %v", ours.BoolValue, theirs)
		}
	case string:
		if string(ours.BytesValue) != theirs {
			c.differ(path, "%q, theirs %q", ours.BytesValue, theirs)
		}
	default:
		c.differ(path, "of type %T", theirs)
	}
}
