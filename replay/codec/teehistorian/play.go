package teehistorian

import (
	"errors"
	"fmt"
	"io"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/tiles"
)

// The places of samples in a tick: the clients, the characters, and what flies.
const (
	placeCharacters = teehistorian.MaxClients
	placeShots      = 2 * teehistorian.MaxClients
)

// maxMap is the most memory that a map may hold.
const maxMap = 256 << 20

// refusal is the error of a request for what needs the map. It is codec.ErrNoMap, too.
type refusal struct{ *filter.FieldError }

func (r refusal) Unwrap() error { return r.FieldError }

func (refusal) Is(target error) bool { return target == codec.ErrNoMap }

// play opens the map of the replay and plays the game on it, if the filter asks for what follows from that.
func (r *reader) play(replay *replaydv1.Replay) error {
	if !r.Filter.Map() {
		return nil
	}
	wants := func(kind teehistorian.Kind) bool { return r.Filter.Kind(uint8(kind)) }
	kind := teehistorian.KindSampleCharacter
	for !properties[kind].Map || !wants(kind) {
		if kind++; int(kind) == len(properties) {
			return nil
		}
	}
	refused := func(why string) error {
		return refusal{&filter.FieldError{Field: "include", Problem: fmt.Sprintf("%s needs the map of the game, %s%s: %s",
			Kinds[kind], replay.GetMapName(), digest(r.header), why)}}
	}
	if err := physics.Supports(r.header); err != nil {
		return refused(err.Error())
	}
	if r.Map == nil {
		return refused("there are no maps for this replay")
	}
	var m *physics.Map
	err := r.Map(replay, func(file io.ReaderAt, size int64) (err error) {
		if m, err = tiles.Open(file, size); err == nil && m.Held() > maxMap {
			err = fmt.Errorf("%w: it is too large", physics.ErrMap)
		}
		return err
	})
	switch {
	case errors.Is(err, codec.ErrNoMap):
		return refused("no file that can be read is it")
	case err != nil:
		return refused(err.Error())
	}
	r.world = physics.New(r.header, m, func(*physics.Result) {})
	r.Passed = func(ev *teehistorian.Event) {
		if r.world.Apply(ev); ev.Kind == teehistorian.KindTick {
			r.checkpoint() // in between the world has none
		}
	}
	switch {
	case wants(teehistorian.KindSampleShot):
		r.Places = func() int { return placeShots + physics.MaxShots }
	case wants(teehistorian.KindSampleCharacter):
		r.Places = func() int { return placeShots }
	}
	if r.Concludes = r.Filter.Facts(); r.Concludes {
		r.world.Tell()
	}
	return nil
}

// digest returns the SHA-256 of a game's map for a text.
func digest(h *teehistorian.Header) string {
	if h.MapSHA256 == "" {
		return ""
	}
	return ", SHA-256 " + h.MapSHA256
}

// samplePlayed sets ev to the sample of a place behind those of clients, and returns false if there is none.
func (r *reader) samplePlayed(tick int32, place int, ev *teehistorian.Event) bool {
	if r.world == nil || !r.Waiting() { // a tick that is not over cannot be judged
		return false
	}
	r.world.Settle(tick)
	if place >= placeShots {
		return sampleShot(r.world, place-placeShots, ev)
	}
	return sampleCharacter(r.world, int32(place-placeCharacters), ev)
}

func sampleCharacter(w *physics.World, id int32, ev *teehistorian.Event) bool {
	c, ok := w.Character(id)
	if !ok {
		return false
	}
	out := c.Hook != physics.HookIdle
	ev.Kind = teehistorian.KindSampleCharacter
	ev.SampleCharacter = teehistorian.SampleCharacter{
		ClientId: id, Team: c.Team, X: c.X, Y: c.Y, VelX: c.VelX, VelY: c.VelY,
		Hook: teehistorian.HookState(c.Hook) + teehistorian.HookStateIdle, HasHookX: out, HasHookY: out, HookedClientId: c.Hooked,
		Weapon: teehistorian.Weapon(c.Weapon), ReloadTicks: c.ReloadTicks,
		FreezeTicks: c.FreezeTicks, DeepFrozen: c.Deep, LiveFrozen: c.Live,
		AirJumpsLeft: c.AirJumps, EndlessJumps: c.EndlessJumps, EndlessHook: c.EndlessHook, Jetpack: c.Jetpack, Solo: c.Solo, Away: c.Away,
		Proof: teehistorian.Proof(c.Mark) + teehistorian.ProofProven, Cause: teehistorian.ProofCause(c.Cause),
		DeviationX: c.DX, DeviationY: c.DY,
	}
	if out {
		ev.SampleCharacter.HookX, ev.SampleCharacter.HookY = c.HookX, c.HookY
	}
	return true
}

func sampleShot(w *physics.World, number int, ev *teehistorian.Event) bool {
	s, ok := w.Shot(number)
	if !ok {
		return false
	}
	ev.Kind = teehistorian.KindSampleShot
	ev.SampleShot = teehistorian.SampleShot{
		ClientId: s.ClientID, Weapon: teehistorian.Weapon(s.Weapon), X: s.X, Y: s.Y, FromX: s.FromX, FromY: s.FromY,
		SinceTick: s.SinceTick, Proof: teehistorian.ProofUnknown,
	}
	if s.Known {
		ev.SampleShot.Proof = teehistorian.ProofProven
	}
	return true
}
