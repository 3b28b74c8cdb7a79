package teehistorian_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// reference holds the figures that an independent decoder found in a file.
type reference struct {
	Bytes     int64
	Map       string
	GameUUID  string `json:"game_uuid"`
	Counts    map[string]int
	Ex        map[string]int
	LastTick  int32 `json:"last_tick"`
	Finished  bool
	EndOffset int64 `json:"end_offset"`
	Positions map[string][2]int32
	Inputs    map[string][10]int32
}

// references returns the figures of all files of the corpus, by their paths in it.
func references(tb testing.TB) map[string]reference {
	tb.Helper()
	var all map[string]reference
	decodertest.Reference(tb, "teehistorian.json", &all)
	return all
}

// corpusFile returns the bytes of a file of the corpus.
func corpusFile(tb testing.TB, name string) []byte {
	tb.Helper()
	data := decodertest.Read(tb, "corpus", filepath.FromSlash(name))
	return data
}

// decode returns a decoder of data. It reads through src, or directly when src is nil.
func decode(data []byte, src func(io.Reader) io.Reader) *teehistorian.Decoder {
	var r io.Reader = bytes.NewReader(data)
	if src != nil {
		r = src(r)
	}
	return teehistorian.New(r, teehistorian.Options{})
}

// extensionNames maps kinds to names of extension records.
var extensionNames = map[teehistorian.Kind]string{
	teehistorian.KindTest:         "teehistorian-test@ddnet.tw",
	teehistorian.KindAuthInit:     "teehistorian-auth-init@ddnet.tw",
	teehistorian.KindAuthLogin:    "teehistorian-auth-login@ddnet.tw",
	teehistorian.KindAuthLogout:   "teehistorian-auth-logout@ddnet.tw",
	teehistorian.KindDdnetverOld:  "teehistorian-ddnetver-old@ddnet.tw",
	teehistorian.KindDdnetver:     "teehistorian-ddnetver@ddnet.tw",
	teehistorian.KindJoinver6:     "teehistorian-joinver6@ddnet.tw",
	teehistorian.KindJoinver7:     "teehistorian-joinver7@ddnet.tw",
	teehistorian.KindSaveSuccess:  "teehistorian-save-success@ddnet.tw",
	teehistorian.KindSaveFailure:  "teehistorian-save-failure@ddnet.tw",
	teehistorian.KindLoadSuccess:  "teehistorian-load-success@ddnet.tw",
	teehistorian.KindLoadFailure:  "teehistorian-load-failure@ddnet.tw",
	teehistorian.KindPlayerTeam:   "teehistorian-player-team@ddnet.tw",
	teehistorian.KindTeamPractice: "teehistorian-team-practice@ddnet.tw",
	teehistorian.KindPlayerReady:  "teehistorian-player-ready@ddnet.tw",
	teehistorian.KindPlayerSwap:   "teehistorian-player-swap@ddnet.tw",
	teehistorian.KindRejoinver6:   "teehistorian-rejoinver6@ddnet.org",
	teehistorian.KindAntibot:      "teehistorian-antibot@ddnet.org",
	teehistorian.KindPlayerName:   "teehistorian-player-name@ddnet.org",
	teehistorian.KindPlayerFinish: "teehistorian-player-finish@ddnet.org",
	teehistorian.KindTeamFinish:   "teehistorian-team-finish@ddnet.org",
}

func TestReference(t *testing.T) {
	for name, want := range references(t) {
		t.Run(name, func(t *testing.T) {
			d := decode(corpusFile(t, name), nil)
			h, err := d.Header()
			if err != nil {
				t.Fatal(err)
			}
			got := reference{
				Bytes: want.Bytes, Map: h.MapName, GameUUID: h.GameUUID, Counts: map[string]int{}, Ex: map[string]int{},
				Positions: map[string][2]int32{}, Inputs: map[string][10]int32{},
			}
			warnings := map[teehistorian.Warning]int{}
			var ev teehistorian.Event
			for {
				if err = d.Next(&ev); err != nil {
					break
				}
				for _, w := range ev.Warnings {
					warnings[w]++
				}
				kind := ev.Kind.String()
				if ev.Kind == teehistorian.KindTick {
					if ev.Tick.Implicit {
						continue
					}
					kind = "tick_skip"
				}
				if ex, ok := extensionNames[ev.Kind]; ok {
					if len(ev.AuthLogin.Role) > 0 && ev.Kind == teehistorian.KindAuthLogin {
						ex = "teehistorian-auth-login-role@ddnet.org"
					}
					got.Ex[ex]++
					kind = "ex"
				}
				if ev.Kind == teehistorian.KindMessage && ev.Message.ContentCase == teehistorian.MessageContentNone {
					t.Errorf("unread message % x: %s", ev.Message.Raw, ev.Message.Error)
				}
				got.Counts[kind]++
			}
			got.Finished = errors.Is(err, io.EOF)
			got.LastTick = d.Tick()
			got.EndOffset = d.Position().Offset
			for id, c := range d.State().Clients() {
				key := strconv.Itoa(int(id))
				if c.Alive {
					got.Positions[key] = [2]int32{c.X, c.Y}
				}
				if in := c.Input; c.HasInput {
					got.Inputs[key] = [10]int32{
						in.Direction, in.TargetX, in.TargetY, in.Jump, in.Fire, in.Hook,
						in.PlayerFlags, in.WantedWeapon, in.NextWeapon, in.PrevWeapon,
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("differs from the reference (-want +got):\n%s", diff)
			}
			if want.Finished != errors.Is(err, io.EOF) || !want.Finished && !errors.Is(err, decoders.ErrMore) {
				t.Errorf("ended by %v", err)
			}
			// Servers before 17.3 do not write JOIN for clients that are carried over a map change. There must be no
			// other warning.
			maps.DeleteFunc(warnings, func(w teehistorian.Warning, _ int) bool {
				return w == teehistorian.WarningClientNeverJoined && h.VersionMinor < 5
			})
			if len(warnings) > 0 {
				t.Errorf("warnings: %v", warnings)
			}
		})
	}
}
