package facts

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// session is the stay of a connected client.
type session struct {
	open     bool
	carried  bool // it may be older than the file, or its beginning is lost
	left     bool // the slot's last client has left
	joined   tick
	first    tick
	ready    tick // it entered the game
	version  int32
	level    teehistorian.AuthLevel
	finishes int32
}

// tick is a tick plus one, or 0 for none. The last tick of a file is far below the largest int32.
type tick int32

func at(n int32) tick { return tick(n + 1) }

// get returns the tick, and whether there is one.
func (t tick) get() (n int32, ok bool) { return int32(t) - 1, t != 0 }

// begin begins the stay of a client, unless it has begun. A record names the client that only connected ones cause.
func (f *Fold) begin(id, now int32) *client {
	c := f.client(id)
	if !c.open {
		c.open, c.left = true, false
		if !f.lost {
			c.first = at(now)
		}
	}
	return c
}

// mention is like begin, for a record that may also concern a client that has left.
func (f *Fold) mention(id, now int32) *client {
	if c := f.client(id); c.left {
		return c
	}
	return f.begin(id, now)
}

// joined begins the stay of a client that connects, or that stays over a change of the map.
func (f *Fold) joined(ev *teehistorian.Event) {
	id := ev.Join.ClientId
	c := f.client(id)
	if c.open && (c.joined != 0 || c.carried || ev.AtTick > 0) { // some servers write no drop
		f.end(id, teehistorian.FactSession{End: teehistorian.SessionEndReplaced, ReclaimedClientId: noClient})
	}
	c.leave()
	c.open, c.first, c.hasTeam = true, at(ev.AtTick), f.rules.teams
	if c.carried = f.rules.follows && ev.AtTick == 0; !c.carried {
		c.joined = at(ev.AtTick)
	}
}

// dropped ends the stay of a client.
func (f *Fold) dropped(ev *teehistorian.Event) {
	e := &ev.Drop
	f.begin(e.ClientId, ev.AtTick)
	f.end(e.ClientId, teehistorian.FactSession{
		End: teehistorian.SessionEndDropped, Reason: e.Reason, ReclaimedClientId: e.ReclaimedClientId,
	})
	c := f.client(e.ClientId)
	c.leave()
	c.left = true
}

// closed ends the stays of all connected clients.
func (f *Fold) closed() {
	for id := range f.clients {
		if f.clients[id].open && len(f.ready) < decoders.Room-1 {
			f.end(int32(id), teehistorian.FactSession{End: teehistorian.SessionEndGameEnded, ReclaimedClientId: noClient})
		}
	}
}

// end makes the fact of a stay. It does not change the client.
func (f *Fold) end(id int32, out teehistorian.FactSession) {
	c := f.client(id)
	out.ClientId, out.Name, out.RequestedName, out.Role = id, c.name, c.asked, c.role
	out.JoinedTick, out.HasJoinedTick = c.joined.get()
	out.FirstTick, out.HasFirstTick = c.first.get()
	out.EnteredTick, out.HasEnteredTick = c.ready.get()
	out.ClientVersion, out.AuthLevel, out.Finishes = c.version, c.level, c.finishes
	f.ready = append(f.ready, fact{kind: teehistorian.KindFactSession, session: out})
}

// entered notes that a client has entered the game.
func (f *Fold) entered(ev *teehistorian.Event) {
	if c := f.begin(ev.PlayerReady.ClientId, ev.AtTick); c.ready == 0 {
		c.ready = at(ev.AtTick)
	}
}

// login notes a login to the remote console.
func (f *Fold) login(id, now int32, level teehistorian.AuthLevel, role []byte) {
	c := f.mention(id, now)
	c.level = level
	set(&c.role, role)
}
