package datafile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	datafilev1 "github.com/replayd/replayd/proto/replayd/datafile/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
)

// maxLayers is the largest number of layers in a summary. Real maps have some dozens.
const maxLayers = 4096

// addHeader adds the facts of a map's header to the description of a replay.
func addHeader(ctx context.Context, f *datafile.File, in source.Input, r *replaydv1.Replay) error {
	s, err := summarize(ctx, f)
	if err != nil {
		return err
	}
	if s.Crc32, s.Sha256, err = hash(ctx, in); err != nil {
		return err
	}
	r.Header = &replaydv1.Replay_Datafile{Datafile: s}
	r.Identity = "datafile:sha256:" + s.GetSha256()
	r.Coordinates = &replaydv1.Coordinates{
		UnitsPerCell: new(32.0), Origin: replaydv1.Origin_ORIGIN_TOP_LEFT, YAxis: replaydv1.VerticalAxis_VERTICAL_AXIS_DOWN,
	}
	return nil
}

// hash returns the checksums by which servers and their logs name maps.
func hash(ctx context.Context, in source.Input) (crc, sha string, err error) {
	c, s := crc32.NewIEEE(), sha256.New()
	src := io.NewSectionReader(in.At, 0, in.Size)
	for {
		if err := ctx.Err(); err != nil {
			return "", "", err
		}
		switch _, err := io.CopyN(io.MultiWriter(c, s), src, 1<<20); {
		case errors.Is(err, io.EOF):
			return fmt.Sprintf("%08x", c.Sum32()), hex.EncodeToString(s.Sum(nil)), nil
		case err != nil:
			return "", "", err
		}
	}
}

// summarize decodes the items that a summary needs, and inflates no more than the texts of the first info item.
func summarize(ctx context.Context, f *datafile.File) (*datafilev1.Summary, error) {
	s := new(datafilev1.Summary)
	d := f.Events(datafile.Options{Want: func(kind datafile.Kind, _ datafile.Place) bool {
		switch kind {
		case datafile.KindHeader, datafile.KindItemType,
			datafile.KindTileLayer, datafile.KindQuadLayer, datafile.KindSoundLayer:
			return true
		case datafile.KindInfo:
			return s.Info == nil
		case datafile.KindSettings:
			return s.NumSettings == 0
		}
		return false
	}})
	var ev datafile.Event
	for ctx.Err() == nil {
		err := d.Next(&ev)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, decoders.ErrCorrupt): // ErrCorrupt: a text is damaged; all else was delivered
			return s, nil
		case err != nil:
			return nil, err
		}
		addToSummary(s, &ev)
	}
	return nil, ctx.Err()
}

func addToSummary(s *datafilev1.Summary, ev *datafile.Event) {
	switch ev.Kind {
	case datafile.KindHeader:
		h := &ev.Header
		s.Header = &datafilev1.Header{
			Version: h.Version, SwappedMagic: h.SwappedMagic, CrudeSizes: h.CrudeSizes,
			NumItemTypes: h.NumItemTypes, NumItems: h.NumItems, NumData: h.NumData, ItemBytes: h.ItemBytes,
			DataBytes: h.DataBytes, InflatedBytes: h.InflatedBytes, FileBytes: h.FileBytes,
		}
	case datafile.KindItemType:
		switch n := ev.ItemType.Count; string(ev.ItemType.Name) {
		case "group":
			s.NumGroups = n
		case "image":
			s.NumImages = n
		case "sound":
			s.NumSounds = n
		case "envelope":
			s.NumEnvelopes = n
		case "layer":
			s.NumLayers = n
		}
	case datafile.KindInfo:
		i := &ev.Info
		s.Info = &datafilev1.Info{
			Author: text(i.Author), MapVersion: text(i.MapVersion), Credits: text(i.Credits), License: text(i.License),
			HasSettings: i.HasSettings, Extra: slices.Clone(i.Extra),
		}
	case datafile.KindSettings:
		s.NumSettings += int32(len(ev.Settings.Commands))
	case datafile.KindTileLayer:
		l := &ev.TileLayer
		if l.Kind == datafile.LayerKindGame {
			s.Width, s.Height = &l.Width, &l.Height
		}
		addLayer(s, &datafilev1.LayerSummary{
			Layer: l.Layer, Group: reference(l.Group), LayerInGroup: reference(l.LayerInGroup), Name: text(l.Name), Kind: datafilev1.LayerKind(l.Kind),
			Width: l.Width, Height: l.Height,
		})
	case datafile.KindQuadLayer:
		l := &ev.QuadLayer
		addLayer(s, &datafilev1.LayerSummary{
			Layer: l.Layer, Group: reference(l.Group), LayerInGroup: reference(l.LayerInGroup), Name: text(l.Name), Kind: datafilev1.LayerKind_LAYER_KIND_QUADS,
			NumElements: l.NumQuads,
		})
	case datafile.KindSoundLayer:
		l := &ev.SoundLayer
		addLayer(s, &datafilev1.LayerSummary{
			Layer: l.Layer, Group: reference(l.Group), LayerInGroup: reference(l.LayerInGroup), Name: text(l.Name), Kind: datafilev1.LayerKind_LAYER_KIND_SOUNDS,
			NumElements: l.NumSources,
		})
	}
}

// reference returns an index, or nil for none.
func reference(i int32) *int32 {
	if i < 0 {
		return nil
	}
	return &i
}

func addLayer(s *datafilev1.Summary, l *datafilev1.LayerSummary) {
	if len(s.GetLayers()) < maxLayers {
		s.Layers = append(s.Layers, l)
	}
}

// text converts a text to valid UTF-8 for a field of type string.
func text(b []byte) string { return string(bytes.ToValidUTF8(b, []byte("\uFFFD"))) }
