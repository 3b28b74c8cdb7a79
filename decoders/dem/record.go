package dem

// decodeFrame begins to decode a record whose payload is given, decompressed. It returns whether ev was filled.
func (d *Decoder) decodeFrame(ev *Event, payload []byte) bool {
	switch d.frame.command {
	case cmdPacket, cmdSignonPacket:
		if d.header.size == headerSize2014 {
			d.tellUndecoded("recordings of 2014 have no schema")
			break
		}
		d.startPacket(packetData(payload))
		return false
	case cmdFullPacket:
		return d.decodeFullPacket(ev, payload)
	case cmdFileHeader:
		var h FileHeader
		if !parseHeaderMessage(&h, payload) {
			break
		}
		d.game = gameByName(h.Game)
		if d.game == gameUnknown {
			d.game = gameByName(h.GameDirectory)
		}
		if d.want(KindFileHeader) {
			ev.Kind, ev.FileHeader = KindFileHeader, h
			return true
		}
		return false
	case cmdFileInfo:
		d.finished = d.stopped
		if !d.want(KindFileInfo) {
			return false
		}
		if !parseFileInfo(&ev.FileInfo, payload) {
			break
		}
		ev.Kind = KindFileInfo
		return true
	case cmdSyncTick:
		if d.jump > d.win.Offset() {
			d.jumpTo(d.jump)
		}
		if d.want(KindSyncTick) {
			ev.Kind = KindSyncTick
			return true
		}
		return false
	case cmdSendTables:
		d.decodeSendTables(payload)
		return false
	case cmdClassInfo:
		d.startClasses(payload)
		return false
	case cmdStringTables:
		d.startDump(payload, nil)
		return false
	case cmdConsoleCmd:
		if !d.want(KindConsoleCmd) {
			return false
		}
		m := wire{buf: payload}
		ev.ConsoleCmd = ConsoleCmd{}
		for m.next() {
			if m.num == 1 {
				ev.ConsoleCmd.Text = m.raw
			}
		}
		if m.bad {
			break
		}
		ev.Kind = KindConsoleCmd
		return true
	case cmdUserCmd:
		if !d.want(KindUserCmd) {
			return false
		}
		m := wire{buf: payload}
		ev.UserCmd = UserCmd{PlayerSlot: -1}
		for m.next() {
			switch m.num {
			case 1:
				ev.UserCmd.Number = m.int32()
			case 2:
				ev.UserCmd.Data = m.raw
			}
		}
		if m.bad {
			break
		}
		ev.Kind = KindUserCmd
		return true
	case cmdStop:
		d.stopped = true
		if d.want(KindStop) {
			ev.Kind = KindStop
			return true
		}
		return false
	default:
		return d.tellCommand(ev, payload)
	}
	// It could not be read, or is not to be: it travels as it is.
	if d.header.size != headerSize2014 || d.frame.command == cmdFileHeader || d.frame.command == cmdFileInfo {
		d.fault(Fault{Kind: FaultKindRecord, MessageId: d.frame.command, Detail: []byte("record: not the message that its number announces")})
	}
	return d.tellCommand(ev, payload)
}

// tellCommand delivers a record as it is.
func (d *Decoder) tellCommand(ev *Event, payload []byte) bool {
	d.chunks = chunkReader{kind: KindCommand, id: d.frame.command, name: []byte(commandName(d.frame.command)), data: payload, then: stageFrame}
	return d.nextChunk(ev)
}

// maxChunk is how many bytes of a record or a message travel in one event.
const maxChunk = 256 << 10

// chunkReader delivers a record or a message as it is: in pieces, where it is large.
type chunkReader struct {
	kind   Kind
	id     uint32
	name   []byte
	data   []byte
	offset int
	then   stage
}

func (d *Decoder) nextChunk(ev *Event) bool {
	c := &d.chunks
	for {
		piece := c.data[c.offset:min(c.offset+maxChunk, len(c.data))]
		offset := c.offset
		c.offset += len(piece)
		d.stage = stageChunks
		if c.offset >= len(c.data) {
			d.stage = c.then
		}
		if d.want(c.kind) {
			ev.Kind = c.kind
			if c.kind == KindMessage {
				ev.Message = Message{Id: c.id, Name: c.name, Data: piece, Offset: uint32(offset), Size: uint32(len(c.data))}
			} else {
				ev.Command = Command{Id: c.id, Name: c.name, Data: piece, Offset: uint32(offset), Size: uint32(len(c.data))}
			}
			return true
		}
		if d.stage != stageChunks {
			return false
		}
	}
}

// tellUndecoded reports once that entities are not decoded.
func (d *Decoder) tellUndecoded(why string) {
	if d.told {
		return
	}
	d.told = true
	d.fault(Fault{Kind: FaultKindSchema, MessageId: d.frame.command, Detail: []byte("entities are unsupported: " + why)})
}

// packetData returns CDemoPacket.data.
func packetData(payload []byte) []byte {
	var data []byte
	for m := (wire{buf: payload}); m.next(); {
		if m.num == 3 {
			data = m.raw
		}
	}
	return data
}

// decodeFullPacket decodes a key frame. Who reads on from before it knows all that it holds; it is applied after a jump
// to it, and after updates were lost.
func (d *Decoder) decodeFullPacket(ev *Event, payload []byte) bool {
	tell := d.want(KindKeyFrame)
	if d.header.size == headerSize2014 {
		return d.tellCommand(ev, payload)
	}
	if d.lost || d.jump == d.frame.offset {
		d.lost = false
		var tables, packet []byte
		for m := (wire{buf: payload}); m.next(); {
			switch m.num {
			case 1:
				tables = m.raw
			case 2:
				packet = packetData(m.raw)
			}
		}
		d.startDump(tables, packet)
	}
	if tell {
		ev.Kind, ev.KeyFrame = KindKeyFrame, KeyFrame{Offset: d.frame.offset}
	}
	return tell
}

func parseHeaderMessage(h *FileHeader, b []byte) bool {
	m := wire{buf: b}
	for m.next() {
		switch m.num {
		case 1:
			h.Stamp = trimNUL(m.raw)
		case 2:
			h.PatchVersion = m.int32()
		case 3:
			h.ServerName = m.raw
		case 4:
			h.ClientName = m.raw
		case 5:
			h.MapName = m.raw
		case 6:
			h.GameDirectory = m.raw
		case 7:
			h.FullpacketsVersion = m.int32()
		case 8:
			h.AllowClientsideEntities = m.bool()
		case 9:
			h.AllowClientsideParticles = m.bool()
		case 10:
			h.Addons = m.raw
		case 11:
			h.DemoVersionName = m.raw
		case 12:
			h.DemoVersionGuid = m.raw
		case 13:
			h.BuildNum = m.int32()
		case 14:
			h.Game = m.raw
		case 15:
			h.ServerStartTick = m.int32()
		}
	}
	return !m.bad
}

func trimNUL(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}

func parseFileInfo(f *FileInfo, b []byte) bool {
	*f = FileInfo{RoundStartTicks: f.RoundStartTicks[:0], Match: Match{
		Players: f.Match.Players[:0], Draft: f.Match.Draft[:0],
	}}
	m := wire{buf: b}
	for m.next() {
		switch m.num {
		case 1:
			f.PlaybackTime = m.float32()
		case 2:
			f.PlaybackTicks = m.int32()
		case 3:
			f.PlaybackFrames = m.int32()
		case 4:
			info := wire{buf: m.raw}
			for info.next() {
				switch info.num {
				case 4:
					f.HasMatch = true
					m.bad = m.bad || !parseMatch(&f.Match, info.raw)
				case 5:
					cs := wire{buf: info.raw}
					for cs.next() {
						if cs.num == 1 {
							f.RoundStartTicks = cs.appendInt32s(f.RoundStartTicks)
						}
					}
					m.bad = m.bad || cs.bad
				}
			}
			m.bad = m.bad || info.bad
		}
	}
	return !m.bad
}

// maxPlayers bounds the players, and the picks, of a match.
const maxPlayers = 1 << 10

func parseMatch(g *Match, b []byte) bool {
	m := wire{buf: b}
	for m.next() {
		switch m.num {
		case 1:
			g.Id = m.val
		case 2:
			g.GameMode = m.int32()
		case 3:
			g.Winner = m.int32()
		case 4:
			var p MatchPlayer
			for q := (wire{buf: m.raw}); q.next(); {
				switch q.num {
				case 1:
					p.HeroName = q.raw
				case 2:
					p.PlayerName = q.raw
				case 3:
					p.IsFakeClient = q.bool()
				case 4:
					p.SteamId = q.val
				case 5:
					p.Team = q.int32()
				}
			}
			if len(g.Players) < maxPlayers {
				g.Players = append(g.Players, p)
			}
		case 5:
			g.LeagueId = m.uint32()
		case 6:
			var p DraftPick
			for q := (wire{buf: m.raw}); q.next(); {
				switch q.num {
				case 1:
					p.IsPick = q.bool()
				case 2:
					p.Team = q.uint32()
				case 3:
					p.HeroId = q.int32()
				}
			}
			if len(g.Draft) < maxPlayers {
				g.Draft = append(g.Draft, p)
			}
		case 7:
			g.RadiantTeamId = m.uint32()
		case 8:
			g.DireTeamId = m.uint32()
		case 9:
			g.RadiantTeamTag = m.raw
		case 10:
			g.DireTeamTag = m.raw
		case 11:
			g.EndTime = m.uint32()
		}
	}
	return !m.bad
}
