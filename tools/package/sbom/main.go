// Command sbom lists what a Go program is made of, as a CycloneDX document: the modules that its linker wrote into it, which are
// exactly those that are in it, and the standard library.
//
//	sbom [-name NAME] [-version VERSION] -o FILE PROGRAM
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	to := flags.String("o", "", "the `file` to write")
	version := flags.String("version", "", "the program's `version`; else what it says of itself")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *to == "" {
		return errors.New("a program and -o are needed")
	}
	info, err := buildinfo.ReadFile(flags.Arg(0))
	if err != nil {
		return err
	}
	if *version != "" {
		info.Main.Version = *version
	}
	bom, err := describe(info)
	if err != nil {
		return err
	}
	file, err := os.Create(*to)
	if err != nil {
		return err
	}
	encoder := cyclonedx.NewBOMEncoder(file, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	return errors.Join(encoder.Encode(bom), file.Close())
}

// describe returns the parts of the program, in the linker's order.
func describe(info *debug.BuildInfo) (*cyclonedx.BOM, error) {
	bom := cyclonedx.NewBOM()
	program, err := component(cyclonedx.ComponentTypeApplication, &info.Main)
	if err != nil {
		return nil, err
	}
	bom.Metadata = &cyclonedx.Metadata{Component: program}
	modules := []*debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	components, uses := []cyclonedx.Component{}, []string{}
	for _, module := range append(modules, info.Deps...) {
		if module.Replace != nil {
			module = module.Replace
		}
		c, err := component(cyclonedx.ComponentTypeLibrary, module)
		if err != nil {
			return nil, err
		}
		components, uses = append(components, *c), append(uses, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &uses}}
	return bom, nil
}

func component(kind cyclonedx.ComponentType, module *debug.Module) (*cyclonedx.Component, error) {
	url := "pkg:golang/" + module.Path + "@" + strings.ReplaceAll(module.Version, "+", "%2B")
	c := &cyclonedx.Component{BOMRef: url, Type: kind, Name: module.Path, Version: module.Version, PackageURL: url}
	// The sum as in go.sum: SHA-256 of the list of all files' SHA-256.
	if sum, ok := strings.CutPrefix(module.Sum, "h1:"); ok {
		raw, err := base64.StdEncoding.DecodeString(sum)
		if err != nil {
			return nil, fmt.Errorf("sum of %s: %w", module.Path, err)
		}
		c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
	}
	return c, nil
}
