package teehistorian_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// play writes some seconds of a game in which clients 0 to 3 are there. salt makes one different from another.
func (w *writer) play(ticks, salt int32) {
	for n := range ticks {
		w.begin(w.tick + 1)
		for id := range int32(4) {
			if dx := (n*7+id*5+salt)%9 - 4; dx != 0 {
				w.playerDiff(id, dx, (n+salt)%3)
			}
		}
		if n%5 == salt%5 {
			w.input(-5, n%4, [10]int32{0, n%40 + 1, -(salt + n) % 90, n % 2})
		}
		if n%31 == 30 {
			w.message(n%4, func(w *writer) { w.int(23<<1, n%16) })
		}
	}
}

// opening writes the beginning of such a game.
func (w *writer) opening() {
	for id := range int32(4) {
		w.ex("teehistorian-joinver6@ddnet.tw", func(w *writer) { w.int(id) })
		w.join(id)
		w.start(id, "bot", "")
	}
	w.begin(1)
	for id := range int32(4) {
		w.playerNew(id, 1000, 2000)
	}
	for id := range int32(4) {
		w.input(-6, id, [10]int32{1, 100, 100})
	}
	w.play(100, 3)
}

// broken are records that no server writes: one or more for each rule, and nothing else that is wrong.
var broken = []struct {
	rule  string
	write func(w *writer)
}{
	{"no record of that id", func(w *writer) { w.int(-12) }},
	{"no record of that id", func(w *writer) { w.int(math.MinInt32) }},
	{"larger than", func(w *writer) { w.int(-7, 0, -1) }},
	{"larger than", func(w *writer) { w.int(-7, 0, teehistorian.MaxRecord+1) }},
	{"larger than", func(w *writer) { w.int(-11); w.uuid(someUUID); w.int(math.MaxInt32) }},
	{"larger than", func(w *writer) { w.drop(0, strings.Repeat("r", 8<<10)) }},
	{"larger than", func(w *writer) { w.command(-1, 4, strings.Repeat("c", 16<<10)) }},
	{"larger than", func(w *writer) { w.command(-1, 4, "say", strings.Repeat("c", 15<<10), strings.Repeat("c", 2<<10)) }},
	{"larger than", func(w *writer) { w.int(-10, -1, 4); w.text("say"); w.int(teehistorian.MaxArguments + 1) }},
	{"larger than", func(w *writer) { w.int(-10, -1, 4); w.text("say"); w.int(-1) }},
	{"longer than it need be", func(w *writer) { w.b = append(w.b, 0x00, 0x83, 0x00, 0x01) }},
	{"longer than it need be", func(w *writer) { w.b = append(w.b, 0x44, 0x00, 0x83, 0x00, 1, 0, 0, 0, 0, 0, 0, 0, 0) }},
	{"longer than it need be", func(w *writer) { w.b = append(w.b, 0x47, 0x80, 0x80, 0x80, 0x80, 0xf0) }},
	{"longer than it need be", func(w *writer) {
		w.ex("teehistorian-player-team@ddnet.tw", func(w *writer) { w.b = append(w.b, 0x80, 0x00, 0x05) })
	}},
	{"no client of that id", func(w *writer) { w.int(-8, -1) }},
	{"no client of that id", func(w *writer) { w.int(-8, teehistorian.MaxClients) }},
	{"no client of that id", func(w *writer) { w.input(-6, 2000, [10]int32{}) }},
	{"no client of that id", func(w *writer) { w.command(teehistorian.MaxClients, 4, "say") }},
	{"no client of that id", func(w *writer) { w.command(-17, 4, "say") }},
	{"a move by 0, 0", func(w *writer) { w.playerDiff(1, 0, 0) }},
	{"an input by nothing", func(w *writer) { w.input(-5, 1, [10]int32{}) }},
	{"a place out of reach", func(w *writer) { w.playerNew(5, -1<<16-1, 0) }},
	{"a place out of reach", func(w *writer) { w.playerNew(5, 0, 1<<22-1<<16) }},
	{"ticks that go back", func(w *writer) { w.int(-2, -1) }},
	{"ticks that go back", func(w *writer) { w.int(-2, math.MinInt32) }},
	{"no client can send", func(w *writer) { w.message(0, func(*writer) {}) }},
	{"no client can send", func(w *writer) { w.message(0, func(w *writer) { w.int(23<<1|1, 5) }) }},
	{"no client can send", func(w *writer) { w.message(0, func(w *writer) { w.int(-4) }) }},
	{"no client can send", func(w *writer) { w.message(0, func(w *writer) { w.int(17<<1, 0); w.text(strings.Repeat("x", 1400)) }) }},
	{"a name that no command has", func(w *writer) { w.command(-1, 4, "") }},
	{"a name that no command has", func(w *writer) { w.command(-1, 4, "sv name", "x") }},
	{"a name that no command has", func(w *writer) { w.command(-1, 4, "say\xff", "x") }},
	{"flags that no command has", func(w *writer) { w.command(-1, -1, "say", "x") }},
	{"flags that no command has", func(w *writer) { w.command(-1, 1<<24, "say", "x") }},
	{"without all of its fields", func(w *writer) { w.ex("teehistorian-player-team@ddnet.tw", func(w *writer) { w.int(0) }) }},
	{"without all of its fields", func(w *writer) { w.ex("teehistorian-player-ready@ddnet.tw", func(w *writer) { w.int(-1) }) }},
	{"without all of its fields", func(w *writer) { w.ex("teehistorian-player-swap@ddnet.tw", func(w *writer) { w.int(0, 1024) }) }},
	{"bytes behind the end", func(w *writer) { w.finish() }},
	{"a tick beyond the last one", func(w *writer) { w.int(-2, 0x6fffffff+180_000-101) }},
	{"and was not there", func(w *writer) { w.playerDiff(5, 1, 1) }},
	{"and was not there", func(w *writer) { w.playerDiff(70, 1, 1) }},
	{"and was not there", func(w *writer) { w.playerOld(5) }},
	{"and is there", func(w *writer) { w.playerNew(2, 100, 100) }},
	{"to a place out of reach", func(w *writer) { w.playerDiff(1, 1<<22, 0) }},
	{"to a place out of reach", func(w *writer) { w.playerDiff(1, 0, -1<<17) }},
	{"an input that there is not", func(w *writer) { w.input(-5, 5, [10]int32{1}) }},
	{"did not join", func(w *writer) { w.message(5, func(w *writer) { w.int(23<<1, 5) }) }},
	{"did not join", func(w *writer) { w.drop(5, "bye") }},
}

// TestRules puts each broken record into a game. It is damage, at its offset and by its rule, and the game goes on behind it.
func TestRules(t *testing.T) {
	before := file(func(w *writer) { w.opening() })
	want, _ := all(decode(before, nil))
	for _, test := range broken {
		t.Run(test.rule, func(t *testing.T) {
			most := 0 // what the damage may take
			whole := file(func(w *writer) {
				w.opening()
				w.begin(w.tick + 1)
				mark := len(w.b)
				test.write(w)
				if bytes.HasPrefix(w.b[mark:], []byte{0x41, 0}) && len(w.b) > mark+2 { // the tick's own mark
					w.b = append(w.b[:mark], w.b[mark+2:]...)
				}
				most = len(w.b) + 300
				w.play(300, 5)
				w.finish()
			})
			checkDamage(t, whole, want, int64(len(before)), int64(most), test.rule)
		})
	}
}

// checkDamage decodes a file whose first bytes give the events of want, and then has one damage, which ends before most.
func checkDamage(t *testing.T, data []byte, want []seen, from, most int64, reason string) {
	t.Helper()
	for _, chunk := range []int{1 << 20, 100, 1} {
		d := decode(data, func(r io.Reader) io.Reader { return pieces{r, chunk} })
		var ev teehistorian.Event
		var err error
		events, damages, behind := 0, 0, 0
		var to int64
		for {
			if err = d.Next(&ev); err != nil {
				break
			}
			switch {
			case events < len(want):
				if got := (seen{d.Position(), hash(&ev)}); got != want[events] {
					t.Fatalf("event %d differs: %s", events, describe(&ev))
				}
			case ev.Kind == teehistorian.KindDamage:
				damages++
				to = ev.Damage.To
				if ev.Damage.From != from || to != d.Position().Offset || !strings.Contains(string(ev.Damage.Reason), reason) {
					t.Errorf("%s, want from %d, %s", describe(&ev), from, reason)
				}
			default:
				behind++
				checkBehind(t, &ev)
			}
			events++
		}
		if damages != 1 || behind < 500 || to > most {
			t.Errorf("%d events, %d damages up to byte %d of %d, %d events behind", events, damages, to, len(data), behind)
		}
		failure, ok := errors.AsType[*decoders.Error](err)
		if !ok || !errors.Is(err, decoders.ErrCorrupt) || failure.Offset != from || !strings.Contains(err.Error(), reason) {
			t.Errorf("it ended with %v", err)
		}
		if ev.Kind != teehistorian.KindFinish || !errors.Is(d.Close(), err) || !errors.Is(d.Next(&ev), err) {
			t.Errorf("after %v: %v, %v", ev.Kind, d.Close(), d.Next(&ev))
		}
	}
}

// checkBehind checks an event behind damage, from where no character has appeared anew.
func checkBehind(t *testing.T, ev *teehistorian.Event) {
	t.Helper()
	marked := false
	for _, w := range ev.Warnings {
		marked = marked || w == teehistorian.WarningAfterDamage
	}
	known := ev.Kind == teehistorian.KindPlayerDiff && (ev.PlayerDiff.X != math.MinInt32 || ev.PlayerDiff.Y != math.MinInt32)
	if !marked || known || ev.Kind == teehistorian.KindInputDiff && ev.InputDiff.HasInput {
		t.Fatalf("behind the damage: %s", describe(ev))
	}
}

// TestSound decodes records that are just within the rules.
func TestSound(t *testing.T) {
	for what, write := range map[string]func(w *writer){
		"the highest client":   func(w *writer) { w.join(teehistorian.MaxClients - 1) },
		"a small move":         func(w *writer) { w.begin(200); w.playerDiff(1, 0, -1) },
		"a small change":       func(w *writer) { w.input(-5, 1, [10]int32{9: 1}) },
		"an empty first input": func(w *writer) { w.input(-6, 1, [10]int32{}) },
		"the nearest place":    func(w *writer) { w.begin(200); w.playerNew(5, -1<<16, -1<<16) },
		"the farthest place":   func(w *writer) { w.begin(200); w.playerNew(5, 1<<22-1<<16-1, 1<<22-1<<16-1) },
		"a far move":           func(w *writer) { w.begin(200); w.playerDiff(1, 4_000_000, -60_000) },
		"the last tick":        func(w *writer) { w.int(-2, 0x6fffffff+180_000-102) },
		"a long message": func(w *writer) {
			w.message(0, func(w *writer) { w.int(99 << 1); w.b = append(w.b, make([]byte, 1398)...) })
		},
		"an empty reason":        func(w *writer) { w.drop(0, "") },
		"a reason of two lines":  func(w *writer) { w.drop(0, "banned:\r\n\tspam \xff \u00fc\x01") },
		"a command of the map":   func(w *writer) { w.command(-2, 4, "tune", "gravity", "0") },
		"a command of a mod":     func(w *writer) { w.command(-16, 1<<24-1, "+grüße", "\x01\xff") },
		"a command by nobody":    func(w *writer) { w.command(60, 128, "rank") },
		"many arguments":         func(w *writer) { w.command(-1, 4, "x", make([]string, teehistorian.MaxArguments)...) },
		"an extension of a mod":  func(w *writer) { w.ex("teehistorian-mod@example.org", func(w *writer) { w.int(-5) }) },
		"one of another mod":     func(w *writer) { w.ex("teehistorian-other@example.org", func(*writer) {}) },
		"a field of later times": func(w *writer) { w.ex("teehistorian-player-ready@ddnet.tw", func(w *writer) { w.int(0, 7) }) },
		"nothing":                func(*writer) {},
	} {
		data := file(func(w *writer) { w.opening(); write(w); w.finish() })
		d := decode(data, nil)
		got, err := all(d)
		if len(got) == 0 || !errors.Is(err, io.EOF) || d.Close() != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestOldVersions decodes what only some versions write.
func TestOldVersions(t *testing.T) {
	other := func(w *writer) { w.ex("teehistorian-other@example.org", func(*writer) {}) }
	late := func(w *writer) { w.join(0); w.int(-2, 3, -2, -1) }
	stranger := func(w *writer) { w.drop(5, "") }
	for what, test := range map[string]struct {
		version string
		write   func(w *writer)
		sound   bool
	}{
		"an extension":                        {`"2"`, other, true},
		"an extension before there were any":  {`"1"`, other, false},
		"a mark of tick 0":                    {`"1"`, func(w *writer) { w.int(-2, -1); w.join(0) }, true},
		"a mark of tick 0, later":             {`"1"`, late, false},
		"a skip back":                         {`"1"`, func(w *writer) { w.int(-2, -2) }, false},
		"a mark of tick 0 after 11.0.3":       {`"2"`, func(w *writer) { w.int(-2, -1) }, false},
		"a drop without a join before 19.9":   {`"2","version_minor":"21"`, stranger, true},
		"a drop without a join in 19.9":       {`"2","version_minor":"22"`, stranger, false},
		"a drop without a join in 20.1.1":     {`"2","version_minor":"23"`, stranger, false},
		"a drop without a join in later ones": {`"2","version_minor":"24"`, stranger, true},
	} {
		w := newWriter(`{"version":` + test.version + `}`)
		test.write(w)
		w.finish()
		if _, err := all(decode(w.b, nil)); errors.Is(err, io.EOF) != test.sound {
			t.Errorf("%s: %v", what, err)
		}
	}
}
