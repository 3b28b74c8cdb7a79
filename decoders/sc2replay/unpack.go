package sc2replay

import (
	"errors"
	"runtime"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// Unpacked is a replay with its event streams unpacked in memory. It does not change, so several decoders may use it at
// once.
type Unpacked struct {
	rep                    Replay // a copy, because the table and players may differ
	game, message, tracker contents
}

// contents is the unpacked contents of a member.
type contents struct {
	data  []byte
	found bool
	err   error // a *decoders.Error if data is incomplete or changed
	doubt *doubt
}

// Unpack unpacks the event streams, two at a time if there are two processors, and finds the table that fits them. It
// fails only if the file cannot be read. Decoders report problems with the replay itself.
func (p *Replay) Unpack() (*Unpacked, error) {
	u := &Unpacked{rep: *p}
	u.rep.Players = slices.Clone(p.Players)
	unpack := func(into *contents, name string, limit int64) {
		into.data, into.found, into.err = p.member(name, limit)
		if !into.found && name == memberGame {
			into.err = p.missingGame()
		}
	}
	if runtime.GOMAXPROCS(0) > 1 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			unpack(&u.tracker, memberTracker, maxTracker)
			unpack(&u.message, memberMessage, maxMessage)
		}()
		unpack(&u.game, memberGame, maxGame) // takes about as long as the other two
		<-done
	} else {
		unpack(&u.game, memberGame, maxGame)
		unpack(&u.message, memberMessage, maxMessage)
		unpack(&u.tracker, memberTracker, maxTracker)
	}
	for _, c := range []*contents{&u.game, &u.message, &u.tracker} {
		var bad *decoders.Error
		if c.err != nil && !errors.As(c.err, &bad) {
			return nil, c.err
		}
	}
	u.game.doubt = u.rep.fit(u.game.data)
	u.message.doubt = u.rep.doubtIn(protocol.Message, u.message.data)
	for _, c := range []*contents{&u.game, &u.message} {
		if c.doubt != nil && c.err != nil { // the damage explains the end, and is the error
			c.doubt = &doubt{from: c.doubt.from}
		}
		u.rep.unproven = u.rep.unproven || c.doubt != nil
	}
	u.rep.indexPlayers()
	u.rep.readSetups(u.tracker.data)
	if u.tracker.err == nil && u.rep.mayChoosePlayers() {
		u.rep.findObservers(u.tracker.data)
	}
	u.rep.Start.DecodeInfo = u.rep.decodeInfo(u.rep.Parts)
	return u, nil
}

// Replay returns the replay, with the table that fits its events. It must not be modified.
func (u *Unpacked) Replay() *Replay { return &u.rep }

// Events returns a decoder of the replay's events.
func (u *Unpacked) Events(o Options) *Decoder {
	d := u.rep.Events(o)
	d.source = u
	return d
}
