package dem

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/record"
	"github.com/replayd/replayd/decoders/dem/internal/unpack"
)

// record returns a reader of a record with a name.
func (d *Decoder) record(name string, payload []byte) pb.Reader {
	return pb.Read(payload, lexicon.Type(name), &d.out.unknown)
}

// packetShape is the shape of the most frequent records of a demo.
var packetShape = sync.OnceValue(func() *pb.Shape { return lexicon.Type("CDemoPacket") })

// nextFrame reads a record and begins to decode it.
func (d *Decoder) nextFrame(ev *Event) (bool, error) {
	if d.in.Finished {
		return false, io.EOF
	}
	if !d.in.Begun {
		if err := d.in.Begin(); err != nil {
			return false, err
		}
	}
	payload, err := d.in.Next()
	if err != nil {
		return false, err
	}
	d.stats.Records++
	d.out.startRecord(d.in.Head.Offset, d.in.Head.Tick, d.in.Head.Command)
	d.reportSkipped()
	if d.in.Head.Compressed {
		if d.in.Head.Command == record.CmdSendTables && d.opts.Schemas != nil {
			d.packedSendTables(payload)
			return false, nil
		}
		if !d.needsRecord() {
			return false, nil
		}
		var ok bool
		if payload, ok = d.inflateRecord(payload); !ok {
			return false, nil
		}
	}
	return d.decodeFrame(ev, payload), nil
}

// reportSkipped reports the bytes that were skipped before the present record.
func (d *Decoder) reportSkipped() {
	n, what := d.in.TakeSkipped()
	if n == 0 {
		return
	}
	d.markAllLost()
	d.out.fault(Fault{Kind: FaultKindRecord, MessageId: d.in.Head.Command, BytesSkipped: n,
		Detail: fmt.Appendf(nil, "%d bytes are no records and were skipped: %s", n, what)})
}

// needsRecord reports whether the contents of a record are to be read: because of what the decoder knows then, for an event, or for a fault if
// they cannot be read.
func (d *Decoder) needsRecord() bool {
	command, kind := d.in.Head.Command, KindCommand
	if command == record.CmdFullPacket {
		kind = KindKeyFrame
		if d.world.lost || d.lostTables() {
			return true
		}
	}
	return !record.Aside(command) || d.out.reads(kind, KindCommand)
}

// inflateRecord decompresses the contents of a record. It reports a failure as a fault.
func (d *Decoder) inflateRecord(payload []byte) ([]byte, bool) {
	var err error
	d.inflated, err = unpack.Snappy(d.inflated, payload, record.MaxSize)
	if err != nil {
		if !record.Aside(d.in.Head.Command) {
			d.markAllLost()
		}
		d.out.fault(Fault{Kind: FaultKindRecord, MessageId: d.in.Head.Command, Detail: []byte(err.Error())})
	}
	return d.inflated, err == nil
}

// decodeFrame begins to decode a record with its decompressed payload. It returns whether it filled ev.
func (d *Decoder) decodeFrame(ev *Event, payload []byte) bool {
	switch d.in.Head.Command {
	case record.CmdPacket, record.CmdSignonPacket:
		if d.in.Header.Alpha() {
			d.reportUndecoded("recordings of 2014 have no schema")
			break
		}
		d.startPacket(packetData(pb.Read(payload, packetShape(), &d.out.unknown)))
		return false
	case record.CmdFullPacket:
		return d.decodeFullPacket(ev, payload)
	case record.CmdFileHeader:
		if emit, ok := d.decodeFileHeader(ev, payload); ok {
			return emit
		}
	case record.CmdFileInfo:
		d.in.Finished = d.in.Stopped
		if !d.out.reads(KindFileInfo, KindCommand) {
			return false
		}
		if parseFileInfo(&ev.FileInfo, payload, &d.out.unknown) {
			ev.Kind = KindFileInfo
			return d.out.want(KindFileInfo, slotEvent)
		}
	case record.CmdSyncTick:
		return d.emitEmpty(ev, KindSyncTick)
	case record.CmdSendTables:
		d.decodeSendTables(payload)
		return false
	case record.CmdClassInfo:
		d.startClasses(payload)
		return false
	case record.CmdStringTables:
		d.startDump(payload, nil, true)
		return false
	case record.CmdConsoleCmd:
		if !d.out.reads(KindConsoleCmd, KindCommand) {
			return false
		}
		if parseConsoleCmd(&ev.ConsoleCmd, d.record("CDemoConsoleCmd", payload)) {
			ev.Kind = KindConsoleCmd
			return d.out.want(KindConsoleCmd, slotEvent)
		}
	case record.CmdUserCmd:
		if !d.out.reads(KindUserCmd, KindCommand) {
			return false
		}
		if parseUserCmd(&ev.UserCmd, d.record("CDemoUserCmd", payload)) {
			ev.Kind = KindUserCmd
			return d.out.want(KindUserCmd, slotEvent)
		}
	case record.CmdStop:
		d.in.Stopped = true
		return d.emitEmpty(ev, KindStop)
	default:
		return d.emitCommand(ev, payload)
	}
	// The record cannot be read, or need not be: it is delivered undecoded.
	if !d.in.Header.Alpha() || d.in.Head.Command == record.CmdFileHeader || d.in.Head.Command == record.CmdFileInfo {
		d.out.fault(Fault{Kind: FaultKindRecord, MessageId: d.in.Head.Command, Detail: []byte("record: not the message that its number announces")})
	}
	return d.emitCommand(ev, payload)
}

// emitEmpty delivers an event that has no fields.
func (d *Decoder) emitEmpty(ev *Event, kind Kind) bool {
	emit := d.out.want(kind, slotEvent)
	if emit {
		ev.Kind = kind
	}
	return emit
}

// emitCommand delivers a record undecoded.
func (d *Decoder) emitCommand(ev *Event, payload []byte) bool {
	name := record.CommandName(d.in.Head.Command)
	d.chunks = chunkReader{
		kind: KindCommand, id: d.in.Head.Command, name: []byte(name), shape: lexicon.Type("CDemo" + strings.TrimPrefix(name, "DEM_")), data: payload,
		then: stageFrame,
	}
	return d.nextChunk(ev)
}

// packetData returns CDemoPacket.data.
func packetData(m pb.Reader) []byte {
	var data []byte
	for m.To(3) {
		data = m.Raw
	}
	return data
}

// decodeFullPacket decodes a key frame. A decoder that has read the earlier records already has the whole state, unless it lost
// something. Then it takes the entities, and lost string tables, from the key frame.
func (d *Decoder) decodeFullPacket(ev *Event, payload []byte) bool {
	tell := d.out.want(KindKeyFrame, slotEvent)
	if d.in.Header.Alpha() {
		return d.emitCommand(ev, payload)
	}
	var tables, packet []byte
	lost, some := d.world.lost, d.lostTables()
	for m := d.record("CDemoFullPacket", payload); m.Next(); {
		switch m.Num {
		case 1:
			tables = m.Raw
		case 2:
			if lost {
				packet = packetData(m.Message())
			}
		}
	}
	if lost || some {
		d.world.lost = false
		d.startDump(tables, packet, false)
	}
	if tell {
		ev.Kind, ev.KeyFrame = KindKeyFrame, KeyFrame{Offset: d.in.Head.Offset}
	}
	return tell
}
