package teetest_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
)

// decode returns how many events, warnings and damages a recording has, and how it ends.
func decode(recording []byte) (events, warnings, damages int, end error) {
	d := teehistorian.New(bytes.NewReader(recording), teehistorian.Options{})
	for ev := new(teehistorian.Event); ; events++ {
		if err := d.Next(ev); err != nil {
			return events, warnings, damages, err
		}
		warnings += len(ev.Warnings)
		if ev.Kind == teehistorian.KindDamage {
			damages++
		}
	}
}

// Test checks that a repeated sample is sound, and that a damaged one has two damages with events behind them.
func Test(t *testing.T) {
	sample := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	long := teetest.Repeat(sample, 60_000)
	all, warnings, damages, err := decode(long)
	if len(long) < 60_000 || warnings+damages != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d events, %d warnings, %d damages, %v", all, warnings, damages, err)
	}
	events, warnings, damages, err := decode(teetest.Damage(long))
	if damages != 2 || warnings < all/3 || events < all*3/4 || !errors.Is(err, decoders.ErrCorrupt) {
		t.Errorf("damaged: %d events of %d, %d warnings, %d damages, %v", events, all, warnings, damages, err)
	}
}
