package dem_test

import (
	"testing"

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
