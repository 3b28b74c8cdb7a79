package dem_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// rules are the fields of the game's rules that the clock is made of.
type rules struct {
	state, paused, pausedTicks, pauseTick int
	start, transition                     float32
	time                                  float32 // of the game itself, in old recordings
}

func (r rules) values(old bool) []demtest.Value {
	float := func(i int, v float32) demtest.Value {
		return demtest.Value{Path: []int{0, i}, Write: func(w *demtest.Bits) { w.Float32(v) }}
	}
	number := func(i, v int) demtest.Value {
		return demtest.Value{Path: []int{0, i}, Write: func(w *demtest.Bits) { w.Zigzag(int64(v)) }}
	}
	out := []demtest.Value{
		{Path: []int{0}, Write: func(w *demtest.Bits) { w.Bool(true) }},
		number(0, r.state), float(1, r.start), float(2, r.transition),
	}
	if old {
		return append(out, float(3, r.time), number(4, r.paused))
	}
	return append(out, number(4, r.paused), number(5, r.pausedTicks), number(6, r.pauseTick))
}

// clockDemo is a demo of Dota 2 whose game goes from one phase to the next, with an entry of the combat log, a chat and an
// announcement in each packet. Recordings of old tell the server's time, newer ones the ticks that were paused.
func clockDemo(old bool) []byte {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1).Float(13, 0.5)}))
	d.Record(demtest.CmdSendTables, -1, demtest.SendTables(
		demtest.Serializer{Name: "CDOTAGamerules", Fields: []demtest.Field{
			{Name: "m_nGameState", Type: "int32"}, {Name: "m_flGameStartTime", Type: "float32"}, {Name: "m_flStateTransitionTime", Type: "float32"},
			{Name: "m_fGameTime", Type: "float32"}, {Name: "m_bGamePaused", Type: "int32"}, {Name: "m_nTotalPausedTicks", Type: "int32"},
			{Name: "m_nPauseStartTick", Type: "int32"},
		}},
		demtest.Serializer{Name: "CDOTAGamerulesProxy", Fields: []demtest.Field{{Name: "m_pGameRules", Type: "CDOTAGamerules*", Serializer: "CDOTAGamerules"}}},
	))
	d.Record(demtest.CmdClassInfo, -1, demtest.Classes("CDOTAGamerulesProxy"))
	d.Record(demtest.CmdSyncTick, -1, nil)
	for i, step := range []struct {
		server int // tick
		now    float32
		rules
	}{
		{100, 50, rules{state: 2, time: 50, transition: 70}},
		{140, 70, rules{state: 4, time: 70, transition: 160}},
		{200, 100, rules{state: 4, time: 100, transition: 160, paused: 1, pauseTick: 200}},
		{260, 100, rules{state: 4, time: 100, transition: 160, pausedTicks: 60}},
		{360, 150, rules{state: 4, time: 150, transition: 160, pausedTicks: 60}},
		{380, 160, rules{state: 5, time: 160, start: 160, pausedTicks: 60}},
		{400, 170, rules{state: 5, time: 170, start: 160, pausedTicks: 60}},
		{500, 220, rules{state: 6, time: 220, start: 160, pausedTicks: 60}},
	} {
		e := &demtest.Entities{ClassBits: 1}
		if i == 0 {
			e.Create(0, 0, 1, step.values(old)...)
		} else {
			e.Update(0, step.values(old)...)
		}
		d.Packet(int32(i),
			demtest.Message{ID: 4, Data: demtest.Proto(nil).Varint(1, int64(step.server))},
			demtest.Message{ID: 554, Data: demtest.Proto(nil).Varint(1, 4).Float(15, step.now)},
			demtest.Message{ID: 612, Data: demtest.Proto(nil).Varint(1, 1).Text(3, "gg")},
			demtest.Message{ID: 466, Data: demtest.Proto(nil).Varint(1, 1)},
			e.Message(i > 0),
		)
	}
	d.Record(demtest.CmdStop, 8, nil)
	return d.Bytes()
}

// TestClock: time on the clock is counted from the horn, in recordings of all ages, on ticks, combat log, chat and
// announcements alike, whatever else is asked for.
func TestClock(t *testing.T) {
	for _, old := range []bool{false, true} {
		for name, kinds := range map[string]func(dem.Kind) bool{
			"all":        nil,
			"combat log": func(k dem.Kind) bool { return k == dem.KindCombatLog },
			"chat":       func(k dem.Kind) bool { return k == dem.KindChat },
			"announced":  func(k dem.Kind) bool { return k == dem.KindChatEvent },
			"ticks":      func(k dem.Kind) bool { return k == dem.KindTick },
			"no fields":  func(k dem.Kind) bool { return k != dem.KindFault },
		} {
			t.Run(fmt.Sprintf("%s, old=%v", name, old), func(t *testing.T) {
				got := map[dem.Kind][]string{}
				tell := func(k dem.Kind, ok bool, v float32) {
					text := "none"
					if ok {
						text = fmt.Sprint(v)
					}
					got[k] = append(got[k], text)
				}
				var phases []dem.GamePhase
				opts := dem.Options{Kinds: kinds}
				if name == "no fields" {
					opts.Fields = func(_, _ string) bool { return false }
				}
				d := dem.New(bytes.NewReader(clockDemo(old)), opts)
				_ = run(d, func(ev *dem.Event) {
					switch ev.Kind {
					case dem.KindTick:
						tell(ev.Kind, ev.Tick.HasGameTime, ev.Tick.GameTime)
						phases = append(phases, ev.Tick.Phase)
					case dem.KindCombatLog:
						tell(ev.Kind, ev.CombatLog.HasGameTime, ev.CombatLog.GameTime)
					case dem.KindChat:
						tell(ev.Kind, ev.Chat.HasGameTime, ev.Chat.GameTime)
					case dem.KindChatEvent:
						tell(ev.Kind, ev.ChatEvent.HasGameTime, ev.ChatEvent.GameTime)
					}
				})
				if len(got) == 0 {
					t.Fatal("no events")
				}
				// What a packet tells of the clock holds from the next one on.
				want := []string{"none", "none", "-60", "-60", "-10", "0", "10", "60"}
				for k, times := range got {
					if diff := cmp.Diff(want, times); diff != "" {
						t.Errorf("%v (-want +got):\n%s", k, diff)
					}
				}
				if want := []dem.GamePhase{0, 3, 5, 5, 5, 5, 6, 6}; len(phases) > 0 && !cmp.Equal(want, phases) {
					t.Errorf("phases %v, want %v", phases, want)
				}
			})
		}
	}
}

// TestCvars: variables of the server's console are told one by one.
func TestCvars(t *testing.T) {
	var got []string
	decode(t, demtest.Sample(), dem.Options{}, func(_ *dem.Decoder, ev *dem.Event) {
		if ev.Kind == dem.KindServerCvar {
			got = append(got, fmt.Sprintf("%s=%s", ev.ServerCvar.Name, ev.ServerCvar.Value))
		}
	})
	if want := []string{"sv_cheats=0", "sv_password=secret"}; !cmp.Equal(want, got) {
		t.Errorf("%q, want %q", got, want)
	}
}
