package dem_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

func never() error { return nil }

// indexOf reads the heads of all records, and returns the offsets of the key frames, too.
func indexOf(t *testing.T, data []byte) (x dem.Index, frames []int64) {
	t.Helper()
	x.KeyFrame = func(offset int64, _ int32) { frames = append(frames, offset) }
	if err := x.Read(bytes.NewReader(data), never); err != nil {
		t.Fatal(err)
	}
	return x, frames
}

// TestIndexGrows reads the heads of a demo that grows by a byte at a time. Each time it knows the same as one that reads the demo from its
// beginning, and at the end what decoding finds.
func TestIndexGrows(t *testing.T) {
	data := demtest.Sample()
	var x dem.Index
	for n := range len(data) + 1 {
		if n < 16 { // no header yet
			continue
		}
		y := dem.Index{End: x.End, LastTick: x.LastTick, Records: x.Records, Finished: x.Finished, Info: x.Info} // as it is kept by who continues
		if err := y.Read(bytes.NewReader(data[x.End:n]), never); err != nil {
			t.Fatalf("at byte %d: %v", n, err)
		}
		x = y
		whole, _ := indexOf(t, data[:n])
		if x.End != whole.End || x.LastTick != whole.LastTick || x.Records != whole.Records || x.Finished != whole.Finished ||
			(x.Info == nil) != (whole.Info == nil) {
			t.Fatalf("at byte %d: %+v, from the beginning %+v", n, x, whole)
		}
		if x.Finished && n < len(data)-1024 {
			t.Fatalf("it is over at byte %d of %d", n, len(data))
		}
	}
	d := dem.New(bytes.NewReader(data), dem.Options{})
	var ev dem.Event
	for {
		err := d.Next(&ev)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if x.LastTick != d.Tick() || !x.Finished || x.End != int64(len(data)) {
		t.Errorf("%+v, the decoder ends at tick %d of %d bytes", x, d.Tick(), len(data))
	}
	_, info, tick, ok, err := dem.ReadInfo(bytes.NewReader(data))
	if err != nil || ok != (x.Info != nil) || ok && (info.PlaybackTicks != x.Info.PlaybackTicks || tick > x.LastTick) {
		t.Errorf("at the end %+v, from the offset in the header %v %+v, %v", x.Info, ok, info, err)
	}
}

// TestIndexPauses: an error of pause ends the reading, which can go on from there.
func TestIndexPauses(t *testing.T) {
	data, err := demtest.Repeat(demtest.Sample(), 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	later := errors.New("later")
	var x dem.Index
	rounds := 0
	for err = later; errors.Is(err, later); rounds++ {
		err = x.Read(bytes.NewReader(data[x.End:]), func() error { return later })
	}
	whole, _ := indexOf(t, data)
	if err != nil || rounds < 2 || x.End != whole.End || x.Records != whole.Records || x.LastTick != whole.LastTick {
		t.Errorf("%d rounds, %+v, at once %+v, %v", rounds, x, whole, err)
	}
}
