package teehistorian

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/decoders/teehistorian"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
)

// ticksPerSecond is the speed of every game on a DDNet server.
const ticksPerSecond = 50

var uuidText = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// scheme is the prefix of the identities of this format.
const scheme = "teehistorian:"

// addHeader adds the facts of a header to the description of a replay. Without reveal it withholds what may be a secret.
func addHeader(r *replaydv1.Replay, h *teehistorian.Header, reveal bool) {
	m := headerMessage(h)
	r.Header = &replaydv1.Replay_Teehistorian{Teehistorian: m}
	r.MapName = h.MapName
	r.Coordinates = &replaydv1.Coordinates{
		UnitsPerCell: new(32.0), Origin: replaydv1.Origin_ORIGIN_TOP_LEFT, YAxis: replaydv1.VerticalAxis_VERTICAL_AXIS_DOWN,
	}
	r.TicksPerSecond = new(float64(ticksPerSecond))
	r.StartTime = m.StartTime
	r.Identity = scheme + identity(h, m)
	if !reveal { // the identity is that of the whole header
		redacted := h.Redacted()
		m.Config, m.Other = redacted.Config, redacted.Other
	}
	m.UnknownExtensions = h.UnknownExtensions() // not part of the identity, because it depends on this program and not on the file
}

// identity returns a replay's identity: the game's UUID, or a hash of the whole header if the server wrote no UUID.
func identity(h *teehistorian.Header, m *teehistorianv1.Header) string {
	if uuidText.MatchString(h.GameUUID) {
		return h.GameUUID
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return "" // cannot happen, because all texts are valid
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func headerMessage(h *teehistorian.Header) *teehistorianv1.Header {
	m := &teehistorianv1.Header{
		Version:         h.Version,
		GameUuid:        h.GameUUID,
		PrevGameUuid:    codec.Known(h.PrevGameUUID),
		ServerVersion:   h.ServerVersion,
		StartTimeText:   h.StartTimeText,
		ServerName:      h.ServerName,
		ServerPort:      codec.Known(h.ServerPort),
		GameType:        h.GameType,
		MapName:         h.MapName,
		MapSize:         codec.Known(h.MapSize),
		MapSha256:       codec.Known(h.MapSHA256),
		MapCrc:          h.MapCRC,
		PrngDescription: codec.Known(h.PRNGDescription),
		Config:          h.Config,
		Tuning:          h.Tuning,
		Uuids:           h.UUIDs,
		Other:           h.Other,
	}
	if h.HasVersionMinor {
		m.VersionMinor = &h.VersionMinor
	}
	if !h.StartTime.IsZero() {
		m.StartTime = timestamppb.New(h.StartTime)
	}
	return m
}
