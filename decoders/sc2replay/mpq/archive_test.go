package mpq_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay/mpq"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

// contents returns members of many shapes.
func contents() []sc2test.Member {
	rnd := rand.New(rand.NewPCG(7, 8))
	noise := make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	text := bytes.Repeat([]byte("a small file, said many times. "), 40)
	holes := make([]byte, 2500)
	copy(holes[1000:], "in the middle")
	var members []sc2test.Member
	for name, data := range map[string][]byte{"noise": noise, "text": text, "holes": holes, "empty": {}, "one": {1}} {
		for _, method := range []byte{
			sc2test.Stored, sc2test.Zlib, sc2test.Bzip2, sc2test.Sparse, sc2test.Sparse | sc2test.Zlib, sc2test.Sparse | sc2test.Bzip2,
		} {
			for how := range 8 {
				members = append(members, sc2test.Member{
					Name: fmt.Sprintf(`dir\%s.%02x.%d`, name, method, how), Data: data, Method: method,
					Sectors: how&1 != 0, SectorSums: how&1 != 0 && method != 0, Encrypted: how&2 != 0, FixKey: how&6 == 6,
				})
			}
		}
	}
	return members
}

func TestRoundTrip(t *testing.T) {
	for _, a := range []sc2test.Archive{
		{Version: 0, SectorShift: 3}, {Version: 1, SectorShift: 3}, {Version: 2, SectorShift: 0}, {Version: 3, SectorShift: 5},
		{Version: 1, SectorShift: 1, HiBlocks: true}, {Version: 1, SectorShift: 3, PackedHashes: true},
		{Version: 3, SectorShift: 3, PackedHashes: true}, {Version: 0, SectorShift: 3, Deleted: 5},
	} {
		a.UserData = []byte("who was here")
		a.Members = contents()
		t.Run(fmt.Sprintf("version %d shift %d hi %v packed %v", a.Version, a.SectorShift, a.HiBlocks, a.PackedHashes), func(t *testing.T) {
			file := a.Bytes()
			user, offset, _, err := mpq.UserData(bytes.NewReader(file), int64(len(file)))
			if err != nil || !bytes.HasPrefix(user, a.UserData) || offset != 16 {
				t.Errorf("user data %.20q at %d: %v", user, offset, err)
			}
			opened, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			if opened.Version != a.Version {
				t.Errorf("version %d", opened.Version)
			}
			for _, m := range a.Members {
				found, ok := opened.Find(m.Name)
				if !ok {
					t.Errorf("%s: not found", m.Name)
					continue
				}
				got, err := opened.Append([]byte("before"), found)
				if err != nil || !bytes.Equal(got, append([]byte("before"), m.Data...)) {
					t.Errorf("%s: %d bytes, want %d more than 6: %v", m.Name, len(got), len(m.Data), err)
				}
			}
			if _, ok := opened.Find("nothing"); ok {
				t.Error("found a name that does not exist")
			}
		})
	}
}

func TestFindIgnoresCaseAndSlashes(t *testing.T) {
	a := sc2test.Archive{Members: []sc2test.Member{{Name: `Replay\Some.Events`, Data: []byte("x")}}}
	file := a.Bytes()
	opened, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := opened.Find("replay/some.EVENTS"); !ok {
		t.Error("not found")
	}
}

// TestFullHashTable searches a hash table without an unused slot, in which some readers loop forever.
func TestFullHashTable(t *testing.T) {
	var a sc2test.Archive
	for i := range 4 {
		a.Members = append(a.Members, sc2test.Member{Name: fmt.Sprint("member ", i), Data: []byte{byte(i)}})
	}
	a.HashSlots = 4
	file := a.Bytes()
	opened, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		_, ok := opened.Find("nothing")
		done <- ok
	}()
	select {
	case ok := <-done:
		if ok {
			t.Error("found a name that does not exist")
		}
	case <-time.After(time.Minute):
		t.Fatal("the search does not end")
	}
}

func TestHeaderIsSearched(t *testing.T) {
	a := sc2test.Archive{Members: []sc2test.Member{{Name: "m", Data: []byte("x")}}}
	file := a.Bytes()
	binary.LittleEndian.PutUint32(file[8:], 12345)
	opened, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := opened.Find("m"); !ok {
		t.Error("not found")
	}
}

func TestErrors(t *testing.T) {
	plain := func() []byte {
		a := sc2test.Archive{Version: 1, SectorShift: 3, Members: []sc2test.Member{{
			Name: "m", Data: bytes.Repeat([]byte("text "), 100), Method: sc2test.Zlib,
		}}}
		return a.Bytes()
	}
	const archive = 1024
	for _, tt := range []struct {
		name string
		edit func(file []byte) []byte
		want error
	}{
		{"empty", func([]byte) []byte { return nil }, decoders.ErrTruncated},
		{"other magic", func(f []byte) []byte { f[3] = 'x'; return f }, decoders.ErrCorrupt},
		{"no archive", func(f []byte) []byte { f[archive] = 'x'; return f }, decoders.ErrCorrupt},
		{"cut before the archive", func(f []byte) []byte { return f[:archive] }, decoders.ErrTruncated},
		{"cut in the tables", func(f []byte) []byte { return f[:len(f)-5] }, decoders.ErrTruncated},
		{"version 4", func(f []byte) []byte { f[archive+4], f[archive+12] = 240, 4; return f }, decoders.ErrUnsupported},
		{"version 4 with an older header", func(f []byte) []byte { f[archive+12] = 4; return f }, decoders.ErrCorrupt},
		{"sector shift", func(f []byte) []byte { f[archive+14] = 40; return f }, decoders.ErrCorrupt},
		{"many hashes", func(f []byte) []byte { f[archive+27] = 1; return f }, decoders.ErrCorrupt},
		{"odd number of hashes", func(f []byte) []byte { f[archive+24] = 3; return f }, decoders.ErrCorrupt},
		{"many blocks", func(f []byte) []byte { f[archive+31] = 1; return f }, decoders.ErrCorrupt},
		{"hashes far away", func(f []byte) []byte { f[archive+19] = 1; return f }, decoders.ErrTruncated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := tt.edit(plain())
			_, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
			var e *decoders.Error
			if !errors.Is(err, tt.want) || !errors.As(err, &e) || e.Format != decoders.SC2Replay {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// packedAs returns the error of a member with this method's byte before these bytes, which are 500 when unpacked.
func packedAs(t *testing.T, method byte, data ...byte) error {
	t.Helper()
	a := sc2test.Archive{Version: 1, SectorShift: 3, Members: []sc2test.Member{{
		Name: "m", Data: bytes.Repeat([]byte("text "), 100), Method: sc2test.Zlib,
	}}}
	file := a.Bytes()
	const member = 1024 + 44 // it follows the archive's header
	file[member] = method
	copy(file[member+1:], data)
	opened, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := opened.Find("m")
	_, err = opened.Append(nil, m)
	return err
}

// TestUnsupportedCompression: a method that exists is unsupported, where data begin as its data do.
func TestUnsupportedCompression(t *testing.T) {
	size := []byte{0xF4, 1, 0, 0, 0, 0, 0, 0}
	for _, tt := range []struct {
		method byte
		data   []byte
		want   string
	}{
		{0x08, []byte{0, 6}, "PKWARE implode"}, {0x08, []byte{1, 4}, "PKWARE implode"},
		{0x12, append([]byte{0, 0x5D, 0, 0, 1, 0}, size...), "LZMA"},
		{0x12, append([]byte{0, 0x5D, 0, 0, 1, 0}, bytes.Repeat([]byte{0xFF}, 8)...), "LZMA"},
		{0x41, []byte{7}, "ADPCM mono and Huffman"}, {0x81, []byte{8}, "ADPCM stereo and Huffman"},
		// Not what such data begin with.
		{0x08, []byte{2, 4}, ""}, {0x08, []byte{0, 7}, ""}, {0x08, []byte{0, 3}, ""}, {0x41, []byte{9}, ""},
		{0x12, append([]byte{1, 0x5D, 0, 0, 1, 0}, size...), ""}, {0x12, append([]byte{0, 225, 0, 0, 1, 0}, size...), ""},
		{0x12, append([]byte{0, 0x5D, 0, 0, 1, 0, 1}, size...), ""},
	} {
		err, kind := packedAs(t, tt.method, tt.data...), decoders.ErrUnsupported
		if tt.want == "" {
			kind, tt.want = decoders.ErrCorrupt, fmt.Sprintf("method of compression %#02x", tt.method)
		}
		if !errors.Is(err, kind) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("method %#x before % x: %v, want %v: %s", tt.method, tt.data, err, kind, tt.want)
		}
	}
}

// TestFlags: a member of a form that exists is unsupported. Flags that are none, or that do not go together, are damaged; so is a
// patch that does not begin as one, and a version of the checksums that is not the only one.
func TestFlags(t *testing.T) {
	text := bytes.Repeat([]byte("text "), 100)
	const implode, compress, patch = 0x100, 0x200, 0x100000
	for name, tt := range map[string]struct {
		data []byte
		flip uint32
		want error
	}{
		"nothing":              {text, 0, nil},
		"implode":              {text, implode | compress, decoders.ErrUnsupported},
		"implode and compress": {text, implode, decoders.ErrCorrupt},
		"unknown":              {text, 0x400, decoders.ErrCorrupt},
		"no patch":             {text, patch, decoders.ErrCorrupt},
		"patch":                {append([]byte{28, 0, 0, 0}, text...), patch, decoders.ErrUnsupported},
		"a short patch":        {[]byte{28, 0, 0, 0}, patch, decoders.ErrCorrupt},
	} {
		method := byte(sc2test.Zlib)
		if tt.flip == patch {
			method = sc2test.Stored
		}
		a := sc2test.Archive{Members: []sc2test.Member{{Name: "m", Data: tt.data, Method: method}}, Flip: map[string]uint32{"m": tt.flip}}
		file := a.Bytes()
		opened, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		m, _ := opened.Find("m")
		if _, err = opened.Append(nil, m); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	a := sc2test.Archive{Members: []sc2test.Member{{Name: mpq.AttributesFile, Data: []byte{101, 0, 0, 0, 0, 0, 0, 0}}}}
	file := a.Bytes()
	opened, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil || len(opened.Faults) != 1 || !errors.Is(opened.Faults[0], decoders.ErrCorrupt) {
		t.Errorf("checksums of version 101: %v, %v", err, opened.Faults)
	}
}

// TestDamagedMethod: before zlib's data every byte is damaged but its own. It is never told as a method that is not supported.
func TestDamagedMethod(t *testing.T) {
	for method := range 256 {
		err := packedAs(t, byte(method))
		if method == sc2test.Zlib {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, decoders.ErrCorrupt) && !errors.Is(err, decoders.ErrTruncated) || errors.Is(err, decoders.ErrUnsupported) || errors.Is(err, decoders.ErrLimit) {
			t.Errorf("method %#x: %v", method, err)
		}
	}
}

func TestNames(t *testing.T) {
	a := sc2test.Archive{Members: []sc2test.Member{
		{Name: "a", Data: []byte("1")}, {Name: "b", Data: []byte("2")}, {Name: mpq.ListFile, Data: []byte("a\r\nb\r\nc\r\n")},
	}}
	file := a.Bytes()
	opened, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := opened.Names(), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzOpen(f *testing.F) {
	for version := range 4 {
		a := sc2test.Archive{Version: version, UserData: []byte("u"), PackedHashes: version&1 != 0, HiBlocks: version == 2}
		for i, method := range []byte{0, sc2test.Zlib, sc2test.Bzip2, sc2test.Sparse | sc2test.Zlib} {
			a.Members = append(a.Members, sc2test.Member{
				Name: fmt.Sprint("m", i), Data: bytes.Repeat([]byte{0, 0, 0, 0, 1}, 200), Method: method,
				Sectors: i&1 != 0, Encrypted: i&2 != 0,
			})
		}
		f.Add(a.Bytes())
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		a.Names()
		for i := range 4 {
			m, ok := a.Find(fmt.Sprint("m", i))
			if !ok || m.Size > 1<<20 {
				continue
			}
			if got, err := a.Append(nil, m); int64(len(got)) > m.Size || err == nil && int64(len(got)) != m.Size {
				t.Fatalf("%d bytes of %d: %v", len(got), m.Size, err)
			}
		}
	})
}
