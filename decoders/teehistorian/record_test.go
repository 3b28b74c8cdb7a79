package teehistorian_test

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// events decodes a file and returns its events as text, one line each.
func events(data []byte) ([]string, error) {
	d := decode(data, nil)
	var lines []string
	var ev teehistorian.Event
	for {
		err := d.Next(&ev)
		if errors.Is(err, decoders.ErrMore) {
			err = d.Close()
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, describe(&ev))
	}
}

// TestRecords decodes single records, given in bytes, each in its own file.
func TestRecords(t *testing.T) {
	for _, test := range []struct {
		name, records string
		want          []string
	}{
		{"a file with only a finish record", "\x40", []string{"0 finish [] {}"}},
		{"a tick", "\x41\x00\x40", []string{"1 tick [] {Skipped:0 Implicit:false }", "1 finish [] {}"}},
		{"a skip", "\x41\xb3\x07\x40", []string{"500 tick [] {Skipped:499 Implicit:false }", "500 finish [] {}"}},
		{"a player record first begins tick 1", "\x47\x00\x42\x00\x01\x02\x40", []string{
			"0 join [] {ClientId:0 }", "1 tick [] {Skipped:0 Implicit:true }", "1 player_new [] {ClientId:0 X:1 Y:2 }",
			"1 finish [] {}",
		}},
		{"a skip begins the ids anew", "\x47\x01\x42\x01\x01\x02\x41\x00\x01\x01\x01\x01\x00\x00\x40", []string{
			"0 join [] {ClientId:1 }", "1 tick [] {Skipped:0 Implicit:true }", "1 player_new [] {ClientId:1 X:1 Y:2 }",
			"2 tick [] {Skipped:0 Implicit:false }", "2 player_diff [] {ClientId:1 Dx:1 Dy:1 X:2 Y:3 }",
			"3 tick [] {Skipped:0 Implicit:true }", "3 player_diff [] {ClientId:1 Dx:0 Dy:0 X:2 Y:3 }", "3 finish [] {}",
		}},
		{"a position wraps", "\x47\x00\x42\x00\xbf\xff\xff\xff\x0f\xff\xff\xff\xff\x0f\x00\x01\x40\x40", []string{
			"0 join [] {ClientId:0 }", "1 tick [] {Skipped:0 Implicit:true }",
			"1 player_new [] {ClientId:0 X:2147483647 Y:-2147483648 }", "2 tick [] {Skipped:0 Implicit:true }",
			"2 player_diff [] {ClientId:0 Dx:1 Dy:-1 X:-2147483648 Y:2147483647 }", "2 finish [] {}",
		}},
		{"a character appears and disappears", "\x47\x00\x42\x00\x01\x02\x43\x00\x40", []string{
			"0 join [] {ClientId:0 }", "1 tick [] {Skipped:0 Implicit:true }", "1 player_new [] {ClientId:0 X:1 Y:2 }",
			"2 tick [] {Skipped:0 Implicit:true }", "2 player_old [] {ClientId:0 X:1 Y:2 }", "2 finish [] {}",
		}},
		{"a drop", "\x47\x03\x48\x03bye\x00\x40", []string{
			"0 join [] {ClientId:3 }", `0 drop [] {ClientId:3 Reason:"bye" ReclaimedClientId:-1 }`, "0 finish [] {}",
		}},
		{"a command", "\x49\x40\x04cmd\x00\x02a\x00b c\x00\x40", []string{
			`0 console_command [] {ClientId:-1 Flags:4 Command:"cmd" Arguments:["a" "b c" ] Redacted:false }`,
			"0 finish [] {}",
		}},
		{"a command without a client", "\x49\xff\xff\xff\xff\x0f\x80\x02cmd\x00\x00\x40", []string{
			`0 console_command [] {ClientId:-2147483648 Flags:128 Command:"cmd" Arguments:[] Redacted:false }`,
			"0 finish [] {}",
		}},
		{"an unknown extension",
			"\x4a" + uuidBytes("teehistorian-mod@example.org") + "\x02ab" + "\x4a0123456789abcdef\x00" + "\x40", []string{
				`0 unknown_ex [] {Uuid:"d2bd7ecc-6f93-389c-9a2b-c8be7b7bd4b6" Name:"teehistorian-mod@example.org" Data:"ab" Error:"" Redacted:false }`,
				`0 unknown_ex [] {Uuid:"30313233-3435-3637-3839-616263646566" Name:"" Data:"" Error:"" Redacted:false }`,
				"0 finish [] {}",
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if strings.Contains(test.want[0], "d2bd7ecc") { // computed
				test.want[0] = strings.Replace(test.want[0], "d2bd7ecc-6f93-389c-9a2b-c8be7b7bd4b6",
					teehistorian.NameUUID("teehistorian-mod@example.org").String(), 1)
			}
			got, err := events([]byte(string(file(func(*writer) {})) + test.records))
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func uuidBytes(name string) string {
	u := teehistorian.NameUUID(name)
	return string(u[:])
}

// TestWarnings decodes files that contradict themselves, or that servers do not write.
func TestWarnings(t *testing.T) {
	for _, test := range []struct {
		name  string
		write func(w *writer)
		want  string // one of the events
	}{
		{"move without a character", func(w *writer) { w.join(0); w.begin(1); w.playerDiff(0, 3, 4) },
			"1 player_diff [1] {ClientId:0 Dx:3 Dy:4 X:3 Y:4 }"},
		{"end without a character", func(w *writer) { w.join(0); w.begin(1); w.playerOld(0) },
			"1 player_old [1] {ClientId:0 X:0 Y:0 }"},
		{"already alive", func(w *writer) {
			w.join(0)
			w.begin(1)
			w.playerNew(0, 1, 2)
			w.begin(2)
			w.playerNew(0, 3, 4)
		}, "2 player_new [2] {ClientId:0 X:3 Y:4 }"},
		{"input without a previous one", func(w *writer) { w.join(0); w.input(-5, 0, [10]int32{7}) },
			"0 input_diff [3] {ClientId:0 Input:{Direction:7 TargetX:0 TargetY:0 Jump:0 Fire:0 Hook:0 PlayerFlags:0 " +
				"WantedWeapon:0 NextWeapon:0 PrevWeapon:0 } HasInput:true Diff:{Direction:7 TargetX:0 TargetY:0 Jump:0 Fire:0 " +
				"Hook:0 PlayerFlags:0 WantedWeapon:0 NextWeapon:0 PrevWeapon:0 } HasDiff:true }"},
		{"never joined", func(w *writer) { w.drop(5, "") }, `0 drop [4] {ClientId:5 Reason:"" ReclaimedClientId:-1 }`},
		{"never joined, alone", func(w *writer) {
			w.drop(5, "")
			w.drop(5, "again")
		}, `0 drop [] {ClientId:5 Reason:"again" ReclaimedClientId:-1 }`},
		{"never joined, by an extension", func(w *writer) {
			w.ex("teehistorian-player-swap@ddnet.tw", func(w *writer) { w.int(1, 2) })
		}, "0 player_swap [4] {ClientId:1 OtherClientId:2 }"},
		{"long integer", func(w *writer) { w.b = append(w.b, 0x41, 0x81, 0x00) }, "2 tick [5] {Skipped:1 Implicit:false }"},
		{"padded integer", func(w *writer) { w.b = append(w.b, 0x47, 0x80, 0x80, 0x80, 0x80, 0xf0) }, "0 join [5] {ClientId:0 }"},
		{"padded move, on the fast path", func(w *writer) {
			w.join(0)
			w.begin(1)
			w.playerNew(0, 1, 2)
			w.b = append(w.b, "\x00\x83\x00\x01"+strings.Repeat("\x00\x00\x00", 100)...)
		}, "2 player_diff [5] {ClientId:0 Dx:3 Dy:1 X:4 Y:3 }"},
		{"padded input, on the fast path", func(w *writer) {
			w.join(0)
			w.input(-6, 0, [10]int32{})
			w.b = append(w.b, "\x44\x00\x83\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"+strings.Repeat("\x47\x00", 100)...)
		}, "0 input_diff [5] {ClientId:0 Input:{Direction:3 TargetX:1 TargetY:0 Jump:0 Fire:0 Hook:0 PlayerFlags:0 " +
			"WantedWeapon:0 NextWeapon:0 PrevWeapon:0 } HasInput:true Diff:{Direction:3 TargetX:1 TargetY:0 Jump:0 Fire:0 " +
			"Hook:0 PlayerFlags:0 WantedWeapon:0 NextWeapon:0 PrevWeapon:0 } HasDiff:true }"},
		{"overflow", func(w *writer) { w.int(-2, math.MaxInt32) }, "-2147483648 tick [6] {Skipped:2147483647 Implicit:false }"},
		{"overflow, implied", func(w *writer) {
			w.join(0)
			w.int(-2, math.MaxInt32-1)
			w.int(-3, 0, 1, 2)
			w.int(0, 1, 1)
		}, "-2147483648 tick [6] {Skipped:0 Implicit:true }"},
		{"overflow, on the fast path", func(w *writer) {
			w.join(0)
			w.int(-2, math.MaxInt32-1)
			w.int(-3, 0, 1, 2)
			w.b = append(w.b, strings.Repeat("\x00\x00\x00", 100)...)
		}, "-2147483648 tick [6] {Skipped:0 Implicit:true }"},
		{"backward", func(w *writer) { w.int(-2, 9, -2, -4) }, "7 tick [7] {Skipped:-4 Implicit:false }"},
		{"negative count", func(w *writer) {
			w.int(-10, -1, 4)
			w.text("x")
			w.int(-3)
		}, `0 console_command [11] {ClientId:-1 Flags:4 Command:"x" Arguments:[] Redacted:false }`},
		{"extension with trailing data", func(w *writer) {
			w.ex("teehistorian-save-failure@ddnet.tw", func(w *writer) { w.int(3, 4) })
		}, "0 save_failure [8] {Team:3 }"},
		{"after the end", func(w *writer) { w.finish(); w.finish() }, "0 finish [10] {}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := file(test.write)
			got, _ := events(data)
			if !slices.Contains(got, test.want) {
				t.Errorf("got\n%s\nwithout %s", strings.Join(got, "\n"), test.want)
			}
		})
	}
}

// TestErrors decodes files that end decoding with an error.
func TestErrors(t *testing.T) {
	header := len(file(func(*writer) {}))
	for _, test := range []struct {
		name  string
		write func(w *writer)
		kind  error
		after int // bytes of whole records before the invalid one
		text  string
	}{
		{"no end", func(w *writer) { w.join(0) }, decoders.ErrTruncated, 2, "the file ends between two records"},
		{"no records", func(*writer) {}, decoders.ErrTruncated, 0, "finish at byte"},
		{"torn", func(w *writer) { w.join(0); w.b = append(w.b, 0x42, 1) }, decoders.ErrTruncated, 2, "player_new at byte"},
		{"torn id", func(w *writer) { w.b = append(w.b, 0x80) }, decoders.ErrTruncated, 0, "record at byte"},
		{"unknown id", func(w *writer) { w.join(0); w.int(-12) }, decoders.ErrCorrupt, 2, "there is no record with id -12"},
		{"lowest id", func(w *writer) { w.int(math.MinInt32) }, decoders.ErrCorrupt, 0, "there is no record with id -2147483648"},
		{"negative size", func(w *writer) { w.int(-7, 0, -1) }, decoders.ErrCorrupt, 0, "a size of -1 bytes"},
		{"size", func(w *writer) { w.int(-7, 0, teehistorian.MaxRecord+1) }, decoders.ErrLimit, 0, "a size of 196609 bytes"},
		{"extension's size", func(w *writer) { w.int(-11); w.uuid(magicUUID); w.int(math.MaxInt32) }, decoders.ErrLimit, 0, "ex at byte"},
		{"negative client", func(w *writer) { w.int(-3, -1, 2, 3) }, decoders.ErrCorrupt, 0, "client id -1"},
		{"client", func(w *writer) { w.int(-8, teehistorian.MaxClients) }, decoders.ErrLimit, 0, "client id 1024"},
		{"client of a move", func(w *writer) { w.int(1_000_000, 2, 3) }, decoders.ErrLimit, 0, "player_diff at byte"},
		{"client of an input", func(w *writer) { w.input(-6, 2000, [10]int32{}) }, decoders.ErrLimit, 0, "input_new"},
		{"client of a command", func(w *writer) { w.command(1024, 4, "x") }, decoders.ErrLimit, 0, "console_command"},
		{"client of a message", func(w *writer) { w.message(-7, func(*writer) {}) }, decoders.ErrCorrupt, 0, "message"},
		{"arguments", func(w *writer) { w.int(-10, 0, 4); w.text("x"); w.int(5000) }, decoders.ErrLimit, 0, "5000 arguments"},
		{"endless reason", func(w *writer) {
			w.int(-9, 0)
			w.b = append(w.b, strings.Repeat("x", teehistorian.MaxRecord)...)
		}, decoders.ErrLimit, 0, "drop at byte"},
		{"long reason", func(w *writer) { w.drop(0, strings.Repeat("x", teehistorian.MaxRecord)) }, decoders.ErrLimit, 0, "longer than"},
		{"long arguments", func(w *writer) {
			w.command(0, 4, "x", strings.Repeat("y", teehistorian.MaxRecord/2), strings.Repeat("y", teehistorian.MaxRecord/2))
		}, decoders.ErrLimit, 0, "console_command at byte"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := file(test.write)
			for _, chunk := range []int{1, 1 << 20} {
				d := decode(data, func(r io.Reader) io.Reader { return pieces{r, chunk} })
				var ev teehistorian.Event
				var err error
				for err == nil {
					err = d.Next(&ev)
				}
				if errors.Is(err, decoders.ErrMore) {
					err = d.Close()
				}
				var failure *decoders.Error
				if !errors.As(err, &failure) || !errors.Is(err, test.kind) {
					t.Fatalf("%v", err)
				}
				if failure.Offset != int64(header+test.after) || !strings.Contains(err.Error(), test.text) {
					t.Errorf("%v; want it at byte %d, with %q", err, header+test.after, test.text)
				}
				if again := d.Next(&ev); !errors.Is(again, err) {
					t.Errorf("then: %v", again)
				}
			}
		})
	}
}
