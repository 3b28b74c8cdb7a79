package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	dir := flag.String("sc2reader", "", "directory of the unpacked Python package sc2reader")
	version := flag.String("version", "", "its version")
	out := flag.String("o", "decoders/sc2replay/names/names.txt", "file to write")
	flag.Parse()
	if err := run(*dir, *version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "sc2names:", err)
		os.Exit(1)
	}
}

func run(dir, version, out string) error {
	p, err := read(os.DirFS(dir))
	if err != nil {
		return err
	}
	return os.WriteFile(out, p.write(version), 0o644)
}
