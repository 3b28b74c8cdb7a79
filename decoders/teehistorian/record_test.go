package teehistorian_test

import (
	"errors"
	"io"
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
		{"a skip begins the ids anew", "\x47\x01\x42\x01\x01\x02\x41\x00\x01\x01\x01\x01\x00\x01\x40", []string{
			"0 join [] {ClientId:1 }", "1 tick [] {Skipped:0 Implicit:true }", "1 player_new [] {ClientId:1 X:1 Y:2 }",
			"2 tick [] {Skipped:0 Implicit:false }", "2 player_diff [] {ClientId:1 Dx:1 Dy:1 X:2 Y:3 }",
			"3 tick [] {Skipped:0 Implicit:true }", "3 player_diff [] {ClientId:1 Dx:0 Dy:1 X:2 Y:4 }", "3 finish [] {}",
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
		{"a command without a client", "\x49\x42\x80\x02cmd\x00\x00\x40", []string{
			`0 console_command [] {ClientId:-3 Flags:128 Command:"cmd" Arguments:[] Redacted:false }`,
			"0 finish [] {}",
		}},
		{"an unknown extension",
			"\x4a" + uuidBytes("teehistorian-mod@example.org") + "\x02ab" + "\x40", []string{
				`0 unknown_ex [] {Uuid:"d2bd7ecc-6f93-389c-9a2b-c8be7b7bd4b6" Name:"teehistorian-mod@example.org" Data:"ab" Error:"" Redacted:false }`,
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

// TestWarnings decodes files that contradict themselves and are sound.
func TestWarnings(t *testing.T) {
	for _, test := range []struct {
		name  string
		write func(w *writer)
		want  string // one of the events
	}{
		{"never joined", func(w *writer) { w.drop(5, "") }, `0 drop [4] {ClientId:5 Reason:"" ReclaimedClientId:-1 }`},
		{"never joined, alone", func(w *writer) {
			w.drop(5, "")
			w.drop(5, "again")
		}, `0 drop [] {ClientId:5 Reason:"again" ReclaimedClientId:-1 }`},
		{"never joined, by an extension", func(w *writer) {
			w.ex("teehistorian-player-swap@ddnet.tw", func(w *writer) { w.int(1, 2) })
		}, "0 player_swap [4] {ClientId:1 OtherClientId:2 }"},
		{"extension with trailing data", func(w *writer) {
			w.ex("teehistorian-save-failure@ddnet.tw", func(w *writer) { w.int(3, 4) })
		}, "0 save_failure [8] {Team:3 }"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := oldFile(test.write)
			got, _ := events(data)
			if !slices.Contains(got, test.want) {
				t.Errorf("got\n%s\nwithout %s", strings.Join(got, "\n"), test.want)
			}
		})
	}
}

// TestTorn decodes files that end inside a record, or without an end.
func TestTorn(t *testing.T) {
	header := len(file(func(*writer) {}))
	for _, test := range []struct {
		name  string
		write func(w *writer)
		after int // bytes of whole records before the invalid one
		text  string
	}{
		{"no end", func(w *writer) { w.join(0) }, 2, "the file ends between two records"},
		{"no records", func(*writer) {}, 0, "finish at byte"},
		{"torn", func(w *writer) { w.join(0); w.b = append(w.b, 0x42, 1) }, 2, "player_new at byte"},
		{"torn id", func(w *writer) { w.b = append(w.b, 0x80) }, 0, "record at byte"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := file(test.write)
			for _, chunk := range []int{1, 1 << 20} {
				d := decode(data, func(r io.Reader) io.Reader { return pieces{r, chunk} })
				_, err := all(d)
				if errors.Is(err, decoders.ErrMore) {
					err = d.Close()
				}
				var failure *decoders.Error
				if !errors.As(err, &failure) || !errors.Is(err, decoders.ErrTruncated) {
					t.Fatalf("%v", err)
				}
				if failure.Offset != int64(header+test.after) || !strings.Contains(err.Error(), test.text) {
					t.Errorf("%v; want it at byte %d, with %q", err, header+test.after, test.text)
				}
				var ev teehistorian.Event
				if again := d.Next(&ev); !errors.Is(again, err) {
					t.Errorf("then: %v", again)
				}
			}
		})
	}
}
