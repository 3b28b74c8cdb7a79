package sc2replay

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"unsafe"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay/mpq"
	"github.com/replayd/replayd/decoders/sc2replay/names"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
	"github.com/replayd/replayd/decoders/sc2replay/wire"
)

// Names of members.
const (
	memberDetails    = "replay.details"
	memberInitData   = "replay.initData"
	memberInfo       = "replay.info" // the name of initData in the beta of 2010
	memberAttributes = "replay.attributes.events"
	memberGame       = "replay.game.events"
	memberMessage    = "replay.message.events"
	memberTracker    = "replay.tracker.events"
	memberMetadata   = "replay.gamemetadata.json"
	memberMetadata12 = "replay.gamemetadata" // the name at some time in 3.12
	memberLobby      = "replay.server.battlelobby"
	backup           = ".backup" // suffix of a client's copies of members that it rewrote
)

// streamMembers are the members with the event streams.
var streamMembers = [...]string{protocol.Game: memberGame, protocol.Message: memberMessage, protocol.Tracker: memberTracker}

// Limits on the size of members. The largest known have 2 KB of details, 10 KB of initData, 16 KB of attributes, 1 MB
// of game events and 3.4 MB of tracker events.
const (
	maxSmall   = 128 << 10
	maxMember  = 4 << 20
	maxGame    = 16 << 20
	maxTracker = 24 << 20
	maxMessage = 2 << 20
	maxRatio   = 128 // unpacked to packed size, beyond 64 KiB
)

// Replay is an open replay without its events. Unreadable parts are empty, and Parts describes why.
type Replay struct {
	// Start is the header. Its DecodeInfo contains the table that was chosen by the header alone.
	Start Start
	// Details, Lobby, Attributes and Metadata are the contents of these parts.
	Details    Details
	Lobby      Lobby
	Attributes Attributes
	Metadata   GameMetadata
	// Has reports which of those parts were found and could be read.
	Has struct{ Details, Lobby, Attributes, Metadata bool }
	// Players lists everyone in the lobby, in the order of slots: humans, computers and observers. While the replay is not
	// Settled, some who are listed as players may be observers.
	Players []PlayerInfo
	// Parts describes how completely each part was read.
	Parts []PartStatus

	// Damage is the error that prevented opening the archive, or nil. Without the archive there is only the header, and
	// members that could be salvaged.
	Damage error
	// Fault is the first problem with the archive or a part above, or nil. It is a *decoders.Error.
	Fault error

	data     *Data
	archive  *mpq.Archive
	salvaged map[string][]byte // members, if there is no archive
	table    *protocol.Table
	match    protocol.Match
	roster   roster
	// unproven reports whether the table fits a stream only in part.
	unproven bool
	// names are the names of abilities and unit types, or nil if there are none. nameTable describes them.
	names     *names.Table
	nameTable NameTable
}

// Open reads a replay's header and its small parts. It returns an error if it cannot read the header, or if r fails
// with an error other than io.EOF.
//
// Open keeps r, which must stay readable until all events are decoded.
func Open(r io.ReaderAt, size int64) (*Replay, error) {
	return OpenWithin(r, size, func(int64) error { return nil })
}

// OpenWithin is like Open, for callers that count memory. Searching a damaged archive takes up to some 50 MiB: take is called
// with a number of bytes before they are used. OpenWithin returns an error of take unchanged. A negative number gives bytes back.
// Kept memory is part of Decoder.Held.
func OpenWithin(r io.ReaderAt, size int64, take func(bytes int64) error) (*Replay, error) {
	content, offset, _, err := mpq.UserData(r, size)
	if err != nil {
		return nil, err
	}
	if content == nil {
		return nil, decoders.Errorf(decoders.SC2Replay, 0, decoders.NoTick, "header", decoders.ErrUnsupported,
			"an MPQ archive without a replay's header")
	}
	p := &Replay{data: inUse()}
	if err := p.readHeader(content, offset); err != nil {
		return nil, err
	}
	p.chooseTable()
	p.archive, p.Damage = mpq.Open(r, size)
	var bad *decoders.Error
	if p.Damage != nil && !errors.As(p.Damage, &bad) {
		return nil, p.Damage
	}
	if p.Damage != nil {
		if err := p.salvage(r, size, take); err != nil {
			return nil, err
		}
	}
	p.checkArchive()
	p.readDetails()
	p.readLobby()
	p.readAttributes()
	p.readMetadata()
	p.chooseNames()
	p.setClocks()
	p.resolvePlayers()
	p.Start.DecodeInfo = p.decodeInfo(p.Parts)
	p.Start.HasDecodeInfo = true
	return p, nil
}

// readHeader reads the header, which is the archive's user data.
func (p *Replay) readHeader(content []byte, offset int64) error {
	tables := p.data.tables
	builds := tables.Builds()
	newest, err := tables.Table(builds[len(builds)-1])
	if err != nil {
		return err
	}
	var failed bool
	var used int
	if len(content) > 0 && content[0] == byte(wire.TagStruct) {
		// The header's values contain their tags, so the newest table serves all builds.
		plan, err := rootPlan(newest.Header, reflect.TypeFor[Start]())
		if err != nil {
			return err
		}
		v := wire.NewVersioned(content)
		plan.fillVersioned(&v, unsafe.Pointer(&p.Start))
		failed, used = v.Failed(), v.Offset()
	} else {
		// The beta of 2010 has the first published layout, bit-packed.
		oldest, err := tables.Table(builds[0])
		if err != nil {
			return err
		}
		plan, err := rootPlan(oldest.Header, reflect.TypeFor[Start]())
		if err != nil {
			return err
		}
		b := wire.NewPacked(content)
		plan.fillPacked(&b, unsafe.Pointer(&p.Start))
		failed, used = b.Failed(), b.Offset()
		p.Start.BetaHeader = true
	}
	p.Start.NgdpRootKey.hexTexts()
	p.Start.ReplayCompatibilityHash.hexTexts()
	// A signature as long as ours is a damaged one.
	if other := p.Start.Signature; bytes.HasSuffix(other, []byte(signatureEnd)) && !isSignature(other) &&
		len(other) != len(signature)+len(signatureMark) {
		return decoders.Errorf(decoders.SC2Replay, offset, decoders.NoTick, "header", decoders.ErrUnsupported,
			"%.40q of another game", bytes.TrimSuffix(other, []byte(signatureEnd)))
	}
	v := &p.Start.Version
	if !p.Start.HasVersion || v.BaseBuild == 0 && v.Build == 0 || p.Start.BetaHeader && !isSignature(p.Start.Signature) {
		if failed {
			return decoders.Errorf(decoders.SC2Replay, offset+int64(used), decoders.NoTick, "header", decoders.ErrTruncated,
				"no version in %d bytes", len(content))
		}
		return decoders.Errorf(decoders.SC2Replay, offset, decoders.NoTick, "header", decoders.ErrCorrupt, "no version")
	}
	if v.BaseBuild == 0 {
		v.BaseBuild = v.Build
	}
	var damage error
	switch {
	case failed:
		damage = decoders.Errorf(decoders.SC2Replay, offset+int64(used), decoders.NoTick, "header", decoders.ErrTruncated, "it ends early")
	case !isSignature(p.Start.Signature):
		damage = decoders.Errorf(decoders.SC2Replay, offset, decoders.NoTick, "header", decoders.ErrCorrupt,
			"signature %.40q", p.Start.Signature)
	}
	p.status("header", used, used, damage)
	return nil
}

// A header's signature is the name of a game and of the kind of file.
const (
	signature     = "StarCraft II replay"
	signatureMark = "\x1b11"
	signatureEnd  = " replay" + signatureMark
)

func isSignature(s []byte) bool {
	return len(s) >= len(signature) && string(s[:len(signature)]) == signature
}

// chooseTable chooses the protocol table by the header.
func (p *Replay) chooseTable() {
	build, match := p.data.tables.Select(int(p.Start.Version.BaseBuild))
	p.match = match
	p.table, _ = p.data.tables.Table(build) // Select returns only builds with a table
}

// Settled reports whether the header and the small parts determine the table for the events, and the players. Otherwise the
// Replay of Unpack has them, after a look at the events.
func (p *Replay) Settled() bool { return p.match != protocol.Nearest && !p.mayChoosePlayers() }

// decodeInfo returns a description of how the replay is decoded.
func (p *Replay) decodeInfo(parts []PartStatus) DecodeInfo {
	return DecodeInfo{
		BaseBuild: p.Start.Version.BaseBuild, TableBuild: uint32(p.table.Build), Match: TableMatch(p.match), Parts: parts,
		Names: p.nameTable, HasNames: true, Unproven: p.unproven,
	}
}

// readDetails reads replay.details, or the copy that clients leave when they rewrite it.
func (p *Replay) readDetails() {
	found, whole := false, false
	for _, name := range []string{memberDetails, memberDetails + backup} {
		data, ok, err := p.member(name, maxSmall)
		if !ok {
			continue
		}
		found = true
		if len(data) == 0 {
			p.status(name, 0, 0, err)
			continue
		}
		d, used, detailsErr := p.detailsOf(name, data)
		if err == nil {
			err = detailsErr
		}
		p.status(name, len(data), used, err)
		// A copy replaces a blanked file, and an intact one replaces a damaged one. A copy replaces nothing better.
		n, better := len(d.PlayerList), len(d.PlayerList) > len(p.Details.PlayerList)
		if used > 1 && (!p.Has.Details || better || !whole && err == nil && n > 0) {
			p.Details, p.Has.Details, whole = d, true, err == nil
		}
		if err == nil && n > 0 {
			return
		}
	}
	if !found {
		p.absent(memberDetails)
	}
}

// detailsOf parses details and returns the number of bytes used.
func (p *Replay) detailsOf(name string, data []byte) (d Details, used int, err error) {
	plan, err := rootPlan(p.table.Details, reflect.TypeFor[Details]())
	if err != nil {
		return d, 0, err
	}
	v := wire.NewVersioned(data)
	plan.fillVersioned(&v, unsafe.Pointer(&d))
	for i := range d.PlayerList {
		toon := &d.PlayerList[i].Toon
		toon.ProgramId = bytes.Trim(toon.ProgramId, "\x00") // four bytes, of which two are "S2"
	}
	handleTexts(d.CacheHandles)
	d.TimeUtc, d.HasTimeUtc = timeOf(int64(d.TimeUtc))
	used = v.Offset()
	switch {
	case v.Failed():
		err = decoders.Errorf(decoders.SC2Replay, int64(used), decoders.NoTick, name, decoders.ErrCorrupt, "it ends early")
	case used < len(data):
		err = decoders.Errorf(decoders.SC2Replay, int64(used), decoders.NoTick, name, decoders.ErrCorrupt,
			"%d bytes follow", len(data)-used)
	}
	return d, used, err
}

// filetime is the time 1970 in units of 100 ns since 1601, the form of times in files.
const filetime = 116444736000000000

// timeOf returns the time of such a number. It is known only after 1970, and in years of four digits.
func timeOf(units int64) (t decoders.Time, known bool) {
	const year10000 = 253402300800
	if units <= filetime || units >= filetime+year10000*1e7 {
		return 0, false
	}
	return decoders.Time((units - filetime) / 10), true
}

// readLobby reads replay.initData, or the copy that clients leave when they rewrite it.
func (p *Replay) readLobby() {
	found := false
	for _, name := range []string{memberInitData, memberInitData + backup, memberInfo} {
		data, ok, err := p.member(name, maxSmall)
		if !ok {
			continue
		}
		found = true
		if len(data) == 0 {
			p.status(name, 0, 0, err)
			continue
		}
		lobby, used, fits := lobbyOf(data, p.table)
		if !fits && p.match == protocol.Nearest {
			for _, build := range p.data.tables.Neighbours(int(p.Start.Version.BaseBuild), maxCandidates) {
				table, tableErr := p.data.tables.Table(build)
				if tableErr != nil {
					continue
				}
				if l, n, ok := lobbyOf(data, table); ok {
					lobby, used, fits = l, n, true
					break
				}
			}
		}
		if !fits && err == nil {
			err = decoders.Errorf(decoders.SC2Replay, int64(used), decoders.NoTick, name, decoders.ErrCorrupt,
				"it does not have the layout of base build %d, table %d", p.Start.Version.BaseBuild, p.table.Build)
		}
		if fits && (!p.Has.Lobby || err == nil) {
			p.Lobby, p.Has.Lobby = *lobby, true
		}
		p.status(name, len(data), used, err)
		if fits && err == nil {
			return
		}
	}
	if !found {
		p.absent(memberInitData)
	}
}

// lobbyOf parses initData with a table. It returns the number of bytes used, and whether the table fits.
func lobbyOf(data []byte, table *protocol.Table) (lobby *Lobby, used int, fits bool) {
	plan, err := rootPlan(table.InitData, reflect.TypeFor[Lobby]())
	if err != nil || len(data) == 0 {
		return nil, 0, false
	}
	lobby = &Lobby{}
	r := wire.NewPacked(data)
	plan.fillPacked(&r, unsafe.Pointer(lobby))
	handleTexts(lobby.GameDescription.CacheHandles)
	for i := range lobby.UserInitialData {
		lobby.UserInitialData[i].finish()
	}
	return lobby, r.Offset(), !r.Failed() && r.Remaining() < 8
}

// loopsPerGameSecond is the number of gameloops in a second of the speed "Normal", for all versions.
const loopsPerGameSecond = 16

// speedFactors are the ratios of each game speed to game time.
var speedFactors = [...]float64{0.6, 0.8, 1, 1.2, 1.4}

// assumedSpeed is the speed of a replay that does not state it: "Faster", as in nearly all games.
const assumedSpeed = 4

// gameScope is the scope of attributes of the game, in the place of a player's number.
const gameScope = 16

// speedAttributes are the values of the attribute of the game's speed.
var speedAttributes = []string{"Slor", "Slow", "Norm", "Fast", "Fasr"}

// Speed returns the game's speed, 0 (slower) to 4 (faster), and whether the replay states it. Otherwise it is an assumption.
func (p *Replay) Speed() (speed int, stated bool) {
	if at := slices.Index(speedAttributes, p.attribute(attributeSpeed, gameScope)); at >= 0 {
		speed, stated = at, true
	}
	switch {
	case p.Has.Details:
		speed, stated = int(p.Details.GameSpeed), true
	case p.Has.Lobby:
		speed, stated = int(p.Lobby.GameDescription.GameSpeed), true
	case !stated:
		speed = assumedSpeed
	}
	return min(speed, len(speedFactors)-1), stated
}

// setClocks computes the length of the game.
func (p *Replay) setClocks() {
	s := &p.Start
	speed, stated := p.Speed()
	s.LoopsPerRealSecond = loopsPerGameSecond * speedFactors[speed]
	if stated {
		s.GameSpeed = []byte(SpeedName(speed))
	}
	s.GameSeconds = float64(s.ElapsedGameLoops) / loopsPerGameSecond
	s.RealSeconds = float64(s.ElapsedGameLoops) / s.LoopsPerRealSecond
	s.LoopsPerClockSecond = loopsPerGameSecond
	if s.UseScaledTime {
		s.LoopsPerClockSecond = s.LoopsPerRealSecond
	}
	s.ClockSeconds = float64(s.ElapsedGameLoops) / s.LoopsPerClockSecond
}
