package facts

import (
	"unsafe"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// rules say what the server that wrote a file records, by its version.
type rules struct {
	teams   bool // changes of teams: since DDNet 15.6
	follows bool // the file names a previous game, whose clients may have stayed
}

// teamsMinor is the first minor version of the format whose servers record teams.
const teamsMinor = 2

func rulesOf(h *teehistorian.Header) rules {
	return rules{teams: h.Version >= 2 && h.VersionMinor >= teamsMinor, follows: h.PrevGameUUID != ""}
}

// noTeam is an unknown team, the value of an absent field.
const noTeam = -1

// client holds the known facts of a slot of the server, and of the client in it.
type client struct {
	team    int32
	hasTeam bool   // a record has told the team; otherwise Fold.teamOf tells it
	name    []byte // as the server has stated it
	asked   []byte // the last name that the client asked for
	role    []byte
	session
	life
}

// maxText limits the memory of a text. Servers allow 15 bytes for a name.
const maxText = 128

// set stores a text. It reuses the memory of the previous one.
func set(text *[]byte, to []byte) { *text = append((*text)[:0], to[:min(len(to), maxText)]...) }

// leave empties the slot. The protocol is recorded before the client joins.
func (c *client) leave() {
	*c = client{name: c.name[:0], asked: c.asked[:0], role: c.role[:0], life: life{seven: c.seven}}
}

// client returns the slot of an id.
func (f *Fold) client(id int32) *client { return slot(&f.clients, id) }

// slot returns the element of a list for an id below teehistorian.MaxClients. It extends the list if necessary.
func slot[T any](list *[]T, id int32) *T {
	if int(id) >= len(*list) {
		bigger := make([]T, min(max(64, 2*int(id)), teehistorian.MaxClients))
		copy(bigger, *list)
		*list = bigger
	}
	return &(*list)[id]
}

// asked notes the name that a client asks for.
func (f *Fold) asked(m *teehistorian.Message) {
	switch c := f.client(m.ClientId); m.ContentCase {
	case teehistorian.MessageContentStartInfo:
		set(&c.asked, m.StartInfo.Name)
	case teehistorian.MessageContentChangeInfo:
		set(&c.asked, m.ChangeInfo.Name)
	}
}

// teamOf returns the team of a client, or noTeam. If no record has told the team, it is the one in which every client starts,
// unless a record may be lost.
func (f *Fold) teamOf(id int32) int32 {
	switch c := f.client(id); {
	case c.hasTeam:
		return c.team
	case f.rules.teams && !f.lost:
		return 0
	}
	return noTeam
}

// lose forgets all clients.
func (f *Fold) lose() {
	f.lost = true
	for i := range f.clients {
		f.clients[i].leave()
	}
}

// Held returns the memory that the Fold holds and that grows with the file, in bytes.
func (f *Fold) Held() int64 {
	held := len(f.clients)*(int(unsafe.Sizeof(client{}))+3*maxText) + len(f.places)*int(unsafe.Sizeof(place{}))
	if f.inputs != nil {
		held += len(f.inputs.clients) * int(unsafe.Sizeof(keys{}))
	}
	return int64(held)
}
