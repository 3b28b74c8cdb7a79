package broadcast

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/internal/record"
)

// Part says what a body of a broadcast is.
type Part uint8

// The parts, in the order in which a Demo takes them.
const (
	Start Part = iota // the sign-on part
	Full              // the state of all entities at the start of a fragment
	Delta             // what happens in a fragment
)

func (p Part) String() string {
	return [...]string{"start", "full", "delta"}[p]
}

// Demo makes a demo of the bodies of one broadcast. The zero value waits for Start. A Demo may be stored, for instance as JSON, and used
// again later: it is all that the next bytes depend on, beside the next body. It is not safe for concurrent use.
type Demo struct {
	// Label distinguishes this file from others of the same match: the name of the recorder in the demo's header. Set it before the first
	// body. Two files of one broadcast without it count as copies of one recording.
	Label string `json:"label"`
	// Next is the part that the next body has to be: Start, Full, or Delta.
	Next Part `json:"next"`
	// Size is the size of the file so far, in bytes.
	Size int64 `json:"size"`
	// SpawnGroups and FileInfo are the offsets of the records of that name, 0 as long as there is none.
	SpawnGroups int64 `json:"spawn_groups"`
	FileInfo    int64 `json:"file_info"`
	// First and Last are the first and the last tick of packets behind the sign-on part.
	First int32 `json:"first"`
	Last  int32 `json:"last"`
	// Packets is how many packets there are behind the sign-on part.
	Packets int32 `json:"packets"`
	// TickInterval is the length of a tick in seconds, from the game server's description of itself.
	TickInterval float32 `json:"tick_interval"`
}

// Stopped reports whether the broadcast is over: the last body had the record Stop.
func (d *Demo) Stopped() bool { return d.FileInfo > 0 }

// Ticks returns how many ticks the demo is long.
func (d *Demo) Ticks() int32 { return d.Last - d.First }

// Offsets returns the bytes of the file from byte [OffsetsAt] on. They change once, when the broadcast is over: write them after all
// other bytes. The games do the same with the demos that they record.
func (d *Demo) Offsets() [8]byte {
	var b [8]byte
	if d.Stopped() {
		binary.LittleEndian.PutUint32(b[:], offset32(d.FileInfo))
		binary.LittleEndian.PutUint32(b[4:], offset32(d.SpawnGroups))
	}
	return b
}

// OffsetsAt is the place of Offsets in the file.
const OffsetsAt = int64(len(magic))

const magic = "PBDEMS2\x00"

// offset32 returns an offset as a demo has it: 0, which means none, beyond 4 GiB.
func offset32(at int64) uint32 {
	if at > math.MaxUint32 {
		return 0
	}
	return uint32(at)
}

// ErrBack means that the ticks of a body go back, which those of a demo cannot: another one has to begin with it.
var ErrBack = errors.New("the ticks go back")

// Append appends to dst the bytes that a body adds to the file, and returns the result. With an error it returns dst unchanged, and d
// is unchanged, too. The body must be the part d.Next; each Delta must be that of the fragment behind the one before.
func (d *Demo) Append(dst []byte, part Part, body []byte) ([]byte, error) {
	if d.Stopped() || part != d.Next {
		return dst, decoders.Errorf(decoders.Dem, 0, decoders.NoTick, "broadcast", decoders.ErrCorrupt, "%v where %v is expected", part, d.wanted())
	}
	records, err := parse(body)
	if err != nil {
		return dst, err
	}
	next, out := *d, dst
	if part == Start {
		if out, err = next.begin(out, records, body); err != nil {
			return dst, err
		}
	} else if out, err = next.append(out, part, records, len(dst)); err != nil {
		return dst, err
	}
	if next.Next < Delta {
		next.Next++
	}
	next.Size += int64(len(out) - len(dst))
	*d = next
	return out, nil
}

func (d *Demo) wanted() string {
	if d.Stopped() {
		return "nothing"
	}
	return d.Next.String()
}

// begin appends the head of the file, the record FileHeader and the sign-on part.
func (d *Demo) begin(dst []byte, records []rec, body []byte) ([]byte, error) {
	begun := len(dst)
	// The header comes first, but what it says is in the sign-on part: that is read from a file with an empty header.
	trial := appendRecord(append([]byte(magic), make([]byte, 8)...), record.CmdFileHeader, -1, text(nil, 1, magic))
	trial, err := new(Demo).append(trial, Start, records, 0)
	if err != nil {
		return dst, err
	}
	server, err := serverInfo(trial)
	if err != nil {
		return dst, decoders.Errorf(decoders.Dem, 0, decoders.NoTick, "start of a broadcast", decoders.ErrCorrupt, "no server describes itself in %d bytes: %v", len(body), err)
	}
	d.TickInterval = server.TickInterval
	header := number(text(nil, 1, magic), 2, uint64(uint32(server.Protocol)))
	header = text(text(header, 3, string(server.HostName)), 4, d.Label)
	header = text(text(header, 5, string(server.MapName)), 6, string(server.GameDir))
	header = number(number(number(header, 7, 2), 8, 1), 9, 1)
	header = text(text(header, 11, "valve_demo_2"), 12, "8e9d71ab-04a1-4c01-bb61-acfede27c046") // the version of the form, as games have it
	if server.GameBuild > 0 {
		header = number(header, 13, uint64(server.GameBuild))
	}
	dst = append(append(dst, magic...), make([]byte, 8)...)
	dst = appendRecord(dst, record.CmdFileHeader, -1, header)
	return d.append(dst, Start, records, begun)
}

// serverInfo returns what the game server says of itself in the sign-on part of a demo.
func serverInfo(demo []byte) (dem.ServerInfo, error) {
	decoder := dem.New(bytes.NewReader(demo), dem.Options{Kinds: func(k dem.Kind) bool { return k == dem.KindServerInfo }})
	var ev dem.Event
	for {
		if err := decoder.Next(&ev); err != nil {
			return dem.ServerInfo{}, err
		}
		if ev.Kind == dem.KindServerInfo {
			return ev.ServerInfo, nil
		}
	}
}

// append appends the records of a body in the form of a demo. begun is the length of dst without this body.
func (d *Demo) append(dst []byte, part Part, records []rec, begun int) ([]byte, error) {
	room := 0
	for i := range records {
		room += len(records[i].contents) + maxHead
	}
	dst = slices.Grow(dst, room)
	var packet []byte
	for i := 0; i < len(records); i++ {
		r := &records[i]
		tick := r.tick
		if part == Start {
			tick = -1
		}
		switch r.command {
		case record.CmdStop:
			dst = appendRecord(dst, record.CmdStop, d.Last, nil)
			d.FileInfo = d.Size + int64(len(dst)-begun)
			dst = appendRecord(dst, record.CmdFileInfo, d.Last, d.fileInfo())
			return dst, nil
		case record.CmdPacket, record.CmdSignonPacket:
			if part != Start && d.Packets > 0 && tick < d.Last {
				return dst, fmt.Errorf("%w: %w", ErrBack, decoders.Errorf(decoders.Dem, int64(r.offset), tick, "body of a broadcast", decoders.ErrCorrupt, "behind tick %d", d.Last))
			}
			packet = field(packet[:0], 3, r.contents)
			dst = appendRecord(dst, r.command, tick, packet)
			if part != Start {
				if d.Packets == 0 {
					d.First = tick
				}
				d.Last = tick
				d.Packets++
			}
		case cmdSpawnGroups:
			message, n, err := spawnGroups(records[i:])
			if err != nil {
				return dst, err
			}
			if d.SpawnGroups == 0 {
				d.SpawnGroups = d.Size + int64(len(dst)-begun)
			}
			dst = appendRecord(dst, cmdSpawnGroups, tick, message)
			i += n - 1
		default:
			dst = appendRecord(dst, r.command, tick, r.contents)
		}
	}
	if part == Start {
		dst = appendRecord(dst, record.CmdSyncTick, -1, nil)
	}
	return dst, nil
}

// fileInfo returns CDemoFileInfo.
func (d *Demo) fileInfo() []byte {
	seconds := float32(float64(d.Ticks()) * float64(d.TickInterval))
	info := binary.LittleEndian.AppendUint32([]byte{1<<3 | 5}, math.Float32bits(seconds))
	return number(number(info, 2, uint64(max(d.Ticks(), 0))), 3, uint64(d.Packets))
}

// ErrResume means that a file is not the beginning of what its broadcast makes of it.
var ErrResume = errors.New("the file has other bytes than its broadcast")

// Resume returns the part of bytes that a file lacks. bytes are those that a body adds to the file, and tail is what the file has of them,
// behind the size at which the body begins. It returns ErrResume if tail is not a beginning of bytes.
func Resume(tail, added []byte) ([]byte, error) {
	if !bytes.HasPrefix(added, tail) {
		return nil, ErrResume
	}
	return added[len(tail):], nil
}

// maxHead is the most that a record of a demo takes besides what it contains: four numbers of at most 5 bytes, and a field's tag.
const maxHead = 21

// appendRecord appends a record of a demo.
func appendRecord(dst []byte, command uint32, tick int32, contents []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(command))
	dst = binary.AppendUvarint(dst, uint64(uint32(tick)))
	dst = binary.AppendUvarint(dst, uint64(len(contents)))
	return append(dst, contents...)
}

// field, text and number append a field of a protobuf message. Empty text is left out.
func field(dst []byte, n int, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(n)<<3|2)
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func text(dst []byte, n int, s string) []byte {
	if s == "" {
		return dst
	}
	return field(dst, n, []byte(s))
}

func number(dst []byte, n int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(n)<<3), v)
}
