package dem

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/record"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/unpack"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// The figures of independent decoders: reference/dem.json.
type reference struct {
	Decoded []struct {
		File            string
		Outer           map[string]int    `json:"outer_messages"`
		Inner           map[string]int    `json:"inner_messages_by_id"`
		InFull          map[string]int    `json:"inner_messages_in_full_packets_by_id"`
		Entities        map[string]refOps `json:"entities_by_class"`
		CombatLog       map[string]int    `json:"combat_log_by_type"`
		ModifierEntries int               `json:"modifier_entries"`
		LiveEntities    int               `json:"live_entities"`
		EntityEvents    int               `json:"entity_events"`
		LastTick        int32             `json:"last_tick"`
	}
	Walk []struct {
		File       string
		Classes    int
		ClassBits  int               `json:"class_bits"`
		Outer      map[string]int    `json:"outer_by_id"`
		Inner      map[string]int    `json:"inner_by_id"`
		InnerBytes map[string]int    `json:"inner_bytes_by_id"`
		Entities   map[string]refOps `json:"entities_by_class"`
		Live       int               `json:"live_entities"`
		Mismatches int               `json:"size_list_mismatches"`
	}
	Fixtures []struct {
		Match, Class  string
		Bytes, Fields int
		BitsUsed      int `json:"bits_used"`
	}
}

type refOps struct{ Created, Updated, Entered, Left, Deleted int }

func (r *refOps) UnmarshalJSON(b []byte) error {
	var m map[string]int
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*r = refOps{m["created"], m["updated"], m["entered_again"], m["left"], m["deleted"]}
	return nil
}

func corpusFile(t *testing.T, name string) []byte {
	t.Helper()
	for _, dir := range []string{"haste", "demofile-net"} {
		data, err := os.ReadFile(filepath.Join(decodertest.Shared(t, "corpus", "dem"), dir, name))
		if err == nil {
			return data
		}
	}
	t.Fatalf("%s is not in the corpus", name)
	return nil
}

// tally is what decoding a file counts.
type tally struct {
	kinds    map[Kind]int
	ops      map[string]refOps
	combat   map[CombatLogType]int
	faults   []string
	lastTick int32
	unnamed  int // game events without a name
}

func (c *tally) add(d *Decoder, ev *Event) {
	c.kinds[ev.Kind]++
	c.lastTick = max(c.lastTick, ev.AtTick)
	count := func(class uint32, f func(*refOps)) {
		o := c.ops[d.Name(class)]
		f(&o)
		c.ops[d.Name(class)] = o
	}
	switch ev.Kind {
	case KindEntityCreated:
		count(ev.EntityCreated.Class, func(o *refOps) { o.Created++ })
	case KindEntityUpdated:
		count(ev.EntityUpdated.Class, func(o *refOps) { o.Updated++ })
	case KindEntityEntered:
		count(ev.EntityEntered.Class, func(o *refOps) { o.Entered++ })
	case KindEntityLeft:
		count(ev.EntityLeft.Class, func(o *refOps) { o.Left++ })
	case KindEntityDeleted:
		// The reference counts that a deleted entity left, too.
		count(ev.EntityDeleted.Class, func(o *refOps) { o.Left++; o.Deleted++ })
	case KindCombatLog:
		c.combat[ev.CombatLog.Type]++
	case KindGameEvent:
		if len(ev.GameEvent.Name) == 0 {
			c.unnamed++
		}
		for _, k := range ev.GameEvent.Keys {
			if len(k.Name) == 0 || k.ValueCase == GameEventKeyValueNone {
				c.unnamed++
			}
		}
	case KindFault:
		c.faults = append(c.faults, fmt.Sprintf("%v %s", ev.Fault.Kind, ev.Fault.Detail))
	}
}

func newTally() *tally {
	return &tally{kinds: map[Kind]int{}, ops: map[string]refOps{}, combat: map[CombatLogType]int{}}
}

func decodeAll(t *testing.T, data []byte, opts Options, f func(*Decoder, *Event)) *Decoder {
	t.Helper()
	d := New(bytes.NewReader(data), opts)
	var ev Event
	for {
		err := d.Next(&ev)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		f(d, &ev)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestReferenceCounts decodes the corpus's files in full and compares with an independent walk over the same files.
func TestReferenceCounts(t *testing.T) {
	var ref reference
	decodertest.Reference(t, "dem.json", &ref)
	for _, want := range ref.Walk {
		t.Run(want.File, func(t *testing.T) {
			data := corpusFile(t, want.File)
			got := newTally()
			d := decodeAll(t, data, Options{}, got.add)
			if len(got.faults) > 0 {
				t.Errorf("faults: %q", got.faults)
			}
			if s := d.Stats(); s.EntityMismatches != int64(want.Mismatches) || s.EntityUnknown != 0 || s.BaselinesMissing != 0 {
				t.Errorf("health: %+v", s)
			}
			if got.unnamed != 0 {
				t.Errorf("%d game events or keys without name or value", got.unnamed)
			}
			if len(d.world.classes) != want.Classes || d.world.classBits != want.ClassBits {
				t.Errorf("%d classes of %d bits, want %d of %d", len(d.world.classes), d.world.classBits, want.Classes, want.ClassBits)
			}
			if diff := cmp.Diff(want.Entities, got.ops); diff != "" {
				t.Errorf("operations on entities (-want +got):\n%s", diff)
			}
			live := 0
			for _, e := range d.world.store.Slots {
				if e != nil {
					live++
				}
			}
			if live != want.Live {
				t.Errorf("%d live entities, want %d", live, want.Live)
			}
			records := 0
			for _, n := range want.Outer {
				records += n
			}
			if d.Stats().Records != int64(records) {
				t.Errorf("%d records, want %d", d.Stats().Records, records)
			}
			messages := 0
			for _, n := range want.Inner {
				messages += n
			}
			if d.Stats().Messages != int64(messages) {
				t.Errorf("%d messages, want %d", d.Stats().Messages, messages)
			}
			for kind, id := range map[Kind]string{
				KindTick: "4", KindStringTable: "44", KindGameEvent: "207", KindSound: "208", KindServerInfo: "40",
			} {
				if got.kinds[kind] != want.Inner[id] {
					t.Errorf("%d events %v, want %d", got.kinds[kind], kind, want.Inner[id])
				}
			}
		})
	}
}

// TestReferenceMessages counts messages one by one, as they travel when nothing decodes them.
func TestReferenceMessages(t *testing.T) {
	var ref reference
	decodertest.Reference(t, "dem.json", &ref)
	for _, want := range ref.Walk {
		t.Run(want.File, func(t *testing.T) {
			counts, sizes, outer := map[string]int{}, map[string]int{}, map[string]int{}
			d := New(bytes.NewReader(corpusFile(t, want.File)), Options{})
			if err := d.in.Begin(); err != nil {
				t.Fatal(err)
			}
			for !d.in.Finished {
				payload, err := d.in.Next()
				if err != nil {
					t.Fatal(err)
				}
				if d.in.Head.Compressed {
					if payload, err = unpack.Snappy(nil, payload, record.MaxSize); err != nil {
						t.Fatal(err)
					}
				}
				outer[strconv.Itoa(int(d.in.Head.Command))]++
				d.in.Finished = d.in.Head.Command == record.CmdFileInfo
				if d.in.Head.Command != record.CmdPacket && d.in.Head.Command != record.CmdSignonPacket {
					continue
				}
				d.startPacket(packetData(pb.NewReader(payload)))
				for _, m := range d.packet.messages {
					counts[strconv.Itoa(int(m.id))]++
					sizes[strconv.Itoa(int(m.id))] += len(m.data)
				}
			}
			if diff := cmp.Diff(want.Outer, outer); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.Inner, counts); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			for id, n := range sizes {
				// Those are needed only once the game is known.
				if n != 0 && n != want.InnerBytes[id] {
					t.Errorf("messages %s have %d bytes, want %d", id, n, want.InnerBytes[id])
				}
			}
		})
	}
}

// TestReferenceCombatLog compares what only the reference's full decoder counts.
func TestReferenceCombatLog(t *testing.T) {
	var ref reference
	decodertest.Reference(t, "dem.json", &ref)
	for _, want := range ref.Decoded {
		t.Run(want.File, func(t *testing.T) {
			got := newTally()
			unnamed := 0
			decodeAll(t, corpusFile(t, want.File), Options{}, func(d *Decoder, ev *Event) {
				got.add(d, ev)
				if ev.Kind == KindCombatLog && (len(ev.CombatLog.TargetName) == 0 || len(ev.CombatLog.InflictorName) == 0) {
					unnamed++
				}
			})
			sum := 0
			for _, o := range got.ops {
				sum += o.Created + o.Updated + o.Entered + o.Left
			}
			if sum != want.EntityEvents {
				t.Errorf("%d events of entities, want %d", sum, want.EntityEvents)
			}
			wantCombat := map[CombatLogType]int{
				CombatLogTypeModifierAdd:    want.CombatLog["DOTA_COMBATLOG_MODIFIER_ADD"],
				CombatLogTypeModifierRemove: want.CombatLog["DOTA_COMBATLOG_MODIFIER_REMOVE"],
			}
			if diff := cmp.Diff(wantCombat, got.combat); diff != "" {
				t.Errorf("combat log (-want +got):\n%s", diff)
			}
			if unnamed > 0 {
				t.Errorf("%d entries of the combat log without names", unnamed)
			}
			if got.kinds[KindModifier] != want.ModifierEntries {
				t.Errorf("%d modifiers, want %d", got.kinds[KindModifier], want.ModifierEntries)
			}
			if got.lastTick != want.LastTick {
				t.Errorf("last tick %d, want %d", got.lastTick, want.LastTick)
			}
		})
	}
}

// cellText writes a value as the reference does.
func cellText(c *value.Cell, data []byte) string {
	switch c.Kind {
	case value.Int:
		return "i" + strconv.FormatInt(int64(c.Word), 10)
	case value.Uint, value.Handle, value.Length:
		return "i" + strconv.FormatUint(c.Word, 10)
	case value.Float:
		return fmt.Sprintf("f%08x", uint32(c.Word))
	case value.Bool, value.Pointer:
		return "b" + strconv.FormatBool(c.Word != 0)
	case value.Text:
		return "s" + strconv.Quote(string(data))
	case value.Vector:
		return fmt.Sprintf("v%08x%08x%08x", uint32(c.Word), uint32(c.Word>>32), c.Z)
	case value.Tuple:
		s := "v"
		for ; len(data) >= 4; data = data[4:] {
			s += fmt.Sprintf("%08x", binary.LittleEndian.Uint32(data))
		}
		return s
	}
	return fmt.Sprintf("?%d", c.Kind)
}

type fieldText struct {
	text  string
	kind  value.Kind
	typ   string
	quant *value.Quantizer
}

// misquantized writes quantized floats as the reference has them: it multiplies in another order than the game.
func (f *fieldText) misquantized() string {
	q := f.quant
	if q == nil || f.text == "" {
		return f.text
	}
	out := f.text[:1]
	for hex := f.text[1:]; len(hex) >= 8; hex = hex[8:] {
		word, _ := strconv.ParseUint(hex[:8], 16, 32)
		v := math.Float32frombits(uint32(word))
		step := float32(math.Round(float64(v-q.Low) / float64(q.High-q.Low) * float64(uint64(1)<<q.Bits-1)))
		out += fmt.Sprintf("%08x", math.Float32bits(q.Low+float32(float32((q.High-q.Low)*step)*q.Step)))
	}
	return out
}

// stateText returns the fields of an entity by name.
func stateText(d *Decoder, e *entity.Entity) map[string]fieldText {
	out := map[string]fieldText{}
	fields, _ := e.AppendFields(nil, e.Class)
	for _, ch := range fields {
		out[d.Name(ch.Node.Name)] = fieldText{
			cellText(&ch.Cell, e.Data(&ch.Cell)), ch.Cell.Kind, ch.Node.Field.Type, ch.Node.Codec.Quant,
		}
	}
	return out
}

func gunzip(t *testing.T, name string) string {
	t.Helper()
	data := decodertest.Read(t, "reference", name)
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

var element = regexp.MustCompile(`^(.*)\.(\d{4})(\..*)?$`)

// TestReferenceState compares the final state of every entity, field by field.
//
// The reference's decoder differs in five ways, all known: it reads signed ids and enums, sequences and ids of 64 bits as plain
// varuint32; it does not show the own values of lists and objects; it does not show lists inside of objects or other
// lists; it keeps elements that a list has lost; and the last digit of its quantized floats is off.
func TestReferenceState(t *testing.T) {
	d := decodeAll(t, corpusFile(t, "auto-20240102-2233-start-____.dem"), Options{}, func(*Decoder, *Event) {})
	head := regexp.MustCompile(`^(\d+) (\d+) (\w+)$`)
	var mine map[string]fieldText
	seen := map[string]bool{}
	entities, equal, lost := 0, 0, 0
	finish := func() {
		for name, f := range mine {
			inner := element.FindStringSubmatch(name)
			switch {
			case seen[name], f.kind == value.Length, f.kind == value.Pointer:
			case len(inner) > 1 && strings.Contains(inner[1], "."):
			default:
				t.Errorf("field %s = %s is not in the reference", name, f.text)
			}
		}
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(gunzip(t, "dem-auto-20240102.state.txt.gz"), "\n"), "\n") {
		if m := head.FindStringSubmatch(line); m != nil {
			finish()
			index, _ := strconv.Atoi(m[1])
			e := d.world.store.Slots[index]
			if e == nil || fmt.Sprintf("%d %d %s", index, e.Serial, d.Name(e.Class.Name)) != line {
				t.Fatalf("entity %s is not there", line)
			}
			entities++
			mine, seen = stateText(d, e), map[string]bool{}
			continue
		}
		name, want, _ := strings.Cut(line, "=")
		seen[name] = true
		got, ok := mine[name]
		if !ok {
			m := element.FindStringSubmatch(name)
			if m != nil {
				list := mine[m[1]]
				index, _ := strconv.Atoi(m[2])
				length, _ := strconv.Atoi(strings.TrimPrefix(list.text, "i"))
				if list.kind == value.Length && index >= length {
					lost++
					continue
				}
			}
			t.Errorf("field %s is missing", line)
			continue
		}
		switch base := schema.ParseType(got.typ).Base; {
		case base == "HSequence":
			n, _ := strconv.ParseInt(got.text[1:], 10, 64)
			got.text = fmt.Sprintf("i%d", n+1)
		case base == "MatchID_t", base == "itemid_t":
			n, _ := strconv.ParseUint(got.text[1:], 10, 64)
			got.text = fmt.Sprintf("i%d", uint32(n))
		case schema.Signed(base):
			n, _ := strconv.ParseInt(got.text[1:], 10, 64)
			got.text = fmt.Sprintf("i%d", uint32(n<<1)^uint32(n>>63))
		}
		if got.text != want && got.misquantized() != want {
			t.Errorf("field %s = %s (%s), want %s", name, got.text, got.typ, want)
		} else {
			equal++
		}
	}
	finish()
	t.Logf("%d entities, %d fields equal, %d elements beyond the end of their lists", entities, equal, lost)
	if entities != 883 || equal < 70000 {
		t.Errorf("compared %d entities and %d fields only", entities, equal)
	}
}

// TestFixtures decodes baselines of 2015.
func TestFixtures(t *testing.T) {
	builds := map[string]int{"1560315800": 928, "1731962898": 1003}
	schemas := map[string]*schema.Schema{}
	var cache Schemas
	for match, build := range builds {
		raw, err := os.ReadFile(filepath.Join(decodertest.Shared(t, "corpus", "dem", "send-table-fixtures"), "send_tables", match+".pbmsg"))
		if err != nil {
			t.Fatal(err)
		}
		var data []byte
		for m := pb.NewReader(raw); m.Next(); {
			data = m.Raw
		}
		s, ok := cache.get(data, build)
		if !ok {
			t.Fatalf("the send tables of %s cannot be read", match)
		}
		schemas[match] = s
	}
	text := gunzip(t, "dem-fixtures.txt.gz")
	fixtures := strings.Split(text, "# ")[1:]
	if len(fixtures) != 223 {
		t.Fatalf("%d fixtures", len(fixtures))
	}
	for _, fixture := range fixtures {
		lines := strings.Split(strings.TrimSuffix(fixture, "\n"), "\n")
		match, name, _ := strings.Cut(lines[0], " ")
		t.Run(match+"/"+name, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(decodertest.Shared(t, "corpus", "dem", "send-table-fixtures"), "instancebaseline", match+"_"+name+".rawbuf"))
			if err != nil {
				t.Fatal(err)
			}
			tree := entity.NewTree(nil)
			c := &entity.Class{Name: tree.Intern([]byte(name))}
			tree.Plant(c, schemas[match].ByName[name])
			u := entity.Update{Tree: tree, Tick: 1.0 / 30}
			r := bits.New(raw)
			var s entity.State
			if err := u.Read(&r, c, &s); err != nil {
				t.Fatal(err)
			}
			if r.Len() >= 8 {
				t.Errorf("%d bits are left", r.Len())
			}
			var got []string
			paths := slices.Clone(u.Paths)
			for i := range u.Changes {
				ch, p := &u.Changes[i], &paths[i]
				if i > 0 {
					copy(p.Idx[:p.Keep], paths[i-1].Idx[:])
				}
				var path []string
				for _, v := range p.Idx[:p.Last+1] {
					path = append(path, strconv.Itoa(int(v)))
				}
				v := ch.Cell
				if ch.Node.Field.Type == "HSequence" {
					v.Word++
				}
				f := fieldText{text: cellText(&v, u.Data(&v)), quant: ch.Node.Codec.Quant}
				line := strings.Join(path, "/") + " " + tree.Name(ch.Node.Name) + "="
				if i+1 < len(lines) && lines[i+1] == line+f.misquantized() {
					f.text = f.misquantized()
				}
				got = append(got, line+f.text)
			}
			if diff := cmp.Diff(lines[1:], got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
