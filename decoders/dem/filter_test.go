package dem_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// texts decodes data and returns the texts of the events that keep wants.
func texts(t *testing.T, data []byte, opts dem.Options, keep func(*dem.Event) bool) ([]string, *dem.Decoder) {
	t.Helper()
	var out []string
	d := decode(t, data, opts, func(d *dem.Decoder, ev *dem.Event) {
		if keep == nil || keep(ev) {
			out = append(out, eventText(d, ev))
		}
	})
	return out, d
}

func isEntity(k dem.Kind) bool { return k >= dem.KindEntityUpdated && k <= dem.KindEntityDeleted }

func classOf(ev *dem.Event) uint32 {
	switch ev.Kind {
	case dem.KindEntityUpdated:
		return ev.EntityUpdated.Class
	case dem.KindEntityCreated:
		return ev.EntityCreated.Class
	case dem.KindEntityEntered:
		return ev.EntityEntered.Class
	case dem.KindEntityLeft:
		return ev.EntityLeft.Class
	}
	return ev.EntityDeleted.Class
}

// TestFilters: a filter changes nothing in what it lets through.
func TestFilters(t *testing.T) {
	for name, data := range someSource2(t) {
		t.Run(name, func(t *testing.T) {
			class := "CCSPlayerPawn"
			if strings.HasPrefix(name, "auto") {
				class = "CDOTA_Unit_Hero_Lina"
			} else if strings.HasPrefix(name, "dead") {
				class = "CCitadelPlayerPawn"
			}
			want, d0 := texts(t, data, dem.Options{}, nil)
			var entities, rest []string
			i := 0
			decode(t, data, dem.Options{}, func(d *dem.Decoder, ev *dem.Event) {
				if isEntity(ev.Kind) {
					if d.Name(classOf(ev)) == class {
						entities = append(entities, want[i])
					}
				} else {
					rest = append(rest, want[i])
				}
				i++
			})
			if len(entities) == 0 {
				t.Fatalf("no entity of class %s", class)
			}
			got, d := texts(t, data, dem.Options{Kinds: isEntity, Classes: func(c string) bool { return c == class }}, nil)
			if !reflect.DeepEqual(got, entities) {
				t.Errorf("class filter: %d events, want %d", len(got), len(entities))
			}
			if s := d.Stats(); s.EntitySkips == 0 || s.EntitySkips+s.EntityUpdates != d0.Stats().EntityUpdates {
				t.Errorf("class filter: %+v", s)
			}
			got, d = texts(t, data, dem.Options{Kinds: func(k dem.Kind) bool {
				return !isEntity(k) && k != dem.KindTick && k != dem.KindFault && k != dem.KindSamplePlayer && !isFact(k)
			}}, nil)
			var quiet []string
			for _, s := range rest {
				if !strings.Contains(s, " tick ") && !strings.Contains(s, " fault ") {
					quiet = append(quiet, s)
				}
			}
			if !reflect.DeepEqual(got, quiet) {
				t.Errorf("without entities: %d events, want %d", len(got), len(quiet))
			}
			// Dota's clock, which chat and combat log are dated by, is an entity.
			if s := d.Stats(); s.EntityUpdates+s.EntitySkips != 0 && !strings.HasPrefix(name, "auto") {
				t.Errorf("without entities: %+v", s)
			}
			field := "CBodyComponent.m_vecX"
			fields := 0
			decode(t, data, dem.Options{
				Kinds:  func(k dem.Kind) bool { return k == dem.KindEntityUpdated },
				Fields: func(_, f string) bool { return f == field },
			}, func(d *dem.Decoder, ev *dem.Event) {
				if f := ev.EntityUpdated.Fields; d.Narrowed() && (len(f) != 1 || d.Name(f[0].Field) != field) {
					t.Fatalf("fields %v", f)
				}
				fields += len(ev.EntityUpdated.Fields)
			})
			n := 0
			for _, s := range want {
				if strings.Contains(s, " entity_updated ") && strings.Contains(s, " "+field+"=") {
					n++
				}
			}
			if fields != n {
				t.Errorf("field filter: %d updates, want %d", fields, n)
			}
		})
	}
}

// TestWithoutSizes decodes a file from which the sizes of updates were removed: the events are the same.
func TestWithoutSizes(t *testing.T) {
	for name, data := range source2(t) {
		if len(data) > 700_000 {
			continue // the others will do
		}
		changed, err := demtest.Rewrite(data, func(command uint32, payload []byte) []byte {
			if command != demtest.CmdPacket {
				return nil
			}
			messages := demtest.Messages(payload)
			for i, m := range messages {
				if m.ID == 55 {
					messages[i].Data = demtest.Without(m.Data, 13)
				}
			}
			return demtest.PackMessages(messages...)
		})
		if err != nil {
			t.Fatal(err)
		}
		want, _ := texts(t, data, dem.Options{}, func(ev *dem.Event) bool { return ev.Kind != dem.KindKeyFrame })
		got, d := texts(t, changed, dem.Options{}, func(ev *dem.Event) bool { return ev.Kind != dem.KindKeyFrame })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d events, want %d; %+v", name, len(got), len(want), d.Stats())
		}
		// Nor can classes be skipped then, but the filter holds.
		opts := dem.Options{Classes: func(c string) bool { return c == "CCSPlayerPawn" || c == "CDOTA_Unit_Hero_Lina" }}
		want, _ = texts(t, data, opts, func(ev *dem.Event) bool { return isEntity(ev.Kind) })
		got, _ = texts(t, changed, opts, func(ev *dem.Event) bool { return isEntity(ev.Kind) })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s, filtered: %d events, want %d", name, len(got), len(want))
		}
	}
}

// TestSeekTick starts at ticks of a long file with key frames: what is delivered is the rest.
func TestSeekTick(t *testing.T) {
	for _, name := range []string{"demofile-net/14160.dem", "demofile-net/deadlock_hltv_10423.dem"} {
		data := readCorpus(t, name)
		long, err := demtest.Repeat(data, 3*len(data))
		if err != nil {
			t.Fatal(err)
		}
		x, keyFrames := indexOf(t, long)
		if len(keyFrames) == 0 || !x.Finished || x.End != int64(len(long)) {
			t.Fatalf("%d key frames, index: %+v", len(keyFrames), x)
		}
		var ticks []int32 // of all events
		all, _ := texts(t, long, dem.Options{}, func(ev *dem.Event) bool {
			ticks = append(ticks, ev.AtTick)
			return true
		})
		for _, tick := range []int32{0, 1, x.LastTick / 2, x.LastTick} {
			want := all[slices.IndexFunc(ticks, func(at int32) bool { return at >= tick }):]
			got := textsFrom(t, long, dem.Options{}, func(d *dem.Decoder) error { return d.SeekTick(tick) })
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s from tick %d: %d events, want %d", name, tick, len(got), len(want))
			}
		}
	}
}

// TestAllocations: once a decoder knows its file's fields, updates cost next to no allocation.
func TestAllocations(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // the heap is measured
	data := readCorpus(t, autoDem)
	long, err := demtest.Repeat(data, 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	d := dem.New(bytes.NewReader(long), dem.Options{})
	var ev dem.Event
	for d.Tick() < 800 {
		if err := d.Next(&ev); err != nil {
			t.Fatal(err)
		}
	}
	before := d.Stats().EntityUpdates
	events := 0
	allocs := testing.AllocsPerRun(1, func() {
		for {
			if err := d.Next(&ev); err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				break
			}
			events++
		}
	})
	updates := d.Stats().EntityUpdates - before
	t.Logf("%.0f allocations for %d updates, %d events", allocs, updates, events)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if heap := int64(m.HeapAlloc) - 2*int64(len(long)); heap > 64<<20 {
		t.Errorf("a heap of %d MB", heap>>20)
	}
	// AllocsPerRun runs twice, the second time at the end of the file; both count.
	if updates < 100_000 || 2*allocs > 0.05*float64(updates) {
		t.Errorf("%.0f allocations for %d updates", allocs, updates)
	}
}

// TestMessageAllocations: events of messages cost no allocation each.
func TestMessageAllocations(t *testing.T) {
	for name, sample := range map[string][]byte{"dota": demtest.Match(), "cs2": demtest.Round()} {
		data, err := demtest.Repeat(sample, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		d := dem.New(bytes.NewReader(data), dem.Options{Kinds: func(k dem.Kind) bool { // of facts texts are remembered
			return k >= dem.KindChat && k != dem.KindModifier && !strings.HasPrefix(k.String(), "fact_")
		}})
		var ev dem.Event
		events := 0
		read := func() {
			for range 1000 {
				if err := d.Next(&ev); err != nil {
					t.Fatal(err)
				}
				events++
			}
		}
		read()
		if allocs := testing.AllocsPerRun(1, read); allocs > 100 {
			t.Errorf("%s: %.0f allocations for 1000 events", name, allocs)
		}
	}
}
