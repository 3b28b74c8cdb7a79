package infer_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/infer"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
)

// parse compiles the schema of a class with text, a field of the given description, and 32 bits behind it. It says which numbers are sent
// plus one, as those since 2024 do.
func parse(t *testing.T, field demtest.Field) *schema.Schema {
	t.Helper()
	field.Name = "m_unknown"
	return parseFields(t, demtest.Field{Name: "m_text", Type: "CUtlString"}, field, demtest.Field{Name: "m_fl", Type: "float32"},
		demtest.Field{Name: "m_n", Type: "int32", VarSerializer: "minusone"})
}

// parseFields compiles the schema of a class C.
func parseFields(t *testing.T, fields ...demtest.Field) *schema.Schema {
	t.Helper()
	tables := demtest.SendTables(demtest.Serializer{Name: "C", Fields: fields})
	m := pb.NewReader(tables)
	m.Next()
	s, ok := schema.Parse(m.Raw, 0)
	if !ok {
		t.Fatal("the schema cannot be read")
	}
	return s
}

// infers adds payloads with values that write writes, each behind a text of random length, and returns the guess.
func infers(t *testing.T, field demtest.Field, payloads int, write func(w *demtest.Bits, g *rand.Rand)) (g *infer.Guess, refuted bool) {
	t.Helper()
	s := parse(t, field)
	book := infer.NewBook()
	p := infer.Prober{Book: &book, Tick: 1.0 / 64, Left: infer.MaxFields}
	random := rand.New(rand.NewPCG(1, 2))
	for range payloads {
		var w demtest.Bits
		w.Fields(
			demtest.Value{Path: []int{0}, Write: func(w *demtest.Bits) { w.CString("some text"[:random.IntN(10)]) }},
			demtest.Value{Path: []int{1}, Write: func(w *demtest.Bits) { write(w, random) }},
			demtest.Value{Path: []int{2}, Write: func(w *demtest.Bits) { w.Float32(random.Float32()) }},
		)
		p.Add(&infer.Payload{Root: s.Lookup("C", 0), Data: bits.New(w.Bytes()), Size: w.Len()})
	}
	refuted = p.Search()
	if book.Len() != 1 {
		t.Fatalf("%d guesses", book.Len())
	}
	return book.At(1), refuted
}

// TestWays: an unknown type is read as the known one that gives all payloads their lengths.
func TestWays(t *testing.T) {
	for want, write := range map[string]func(w *demtest.Bits, g *rand.Rand){
		"uint64":     func(w *demtest.Bits, g *rand.Rand) { w.Varint(g.Uint64N(1 << 20)) },
		"bool":       func(w *demtest.Bits, g *rand.Rand) { w.Bool(g.IntN(2) == 0) },
		"float32":    func(w *demtest.Bits, g *rand.Rand) { w.Float32(g.Float32()) },
		"CUtlString": func(w *demtest.Bits, g *rand.Rand) { w.CString("another text"[:g.IntN(12)]) },
		"Vector": func(w *demtest.Bits, g *rand.Rand) {
			for range 3 {
				w.Float32(g.Float32())
			}
		},
		"BloodType": func(w *demtest.Bits, g *rand.Rand) { w.Bits(128+g.Uint64N(4), 8) },
	} {
		g, refuted := infers(t, demtest.Field{Type: "Mystery_t"}, 40, write)
		if refuted || g.State != infer.Proven || g.ReadAs() != want || g.Proofs != 40 || g.Name != "Mystery_t" {
			t.Errorf("%s: read as %s (%d), %d proofs, refuted: %v", want, g.ReadAs(), g.State, g.Proofs, refuted)
		}
		if g.Sure(1, false) != true {
			t.Errorf("%s: a value that is proven is not sure", want)
		}
	}
}

// TestRefuted: a type of which no way gives the lengths is refuted, and none of its values is sure.
func TestRefuted(t *testing.T) {
	g, refuted := infers(t, demtest.Field{Type: "Mystery_t"}, 40, func(w *demtest.Bits, g *rand.Rand) { w.Bits(g.Uint64(), 37); w.Bits(g.Uint64(), g.IntN(5)) })
	if !refuted || g.State != infer.Refuted || g.Sure(1, true) {
		t.Errorf("read as %s (%d), refuted: %v", g.ReadAs(), g.State, refuted)
	}
}

// TestAmbiguous: data that other families read as well, to other values, prove nothing, and leave those that come out. One payload that
// they do not read is enough to prove it.
func TestAmbiguous(t *testing.T) {
	zero := func(w *demtest.Bits, _ *rand.Rand) { w.Varint(0) }
	g, refuted := infers(t, demtest.Field{Type: "Mystery_t"}, 40, zero)
	if refuted || g.State != infer.Unseen || g.Proofs != 0 || names(g) != "uint64 CUtlString BloodType CUtlBinaryBlock" {
		t.Errorf("zeros: state %d, %d proofs, may be %s", g.State, g.Proofs, names(g))
	}
	n := 0
	g, _ = infers(t, demtest.Field{Type: "Mystery_t"}, 40, func(w *demtest.Bits, _ *rand.Rand) {
		if n++; n == 40 {
			w.Varint(9)
			return
		}
		w.Varint(0)
	})
	if g.State != infer.Proven || g.Proofs != 40 || names(g) != "uint64 BloodType" {
		t.Errorf("zeros and a 9: state %d, %d proofs, may be %s", g.State, g.Proofs, names(g))
	}
	// A byte is as long as a number, and the same, as long as no number takes more.
	if g.Rivals().Has(g.Family) || g.Rivals() == 0 {
		t.Errorf("rivals %b of %d", g.Rivals(), g.Family)
	}
	g, _ = infers(t, demtest.Field{Type: "Mystery_t"}, 40, func(w *demtest.Bits, g *rand.Rand) { w.Varint(g.Uint64N(1 << 10)) })
	if g.Rivals() != 0 || names(g) != "uint64" {
		t.Errorf("numbers: may be %s", names(g))
	}
	// That a type is a number is known of some.
	if g, _ = infers(t, demtest.Field{Type: "RenderFx_t"}, 40, zero); g.State != infer.Proven || g.Rivals() != 0 || !g.Sure(0, true) {
		t.Errorf("RenderFx_t: state %d, may be %s", g.State, names(g))
	}
}

// names returns the types that a guess may be read as.
func names(g *infer.Guess) string {
	var all []string
	c := *g
	for c.Family = range g.Open.All() {
		all = append(all, c.ReadAs())
	}
	return strings.Join(all, " ")
}

// TestCompensation: two types are not proven by data in which one may be too long and the other too short by as much. Data that have
// one of them alone prove it, and then the others prove the second one.
func TestCompensation(t *testing.T) {
	s := parseFields(t,
		demtest.Field{Name: "m_a", Type: "A_t"}, demtest.Field{Name: "m_b", Type: "B_t"}, demtest.Field{Name: "m_n", Type: "int32", VarSerializer: "minusone"})
	flag := demtest.Value{Path: []int{0}, Write: func(w *demtest.Bits) { w.Bool(false) }}
	number := func(v uint64) demtest.Value {
		return demtest.Value{Path: []int{1}, Write: func(w *demtest.Bits) { w.Varint(v) }}
	}
	for _, alone := range []bool{false, true} {
		book := infer.NewBook()
		p := infer.Prober{Book: &book, Tick: 1.0 / 64, Left: infer.MaxFields}
		add := func(values ...demtest.Value) {
			var w demtest.Bits
			w.Fields(values...)
			p.Add(&infer.Payload{Root: s.Lookup("C", 0), Data: bits.New(w.Bytes()), Size: w.Len()})
		}
		for i := range 10 {
			add(flag, number(uint64(2+i)))
		}
		if alone {
			add(number(3))
		}
		p.Search()
		fields := s.Lookup("C", 0).Fields
		for i, want := range []string{"bool", "uint64"} {
			g := book.OfField(fields[i], false)
			if proven := g.State == infer.Proven; proven != alone || proven && g.ReadAs() != want {
				t.Errorf("alone %v: %s is read as %s (%d), may be %s", alone, g.Name, g.ReadAs(), g.State, names(g))
			}
		}
	}
}

// TestSigned: whether numbers are signed is open unless odd ones say so; then 0 alone is sure.
func TestSigned(t *testing.T) {
	even := func(w *demtest.Bits, g *rand.Rand) { w.Varint(2 * g.Uint64N(100)) }
	g, _ := infers(t, demtest.Field{Type: "Mystery_t"}, 40, even)
	if !g.MaybeSigned || g.Sure(2, true) || !g.Sure(0, true) || g.Rivals().Has(infer.FamilyFirst) {
		t.Errorf("even numbers: may be signed: %v, rivals %b", g.MaybeSigned, g.Rivals())
	}
	if g, _ = infers(t, demtest.Field{Type: "Mystery_t"}, 12, func(w *demtest.Bits, g *rand.Rand) { w.Varint(1000 + g.Uint64N(2000)) }); !g.MaybeSigned || g.Sure(1001, true) {
		t.Errorf("a few large numbers: may be signed: %v", g.MaybeSigned)
	}
	g, _ = infers(t, demtest.Field{Type: "LeagueID_t"}, 12, func(w *demtest.Bits, g *rand.Rand) { w.Varint(1000 + g.Uint64N(2000)) })
	if g.MaybeSigned || !g.Sure(1001, true) {
		t.Errorf("a few ids: may be signed: %v", g.MaybeSigned)
	}
	odd := func(w *demtest.Bits, g *rand.Rand) { w.Varint(g.Uint64N(40)) }
	if g, _ := infers(t, demtest.Field{Type: "Mystery_t"}, 200, odd); g.MaybeSigned || !g.Sure(2, true) {
		t.Errorf("any numbers: may be signed: %v", g.MaybeSigned)
	}
}

// TestEncoder: an unknown encoder is read as the known one that gives the lengths. No value is sure, not even 0.
func TestEncoder(t *testing.T) {
	g, refuted := infers(t, demtest.Field{Type: "uint64", Encoder: "fixed_new"}, 40, func(w *demtest.Bits, g *rand.Rand) { w.Bits(g.Uint64(), 64) })
	if refuted || g.State != infer.Proven || g.ReadAs() != "uint64(fixed64)" || g.Name != "uint64(fixed_new)" {
		t.Errorf("%s is read as %s (%d)", g.Name, g.ReadAs(), g.State)
	}
	if g.Sure(0, true) || g.Sure(1, false) {
		t.Error("a value with an unknown encoder is sure")
	}
}

// TestUnseen: without a payload that has values of a type, nothing is known of it.
func TestUnseen(t *testing.T) {
	s := parse(t, demtest.Field{Type: "Mystery_t"})
	book := infer.NewBook()
	p := infer.Prober{Book: &book, Tick: 1.0 / 64, Left: infer.MaxFields}
	var w demtest.Bits
	w.Fields(demtest.Value{Path: []int{2}, Write: func(w *demtest.Bits) { w.Float32(1) }})
	p.Add(&infer.Payload{Root: s.Lookup("C", 0), Data: bits.New(w.Bytes()), Size: w.Len()})
	if p.Search() {
		t.Error("refuted")
	}
	if g := book.OfField(s.Lookup("C", 0).Fields[1], false); g.State != infer.Unseen || g.Proofs != 0 || g.Sure(2, true) {
		t.Errorf("state %d, %d proofs", g.State, g.Proofs)
	}
}

// TestKnownUnseen: a type of which it is known that it is a number may be nothing else, although no value of it was met.
func TestKnownUnseen(t *testing.T) {
	book := infer.NewBook()
	for typ, want := range map[string]string{"RenderFx_t": "uint64", "Mystery_t": "uint64 bool float32"} {
		g := book.OfField(parse(t, demtest.Field{Type: typ}).Lookup("C", 0).Fields[1], false)
		if got := names(g); !strings.HasPrefix(got, want) || (g.Rivals() == 0) != (typ == "RenderFx_t") {
			t.Errorf("%s may be %s", typ, got)
		}
	}
}

// TestCopies: another decoder goes on with copies of the guesses, by the same numbers.
func TestCopies(t *testing.T) {
	s := parse(t, demtest.Field{Type: "Mystery_t"})
	book := infer.NewBook()
	g := book.OfField(s.Lookup("C", 0).Fields[1], false)
	g.State, g.Proofs = infer.Refuted, 7
	other := infer.NewBook()
	other.Put(book.Copy())
	g.Proofs = 8
	if c := other.At(g.Number); c.Proofs != 7 || other.Len() != 1 || other.Sorted()[0].Name != "Mystery_t" || !other.Refuted(s.Lookup("C", 0).Fields[1].Unknown) {
		t.Errorf("%+v", c)
	}
	if other.Refuted(nil) || book.OfField(s.Lookup("C", 0).Fields[1], false) != g {
		t.Error("what is known is refuted, or a guess is made twice")
	}
}

// TestAppend: books differ in Append if they differ in anything on which reading values depends.
func TestAppend(t *testing.T) {
	seen := map[string]int{}
	for i, change := range []func(g *infer.Guess){
		func(*infer.Guess) {},
		func(g *infer.Guess) { g.Name = "Other_t" },
		func(g *infer.Guess) { g.Base = "Other_t" },
		func(g *infer.Guess) { g.Type = true },
		func(g *infer.Guess) { g.Encoder = true },
		func(g *infer.Guess) { g.List = true },
		func(g *infer.Guess) { g.Numeric = true },
		func(g *infer.Guess) { g.MayBeShifted = true },
		func(g *infer.Guess) { g.MaybeSigned = true },
		func(g *infer.Guess) { g.Family = infer.FamilyList },
		func(g *infer.Guess) { g.State = infer.Refuted },
		func(g *infer.Guess) { g.Open = 2 },
		nil, // no guess at all
	} {
		b := infer.NewBook()
		if change != nil {
			g := infer.Guess{Number: 1, Unknown: schema.Unknown{Name: "Some_t", Base: "Some_t"}}
			change(&g)
			b.Put([]infer.Guess{g})
		}
		text := string(b.Append(nil))
		if other, ok := seen[text]; ok {
			t.Errorf("book %d is as book %d", i, other)
		}
		seen[text] = i
	}
}
