package sc2replay_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

var update = flag.Bool("update", false, "write the samples and what is expected of them anew")

// sampleFolder holds the samples, which the daemon bundles. What is expected of each lies in the testdata of this package.
const sampleFolder = "../../testdata/sc2replay"

// samples returns the replays of testdata/sc2replay.
func samples() map[string][]byte {
	out := map[string][]byte{}
	for name, build := range map[string]int{"1.0": 15405, "1.1": 16561, "2.0": 24944, "3.0": 34784, "5.0": 80949} {
		out[name] = sc2test.Sample(build).Bytes()
	}
	beta := sc2test.Sample(15405)
	beta.Beta, beta.BaseBuild, beta.Version = true, 14133, [3]int{0, 4, 0}
	out["beta"] = beta.Bytes()

	future := sc2test.Sample(80949)
	future.BaseBuild, future.Version = 123456, [3]int{6, 0, 0}
	out["future"] = future.Bytes()

	between := sc2test.Sample(34784)
	between.BaseBuild = 33000
	out["between"] = between.Bytes()

	damaged := sc2test.Sample(80949)
	damaged.Method = sc2test.Stored
	file := damaged.Bytes()
	at := bytes.Index(file, []byte("a.SC2Save"))
	file[at-3] |= 0xE0
	file[at-2] |= 0x0F
	out["damaged"] = file
	out["cut"] = out["5.0"][:2048]

	out["battle"] = sc2test.Battle().Bytes()
	broken := sc2test.Battle()
	broken.Method = sc2test.Stored
	broken.Tracker[400].Name, broken.Tracker[400].Value = "UnitDone", sc2test.S{"unitTagIndex": 1 << 30, "unitTagRecycle": 1}
	file = broken.Bytes()
	at = bytes.Index(file, binary.AppendUvarint(nil, 1<<31)) // numbers have their sign in the lowest bit
	file[at+4] |= 0x80
	out["broken"] = file

	sectors := sc2test.Sample(27950)
	sectors.Archive = sc2test.Archive{Version: 3, SectorShift: 0, PackedHashes: true}
	sectors.More = append(sectors.More, sc2test.Member{
		Name: "replay.smartcam.events", Data: bytes.Repeat([]byte("\x00\x00\x00\x00camera"), 200),
		Method: sc2test.Sparse | sc2test.Zlib, Sectors: true, SectorSums: true, Encrypted: true, FixKey: true,
	})
	out["archive"] = sectors.Bytes()
	return out
}

// TestGolden decodes the files of testdata/sc2replay, which were made for this project, and compares with the text
// files beside them. It also checks that package sc2test still writes the same files.
func TestGolden(t *testing.T) {
	for name, file := range samples() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(sampleFolder, name+".SC2Replay")
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.MkdirAll(sampleFolder, 0o755); err != nil {
					t.Fatal(err)
				}
				write(t, path, file)
			}
			have, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(have, file) {
				t.Errorf("%s is not what sc2test writes: run with -update", path)
			}
			text := render(t, have)
			if *update {
				write(t, golden, []byte(text))
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if text != string(want) {
				t.Errorf("got\n%s\nwant\n%s", text, want)
			}
		})
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// render decodes a replay into text.
func render(t *testing.T, file []byte) string {
	t.Helper()
	var out strings.Builder
	p := open(t, file)
	v := p.Start.Version
	fmt.Fprintf(&out, "version %d.%d.%d.%d base %d beta header %v\n", v.Major, v.Minor, v.Revision, v.Build, v.BaseBuild, p.Start.BetaHeader)
	fmt.Fprintf(&out, "map %s, %d loops, %.2f real seconds, %.2f shown\n", p.Details.Title, p.Start.ElapsedGameLoops, p.Start.RealSeconds, p.Start.ClockSeconds)
	d := p.Events(sc2replay.Options{})
	var ev sc2replay.Event
	var err error
	for {
		if err = d.Next(&ev); err != nil {
			break
		}
		fmt.Fprintln(&out, line(&ev))
	}
	info := d.Info()
	fmt.Fprintf(&out, "table %d, match %d\n", info.TableBuild, info.Match)
	for i := range info.Parts {
		part := &info.Parts[i]
		fmt.Fprintf(&out, "%s: state %d, %d of %d bytes, %d events to %d %s\n",
			part.Name, part.State, part.BytesRead, part.Size, part.Events, part.LastTick, part.Error)
	}
	if !errors.Is(err, io.EOF) {
		fmt.Fprintln(&out, "error:", err)
	}
	return out.String()
}
