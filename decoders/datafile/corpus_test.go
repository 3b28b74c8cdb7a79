package datafile_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/decodertest"
)

// figures holds the results of an independent reader for a file.
type figures struct {
	Bytes      int64            `json:"bytes"`
	Valid      bool             `json:"valid"`
	Version    int32            `json:"version"`
	Items      map[string]int   `json:"items"`
	NumItems   int32            `json:"num_items"`
	NumData    int32            `json:"num_data"`
	DataBytes  int64            `json:"data_bytes"`
	DataSHA256 string           `json:"data_sha256"`
	Layers     map[string]int   `json:"layers"`
	Tiles      map[string]int64 `json:"tiles"`
}

// corpus calls fn for each file of the corpus.
func corpus(t *testing.T, fn func(t *testing.T, data []byte, want figures)) {
	var reference map[string]figures
	decodertest.Reference(t, "datafile.json", &reference)
	names := make([]string, 0, len(reference))
	for name := range reference {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		t.Run(strings.TrimPrefix(name, "datafile/"), func(t *testing.T) {
			data := decodertest.Read(t, "corpus", name)
			if want := reference[name]; want.Bytes != int64(len(data)) {
				t.Fatalf("the reference is of another file: %d bytes, not %d", want.Bytes, len(data))
			}
			fn(t, data, reference[name])
		})
	}
}

func open(data []byte) (*datafile.File, error) {
	return datafile.Open(bytes.NewReader(data), int64(len(data)), datafile.DefaultLimits)
}

var layerNames = map[datafile.LayerKind]string{
	datafile.LayerKindTiles: "tiles", datafile.LayerKindGame: "game", datafile.LayerKindFront: "front",
	datafile.LayerKindTele: "tele", datafile.LayerKindSpeedup: "speedup", datafile.LayerKindSwitch: "switch",
	datafile.LayerKindTune: "tune",
}

// TestCorpus decodes every file of the corpus and compares it with the figures of an independent reader.
func TestCorpus(t *testing.T) {
	corpus(t, func(t *testing.T, data []byte, want figures) {
		if want.DataBytes > 8<<20 && !decodertest.WholeCorpus() {
			t.Skip("large")
		}
		f, err := open(data)
		if !want.Valid {
			if _, ok := errors.AsType[*decoders.Error](err); !ok {
				t.Fatalf("got error %v, want a *decoders.Error", err)
			}
			t.Log(err)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		got := figures{
			Bytes: int64(len(data)), Valid: true,
			Items: map[string]int{}, Layers: map[string]int{}, Tiles: map[string]int64{},
		}
		layers := map[int32]*layerSum{}
		d := f.Events(datafile.Options{})
		var ev datafile.Event
		for {
			err := d.Next(&ev)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range ev.Warnings {
				t.Logf("%v: warning %d", ev.Kind, w)
			}
			switch ev.Kind {
			case datafile.KindHeader:
				got.Version, got.NumItems, got.NumData = ev.Header.Version, ev.Header.NumItems, ev.Header.NumData
				got.DataBytes = ev.Header.InflatedBytes
			case datafile.KindItemType:
				got.Items[strconv.Itoa(int(ev.ItemType.Type))] = int(ev.ItemType.Count)
			case datafile.KindTileLayer:
				l := ev.TileLayer
				got.Layers[layerNames[l.Kind]]++
				got.Tiles[layerNames[l.Kind]] += int64(l.Width) * int64(l.Height)
				layers[l.Layer] = &layerSum{want: int64(l.Width) * int64(l.Height)}
			case datafile.KindQuadLayer:
				got.Layers["quads"]++
			case datafile.KindSoundLayer:
				got.Layers["sounds"]++
			case datafile.KindTiles:
				tiles := int64(ev.Tiles.Columns) * int64(ev.Tiles.Rows)
				if int64(len(ev.Tiles.Data)) != tiles*int64(ev.Tiles.BytesPerTile) {
					t.Fatalf("%d bytes of %d tiles", len(ev.Tiles.Data), tiles)
				}
				layers[ev.Tiles.Layer].got += tiles
			}
		}
		for i, l := range layers {
			if l.got != l.want {
				t.Errorf("layer %d: got %d tiles, want %d", i, l.got, l.want)
			}
		}
		sum := sha256.New()
		if err := hashData(f, sum); err != nil {
			t.Fatal(err)
		}
		got.DataSHA256 = hex.EncodeToString(sum.Sum(nil))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("unlike the reference (-want +got):\n%s", diff)
		}
	})
}

type layerSum struct{ want, got int64 }

// hashData hashes all blobs in order.
func hashData(f *datafile.File, h hash.Hash) error {
	var buf []byte
	for i := range f.NumData() {
		var err error
		if buf, err = f.AppendData(buf[:0], i); err != nil {
			return err
		}
		h.Write(buf)
	}
	return nil
}
