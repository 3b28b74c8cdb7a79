package teehistorian_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// number returns a function that writes a message without fields.
func number(n int32) func(*writer) { return func(w *writer) { w.int(n << 1) } }

// message decodes one message of client 0. The client joined with the given extension record, or with none.
func message(t *testing.T, joinver string, f func(*writer)) string {
	t.Helper()
	data := file(func(w *writer) {
		if joinver != "" {
			w.ex(joinver, func(w *writer) { w.int(0) })
		}
		w.join(0)
		w.message(0, f)
		w.finish()
	})
	lines, _ := events(data)
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, "0 message "); ok {
			return rest
		}
	}
	t.Fatalf("no message in %q", lines)
	return ""
}

func TestMessages(t *testing.T) {
	const six, seven = "teehistorian-joinver6@ddnet.tw", "teehistorian-joinver7@ddnet.tw"
	parts := func(w *writer) {
		w.text("b", "m", "d", "h", "f", "e")
		w.int(1, 0, 1, 0, 1, 0)
		w.int(1, 2, 3, 4, 5, -6)
	}
	partsText := `SkinParts:[{Name:"b" UseCustomColor:true Color:1 } {Name:"m" UseCustomColor:false Color:2 } ` +
		`{Name:"d" UseCustomColor:true Color:3 } {Name:"h" UseCustomColor:false Color:4 } ` +
		`{Name:"f" UseCustomColor:true Color:5 } {Name:"e" UseCustomColor:false Color:-6 } ] `
	info6 := func(w *writer) {
		w.text("name", "clan")
		w.int(-1)
		w.text("skin")
		w.int(1, 2, 3)
	}
	info6Text := `{Name:"name" Clan:"clan" Country:-1 Skin:{Name:"skin" UseCustomColor:true ColorBody:2 ColorFeet:3 } HasSkin:true SkinParts:[] }`
	info7 := func(w *writer) {
		w.text("name", "clan")
		w.int(276)
		parts(w)
	}
	info7Text := `{Name:"name" Clan:"clan" Country:276 Skin:{Name:"" UseCustomColor:false ColorBody:0 ColorFeet:0 } HasSkin:false ` + partsText + `}`

	for _, test := range []struct {
		joinver  string
		id       int32
		body     func(*writer)
		name     string
		protocol int
		content  string
	}{
		{six, 17, func(w *writer) { w.int(1); w.text("hi") }, "cl_say", 6, `{Mode:2 TargetClientId:-1 Text:"hi" }`},
		{six, 18, func(w *writer) { w.int(-1) }, "cl_set_team", 6, `{Team:-1 }`},
		{six, 19, func(w *writer) { w.int(-1) }, "cl_set_spectator_mode", 6, `{Mode:1 SpectatedClientId:-1 }`},
		{six, 19, func(w *writer) { w.int(5) }, "cl_set_spectator_mode", 6, `{Mode:2 SpectatedClientId:5 }`},
		{six, 20, info6, "cl_start_info", 6, info6Text},
		{six, 21, info6, "cl_change_info", 6, info6Text},
		{six, 22, func(*writer) {}, "cl_kill", 6, `{}`},
		{six, 23, func(w *writer) { w.int(15) }, "cl_emoticon", 6, `{Emoticon:15 }`},
		{six, 24, func(w *writer) { w.int(-1) }, "cl_vote", 6, `{Vote:-1 }`},
		{six, 25, func(w *writer) { w.text("kick", "3", "why") }, "cl_call_vote", 6, `{Type:"kick" Value:"3" Reason:"why" Force:false }`},
		{six, 26, func(*writer) {}, "cl_is_ddnet_legacy", 6, `{Version:0 }`},
		{six, 26, func(w *writer) { w.int(16040) }, "cl_is_ddnet_legacy", 6, `{Version:16040 }`},
		{six, 31, func(w *writer) { w.int(1) }, "cl_show_others_legacy", 6, `{Show:true }`},
		{seven, 24, func(w *writer) { w.int(3, 4); w.text("psst") }, "cl_say", 7, `{Mode:3 TargetClientId:4 Text:"psst" }`},
		{seven, 25, func(w *writer) { w.int(1) }, "cl_set_team", 7, `{Team:1 }`},
		{seven, 26, func(w *writer) { w.int(3, -1) }, "cl_set_spectator_mode", 7, `{Mode:4 SpectatedClientId:-1 }`},
		{seven, 26, func(w *writer) { w.int(4, -1) }, "cl_set_spectator_mode", 7, `{Mode:0 SpectatedClientId:-1 }`},
		{seven, 27, info7, "cl_start_info", 7, info7Text},
		{seven, 28, func(*writer) {}, "cl_kill", 7, `{}`},
		{seven, 29, func(*writer) {}, "cl_ready_change", 7, `{}`},
		{seven, 30, func(w *writer) { w.int(2) }, "cl_emoticon", 7, `{Emoticon:2 }`},
		{seven, 31, func(w *writer) { w.int(1) }, "cl_vote", 7, `{Vote:1 }`},
		{seven, 32, func(w *writer) { w.text("option", "x", ""); w.int(1) }, "cl_call_vote", 7, `{Type:"option" Value:"x" Reason:"" Force:true }`},
		{seven, 34, parts, "cl_skin_change", 7, `{` + partsText + `}`},
		{seven, 39, func(w *writer) { w.text("pause", "now") }, "cl_command", 7, `{Name:"pause" Arguments:"now" }`},
		// The client has not stated a protocol, so the one that fits is used.
		{"", 20, info6, "cl_start_info", 6, info6Text},
		{"", 27, info7, "cl_start_info", 7, info7Text},
		{"", 22, func(*writer) {}, "cl_kill", 6, `{}`},
		{"", 28, func(*writer) {}, "cl_kill", 7, `{}`},
		{"", 24, func(w *writer) { w.int(1, 2); w.text("x") }, "cl_say", 7, `{Mode:1 TargetClientId:2 Text:"x" }`},
		{"", 26, func(w *writer) { w.int(0, -1) }, "cl_set_spectator_mode", 7, `{Mode:1 SpectatedClientId:-1 }`},
	} {
		t.Run(fmt.Sprintf("%s %d %d", test.name, test.protocol, test.id), func(t *testing.T) {
			got := message(t, test.joinver, func(w *writer) { number(test.id)(w); test.body(w) })
			for _, want := range []string{
				"[] ", test.content + "ClientId:0", fmt.Sprintf("Protocol:%d MessageId:%d ", test.protocol, test.id),
				fmt.Sprintf("Name:%q ", test.name), `Error:""`,
			} {
				if !strings.Contains(got, want) {
					t.Errorf("got %s\nwithout %s", got, want)
				}
			}
		})
	}
}

func TestExtendedMessages(t *testing.T) {
	for _, test := range []struct {
		uuid, name string
		body       []int32
		content    string
	}{
		{"53bb28af-4252-3ac9-8fd3-6ccbc2a603e3", "cl_show_distance", []int32{1400, 800}, "{X:1400 Y:800 }"},
		{"7f264cdd-71a2-3962-bbce-0f94bbd81913", "cl_show_others", []int32{2}, "{Show:2 }"},
		{"8c470228-ee11-3808-93b9-c5c87d08b51c", "cl_camera_info", []int32{1000, 0, 50}, "{Zoom:1000 Deadzone:0 FollowFactor:50 }"},
		{"e19b66e8-0646-351b-aa03-d4aba7b9545f", "cl_enable_spectator_count", []int32{1}, "{Enable:true }"},
		{"00000000-0000-3000-8000-000000000000", "", []int32{1}, "0"},
	} {
		for _, joinver := range []string{"", "teehistorian-joinver6@ddnet.tw", "teehistorian-joinver7@ddnet.tw"} {
			got := message(t, joinver, func(w *writer) { w.int(0); w.uuid(test.uuid); w.int(test.body...) })
			for _, want := range []string{test.content + "ClientId:0", fmt.Sprintf("MessageId:0 Uuid:%q Name:%q", test.uuid, test.name)} {
				if !strings.Contains(got, want) {
					t.Errorf("got %s\nwithout %s", got, want)
				}
			}
		}
	}
}

// TestUnreadableMessages checks that an unreadable message is delivered raw, with the reason.
func TestUnreadableMessages(t *testing.T) {
	for _, test := range []struct {
		name string
		body func(*writer)
		want []string
	}{
		{"unknown", func(w *writer) { w.int(99<<1, 1) }, []string{`MessageId:99`, `Name:""`, `Error:""`, `Raw:"\x86\x03\x01"`}},
		{"of a mod", func(w *writer) {
			w.int(0)
			w.uuid(teehistorian.NameUUID("teehistorian-mod@example.org").String())
			w.int(1)
		},
			[]string{`Name:"teehistorian-mod@example.org"`, `Error:""`, `\x01"`}},
		{"no UUID", func(w *writer) { w.int(0, 1, 2) }, []string{`Error:"it ends inside its UUID"`}},
		{"cut", func(w *writer) { w.int(20 << 1); w.text("name"); w.b = append(w.b, "cl"...) }, []string{
			`Name:"cl_start_info"`, `Error:"it ends inside field 2"`, `Raw:"(name\x00cl"`, "} 0ClientId"[3:],
		}},
		{"more", func(w *writer) { w.int(22<<1, 5) }, []string{"[8] ", `Name:"cl_kill"`, `Error:""`}},
		{"odd", func(w *writer) { w.int(18 << 1); w.b = append(w.b, 0x81, 0x00) }, []string{"[5] ", "{Team:1 }"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := message(t, "teehistorian-joinver6@ddnet.tw", test.body)
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("got %s\nwithout %s", got, want)
				}
			}
		})
	}
}

// TestProtocolOfClient checks that the protocol holds until the client leaves. If no record states it, the first
// message determines it.
func TestProtocolOfClient(t *testing.T) {
	start7 := func(w *writer) {
		w.int(27 << 1)
		w.text("name", "clan")
		w.int(0)
		w.text("", "", "", "", "", "")
		for range 12 {
			w.int(0)
		}
	}
	ambiguous := number(31) // show_others_legacy or vote, with an int
	body := func(w *writer) { ambiguous(w); w.int(1) }
	data := oldFile(func(w *writer) {
		w.join(0)
		w.message(0, body)
		w.message(0, start7)
		w.message(0, body)
		w.drop(0, "")
		w.message(0, body)
		w.ex("teehistorian-joinver7@ddnet.tw", func(w *writer) { w.int(0) })
		w.join(0)
		w.message(0, body)
		w.ex("teehistorian-rejoinver6@ddnet.org", func(w *writer) { w.int(0) })
		w.message(0, body)
	})
	d := decode(data, nil)
	var names []string
	var ev teehistorian.Event
	for d.Next(&ev) == nil {
		if ev.Kind == teehistorian.KindMessage {
			names = append(names, string(ev.Message.Name))
		}
	}
	want := "cl_show_others_legacy cl_start_info cl_vote cl_show_others_legacy cl_vote cl_show_others_legacy"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
