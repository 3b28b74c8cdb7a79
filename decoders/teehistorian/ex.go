package teehistorian

import "bytes"

// extensionData decodes the data of an extension record, which x reads, into the event, and sets its kind.
type extensionData func(x *ex, ev *Event)

// extensions holds the extension records that servers up to DDNet 20.1.1 write. The UUIDs are computed from their
// names.
// See docs/formats/teehistorian.md, "Extensions".
var extensions = map[UUID]*extension{}

type extension struct {
	name []byte
	data extensionData
}

func init() {
	for _, e := range []struct {
		name string
		data extensionData
	}{
		{"teehistorian-test@ddnet.tw", func(_ *ex, ev *Event) {
			ev.Kind = KindTest
		}},
		{"teehistorian-auth-init@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindAuthInit
			ev.AuthInit = AuthInit{ClientId: x.client(), Level: AuthLevel(x.int()), AuthName: x.string()}
		}},
		{"teehistorian-auth-login@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindAuthLogin
			ev.AuthLogin = AuthLogin{ClientId: x.client(), Level: AuthLevel(x.int()), AuthName: x.string()}
		}},
		{"teehistorian-auth-init-role@ddnet.org", func(x *ex, ev *Event) {
			ev.Kind = KindAuthInit
			ev.AuthInit = AuthInit{ClientId: x.client(), Role: x.string(), AuthName: x.string()}
			ev.AuthInit.Level = roleLevel(ev.AuthInit.Role)
		}},
		{"teehistorian-auth-login-role@ddnet.org", func(x *ex, ev *Event) {
			ev.Kind = KindAuthLogin
			ev.AuthLogin = AuthLogin{ClientId: x.client(), Role: x.string(), AuthName: x.string()}
			ev.AuthLogin.Level = roleLevel(ev.AuthLogin.Role)
		}},
		{"teehistorian-auth-logout@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindAuthLogout
			ev.AuthLogout = AuthLogout{ClientId: x.client()}
		}},
		{"teehistorian-ddnetver-old@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindDdnetverOld
			ev.DdnetverOld = DdnetverOld{ClientId: x.client(), Version: x.int()}
		}},
		{"teehistorian-ddnetver@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindDdnetver
			ev.Ddnetver = Ddnetver{
				ClientId: x.client(), ConnectionId: x.uuid().Append(ev.Ddnetver.ConnectionId[:0]),
				Version: x.int(), VersionText: x.string(),
			}
		}},
		{"teehistorian-joinver6@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindJoinver6
			ev.Joinver6 = Joinver6{ClientId: x.client()}
		}},
		{"teehistorian-joinver7@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindJoinver7
			ev.Joinver7 = Joinver7{ClientId: x.client()}
		}},
		{"teehistorian-save-success@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindSaveSuccess
			m := &ev.SaveSuccess
			m.Team, m.SaveId, m.Save = x.int(), x.uuid().Append(m.SaveId[:0]), x.save()
			if m.HasContents = len(m.Save) > 0; m.HasContents {
				m.Contents.parse(m.Save)
			}
		}},
		{"teehistorian-save-failure@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindSaveFailure
			ev.SaveFailure = SaveFailure{Team: x.int()}
		}},
		{"teehistorian-load-success@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindLoadSuccess
			m := &ev.LoadSuccess
			m.Team, m.SaveId, m.Save = x.int(), x.uuid().Append(m.SaveId[:0]), x.save()
			if m.HasContents = len(m.Save) > 0; m.HasContents {
				m.Contents.parse(m.Save)
			}
		}},
		{"teehistorian-load-failure@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindLoadFailure
			ev.LoadFailure = LoadFailure{Team: x.int()}
		}},
		{"teehistorian-player-team@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindPlayerTeam
			ev.PlayerTeam = PlayerTeam{ClientId: x.client(), Team: x.int()}
		}},
		{"teehistorian-team-practice@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindTeamPractice
			ev.TeamPractice = TeamPractice{Team: x.int(), Practice: x.bool()}
		}},
		{"teehistorian-player-ready@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindPlayerReady
			ev.PlayerReady = PlayerReady{ClientId: x.client()}
		}},
		{"teehistorian-player-swap@ddnet.tw", func(x *ex, ev *Event) {
			ev.Kind = KindPlayerSwap
			ev.PlayerSwap = PlayerSwap{ClientId: x.client(), OtherClientId: x.client()}
		}},
		{"teehistorian-rejoinver6@ddnet.org", func(x *ex, ev *Event) {
			ev.Kind = KindRejoinver6
			ev.Rejoinver6 = Rejoinver6{ClientId: x.client()}
		}},
		{"teehistorian-antibot@ddnet.org", func(x *ex, ev *Event) {
			ev.Kind = KindAntibot
			ev.Antibot = Antibot{Data: x.bytes(x.rest())}
		}},
		{"teehistorian-player-name@ddnet.org", func(x *ex, ev *Event) {
			ev.Kind = KindPlayerName
			ev.PlayerName = PlayerName{ClientId: x.client(), Name: x.string()}
		}},
		{"teehistorian-player-finish@ddnet.org", func(x *ex, ev *Event) {
			ev.Kind = KindPlayerFinish
			ev.PlayerFinish = PlayerFinish{ClientId: x.client(), Time: x.int()}
		}},
		{"teehistorian-team-finish@ddnet.org", func(x *ex, ev *Event) {
			ev.Kind = KindTeamFinish
			ev.TeamFinish = TeamFinish{Team: x.int(), Time: x.int()}
		}},
	} {
		extensions[NameUUID(e.name)] = &extension{[]byte(e.name), e.data}
	}
}

// ex reads the data of an extension record.
type ex struct {
	cursor
	clients  [2]int32 // client ids that were read
	named    int      // how many
	bad      bool     // a client id is out of range
	textCut  bool
	oldMinor bool // the server may have cut texts at the end of its buffer
}

// client reads a client id. One that is out of range sets bad.
func (x *ex) client() int32 {
	id := x.int()
	x.clients[x.named] = id
	x.named++
	x.bad = x.bad || id < 0 || id >= MaxClients
	return id
}

// oldBuffer is the largest data, in bytes, that servers before DDNet 18.8 could write. They cut a longer text at the
// start of a character and still ended it with a NUL.
const oldBuffer = 2048

// save reads the text of a saved game, which servers may have cut or omitted.
func (x *ex) save() []byte {
	if x.cut {
		return nil
	}
	rest := x.b[x.p:]
	n := bytes.IndexByte(rest, 0)
	if n < 0 {
		x.textCut = true
		x.p = len(x.b)
		return rest
	}
	x.textCut = x.oldMinor && x.p+n+1 > oldBuffer-4
	x.p += n + 1
	return rest[:n:n]
}

// saveTextMinor is the first minor version whose servers do not cut texts.
const saveTextMinor = 9

// contents decodes the data of an EX record into an event, and stores the outcome in d.ex.
func (d *Decoder) contents(r *record, ev *Event) {
	r.known = extensions[r.uuid]
	d.ex = ex{cursor: cursor{b: r.data}, oldMinor: d.header.VersionMinor < saveTextMinor}
	if r.known != nil && !r.tooLong {
		r.known.data(&d.ex, ev)
	}
}

// extension finishes the event of an EX record with decoded contents. An unknown extension becomes an unknown_ex event.
func (d *Decoder) extension(c *cursor, ev *Event, r *record) {
	start := d.w.Offset()
	if r.known == nil {
		d.begin(c, ev, KindUnknownEx)
		d.unknown(ev, r.uuid, d.uuidName(r.uuid), r.data)
		return
	}
	d.begin(c, ev, ev.Kind)
	x := &d.ex
	if x.rest() > 0 {
		warn(ev, WarningTrailingData)
	}
	if x.textCut {
		warn(ev, WarningTextCut)
	}
	d.apply(ev, x)
	if ev.Kind == KindAuthLogout || ev.Kind == KindAntibot {
		d.state.reclaim.pass(start, d.w.Offset())
	}
}

// apply updates the state with the contents of an extension record.
func (d *Decoder) apply(ev *Event, x *ex) {
	switch ev.Kind {
	case KindJoinver6, KindJoinver7: // they precede the JOIN, so no warning that the client never joined
		client := d.state.client(x.clients[0])
		client.seen = true
		client.Protocol = ProtocolSix
		if ev.Kind == KindJoinver7 {
			client.Protocol = ProtocolSeven
		}
		return
	}
	for _, id := range x.clients[:x.named] {
		d.namedClient(ev, id)
	}
	if ev.Kind == KindTeamPractice {
		d.state.setPractice(ev.TeamPractice.Team, ev.TeamPractice.Practice)
	}
	if x.named == 0 {
		return
	}
	switch client := d.state.client(x.clients[0]); ev.Kind {
	case KindRejoinver6:
		client.rejoin()
	case KindPlayerTeam:
		client.Team = ev.PlayerTeam.Team
	case KindPlayerName:
		set(&client.Name, ev.PlayerName.Name)
		client.NameEffective = true
	case KindPlayerReady:
		client.markPresent()
		client.Ready = true
	case KindDdnetver:
		client.markPresent()
		client.setVersion(ev.Ddnetver.Version, ev.Ddnetver.VersionText)
	case KindDdnetverOld:
		client.setVersion(ev.DdnetverOld.Version, nil)
	case KindAuthInit:
		client.setLogin(ev.AuthInit.Level, ev.AuthInit.Role)
	case KindAuthLogin:
		client.setLogin(ev.AuthLogin.Level, ev.AuthLogin.Role)
	case KindAuthLogout:
		client.setLogin(AuthLevelUnspecified, nil)
	}
}

// unknown makes the event an unknown_ex.
func (d *Decoder) unknown(ev *Event, u UUID, name, raw []byte) {
	e := &ev.UnknownEx
	*e = UnknownEx{Uuid: u.Append(e.Uuid[:0]), Name: name, Data: raw, Error: e.Error[:0]}
}

// uuidName returns the name of a UUID that the header lists, or nil.
func (d *Decoder) uuidName(u UUID) []byte {
	if d.names == nil {
		d.names = make(map[UUID][]byte, len(d.header.UUIDs))
		for _, name := range d.header.UUIDs {
			d.names[NameUUID(name)] = []byte(name)
		}
	}
	return d.names[u]
}
