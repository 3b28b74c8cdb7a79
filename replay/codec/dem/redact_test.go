package dem_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
)

func TestRedact(t *testing.T) {
	for _, test := range []struct {
		text, want string
		redacted   bool
	}{
		{"say hello", "say hello", false},
		{"password hunter2", "password", true},
		{"RCON_password hunter2", "RCON_password", true},
		{"echo a;connect 1.2.3.4; password x", "echo", true},
		{"disconnect", "disconnect", false},
	} {
		d := demtest.New()
		d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2"))
		d.Record(demtest.CmdConsoleCmd, 1, demtest.Proto(nil).Text(1, test.text))
		for _, reveal := range []bool{false, true} {
			s, _ := read(t, open(t, d.Bytes(), codec.Options{Secrets: codectest.Secrets(reveal)}), 10)
			c := s.list[len(s.list)-1].GetConsoleCmd()
			want, redacted := test.want, test.redacted
			if reveal {
				want, redacted = test.text, false
			}
			if c.GetText() != want || c.GetRedacted() != redacted {
				t.Errorf("%q (revealed: %v) is delivered as %v", test.text, reveal, c)
			}
		}
	}
}

// TestCvarSecrets checks that variables that hold passwords are delivered without their values.
func TestCvarSecrets(t *testing.T) {
	for _, reveal := range []bool{false, true} {
		got, _ := read(t, open(t, demtest.Sample(), codec.Options{Secrets: codectest.Secrets(reveal)}), 100)
		seen := 0
		for _, ev := range got.list {
			c := ev.GetServerCvar()
			if c == nil {
				continue
			}
			seen++
			password := c.GetName() == "sv_password"
			if c.GetRedacted() != (password && !reveal) || (c.GetValue() == "") != c.GetRedacted() {
				t.Errorf("with secrets %v: %v", reveal, c)
			}
		}
		if seen != 2 {
			t.Errorf("%d variables", seen)
		}
	}
}

// TestVoiceSecrets: what players say is delivered to nobody who may not have it, also in a message that cannot be read.
func TestVoiceSecrets(t *testing.T) {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "citadel"))
	audio := demtest.Proto(nil).Varint(1, 2).Bytes(2, []byte("speech"))
	d.Packet(1,
		demtest.Message{ID: 47, Data: demtest.Proto(nil).Bytes(1, audio).Varint(2, 3)},
		demtest.Message{ID: 47, Data: append(demtest.Proto(nil).Bytes(1, audio), 0xff)},
		demtest.Message{ID: 22, Data: demtest.Proto(nil).Bytes(1, audio)},
		demtest.Message{ID: 72, Data: demtest.Proto(nil).Varint(1, 47).Bytes(2, demtest.Proto(nil).Bytes(1, audio))},
	)
	for _, reveal := range []bool{false, true} {
		s, _ := read(t, open(t, d.Bytes(), codec.Options{Secrets: codectest.Secrets(reveal)}), 10)
		var speech, marked int
		for _, ev := range s.list {
			if text, err := proto.Marshal(ev); err != nil || bytes.Contains(text, []byte("speech")) {
				speech++
			}
			if ev.GetVoice().GetRedacted() || ev.GetMessage().GetRedacted() {
				marked++
			}
			if v := ev.GetVoice(); v != nil && v.GetSize() != 6 {
				t.Errorf("%v", v)
			}
		}
		if want := map[bool][2]int{false: {0, 4}, true: {4, 0}}[reveal]; [2]int{speech, marked} != want {
			t.Errorf("revealed: %v: %d events with speech, %d marked, want %d", reveal, speech, marked, want)
		}
	}
}
