package packaging_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// systems has the beginning of a program for each system that has a wheel.
func systems() map[string][]byte {
	elf := func(machine uint16, interpreted bool) []byte {
		b := make([]byte, 120)
		copy(b, "\x7fELF\x02\x01\x01")
		binary.LittleEndian.PutUint16(b[18:], machine)
		binary.LittleEndian.PutUint64(b[32:], 64)
		binary.LittleEndian.PutUint16(b[54:], 56)
		binary.LittleEndian.PutUint16(b[56:], 1)
		if b[64] = 1; interpreted {
			b[64] = 3
		}
		return b
	}
	pe := func(machine uint16) []byte {
		b := make([]byte, 134)
		copy(b, "MZ")
		b[60] = 128
		copy(b[128:], "PE")
		binary.LittleEndian.PutUint16(b[132:], machine)
		return b
	}
	macho := func(cpu uint32) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 0xfeedfacf), cpu)
	}
	return map[string][]byte{
		"linux/amd64": elf(62, false), "linux/arm64": elf(183, false), "darwin/amd64": macho(0x1000007), "darwin/arm64": macho(0x100000c),
		"windows/amd64": pe(0x8664), "windows/arm64": pe(0xaa64), "interpreted": elf(62, true),
	}
}

// TestWheels: the wheels that packaging/wheel makes are what packaging/checkwheels expects, which says what is wrong with others.
func TestWheels(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no Python")
	}
	source := filepath.Join(t.TempDir(), "replayd-1.2.3-py3-none-any.whl")
	file, err := os.Create(filepath.Clean(source))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(file)
	for _, f := range [][2]string{
		{"replayd/py.typed", ""}, {"replayd-1.2.3.dist-info/licenses/LICENSE", "licence"}, {"replayd-1.2.3.dist-info/RECORD", ""},
		{"replayd-1.2.3.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
	} {
		w, err := z.Create(f[0])
		if err == nil {
			_, err = w.Write([]byte(f[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	build := func(system string, program []byte) string {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, program, 0o600); err != nil {
			t.Fatal(err)
		}
		goos, arch, _ := strings.Cut(system, "/")
		out, err := exec.CommandContext(t.Context(), "./wheel", goos, arch, path, source, dir).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", system, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	check := func(systems ...string) (string, bool) {
		out, err := exec.CommandContext(t.Context(), "./checkwheels", append([]string{dir}, systems...)...).CombinedOutput()
		return string(out), err == nil
	}
	programs := systems()
	for system, program := range programs {
		if system != "interpreted" {
			build(system, program)
		}
	}
	if out, ok := check(); !ok || strings.Count(out, "MiB, installed") != 6 {
		t.Errorf("all systems: %s", out)
	}
	for _, test := range []struct {
		system  string
		program []byte
		want    string
	}{
		{"linux/arm64", programs["linux/amd64"], "the program is for ('linux', 'amd64')"},
		{"linux/amd64", programs["interpreted"], "the program needs libraries of the system"},
		{"darwin/arm64", []byte("#!/bin/sh\nexit\n"), "the program is no executable"},
		{"windows/arm64", append(programs["windows/arm64"], make([]byte, 46<<20)...), " bytes are installed"},
	} {
		build(test.system, test.program)
		if out, ok := check(test.system); ok || !strings.Contains(out, test.want) {
			t.Errorf("%s: %s, want %s", test.system, out, test.want)
		}
	}
	for _, test := range []struct{ file, old, new, want string }{
		{".dist-info/RECORD", "replayd/py.typed,", "replayd/other,", "RECORD lists other files"},
		{".dist-info/RECORD", "replayd-1.2.3.dist-info/WHEEL,", "other,,\nreplayd-1.2.3.dist-info/WHEEL,", "RECORD lists other files"},
		{"replayd/py.typed", "", "x", "RECORD has another sum or size of replayd/py.typed"},
		{".dist-info/WHEEL", "Wheel-Version", "Wheel-version", "RECORD has another sum or size of replayd-1.2.3.dist-info/WHEEL"},
	} {
		alter(t, build("windows/amd64", programs["windows/amd64"]), test.file, test.old, test.new)
		if out, ok := check("windows/amd64"); ok || !strings.Contains(out, test.want) {
			t.Errorf("%s with %q: %s, want %s", test.file, test.new, out, test.want)
		}
	}
	if err := os.Remove(build("darwin/amd64", programs["darwin/amd64"])); err != nil {
		t.Fatal(err)
	}
	if out, ok := check("darwin/amd64"); ok || !strings.Contains(out, "darwin/amd64: 0 wheels") {
		t.Errorf("a wheel that is absent: %s", out)
	}
}

// alter replaces the first occurrence of a text in a file of a wheel.
func alter(t *testing.T, wheel, file, before, after string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Clean(wheel))
	if err != nil {
		t.Fatal(err)
	}
	old, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range old.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name, file) {
			text = []byte(strings.Replace(string(text), before, after, 1))
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, ExternalAttrs: f.ExternalAttrs, CreatorVersion: f.CreatorVersion})
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), os.WriteFile(wheel, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}
