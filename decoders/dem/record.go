package dem

import "io"

// nextFrame reads a record and begins to decode it.
func (d *Decoder) nextFrame(ev *Event) (bool, error) {
	if d.finished {
		return false, io.EOF
	}
	if !d.begun {
		if err := d.begin(); err != nil {
			return false, err
		}
	}
	payload, err := d.readFrame()
	if err != nil {
		return false, err
	}
	d.stats.Records++
	d.ordinal, d.item = 0, 0
	from := d.opts.From
	d.quiet = d.opts.FromTick != nil && d.frame.tick < *d.opts.FromTick || d.frame.offset <= from.Offset
	if d.frame.compressed {
		var ok bool
		if payload, ok = d.inflateRecord(payload); !ok {
			return false, nil
		}
	}
	return d.decodeFrame(ev, payload), nil
}

// inflateRecord decompresses the contents of a record. It reports those that cannot be.
func (d *Decoder) inflateRecord(payload []byte) ([]byte, bool) {
	var err error
	d.inflated, err = inflate(d.inflated, payload, maxRecord)
	if err != nil {
		d.lost = true
		d.fault(Fault{Kind: FaultKindRecord, MessageId: d.frame.command, Detail: []byte(err.Error())})
	}
	return d.inflated, err == nil
}

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
		if told, ok := d.decodeFileHeader(ev, payload); ok {
			return told
		}
	case cmdFileInfo:
		d.finished = d.stopped
		if !d.want(KindFileInfo) {
			return false
		}
		if parseFileInfo(&ev.FileInfo, payload) {
			ev.Kind = KindFileInfo
			return true
		}
	case cmdSyncTick:
		if d.jump > d.win.Offset() {
			d.jumpTo(d.jump)
		}
		return d.tellEmpty(ev, KindSyncTick)
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
		if parseConsoleCmd(&ev.ConsoleCmd, payload) {
			ev.Kind = KindConsoleCmd
			return true
		}
	case cmdUserCmd:
		if !d.want(KindUserCmd) {
			return false
		}
		if parseUserCmd(&ev.UserCmd, payload) {
			ev.Kind = KindUserCmd
			return true
		}
	case cmdStop:
		d.stopped = true
		return d.tellEmpty(ev, KindStop)
	default:
		return d.tellCommand(ev, payload)
	}
	// It could not be read, or is not to be: it travels as it is.
	if d.header.size != headerSize2014 || d.frame.command == cmdFileHeader || d.frame.command == cmdFileInfo {
		d.fault(Fault{Kind: FaultKindRecord, MessageId: d.frame.command, Detail: []byte("record: not the message that its number announces")})
	}
	return d.tellCommand(ev, payload)
}

// tellEmpty delivers an event that has nothing to tell but that it is there.
func (d *Decoder) tellEmpty(ev *Event, kind Kind) bool {
	told := d.want(kind)
	if told {
		ev.Kind = kind
	}
	return told
}

// tellCommand delivers a record as it is.
func (d *Decoder) tellCommand(ev *Event, payload []byte) bool {
	d.chunks = chunkReader{kind: KindCommand, id: d.frame.command, name: []byte(commandName(d.frame.command)), data: payload, then: stageFrame}
	return d.nextChunk(ev)
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
