// Command eventdocs writes docs/events: a page for each format that lists every kind of event and its fields. The text
// comes from the comments of the .proto files, and each example from the samples.
//
//	buf build -o image.binpb && eventdocs -image image.binpb -replayd bin/replayd
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/replayd/replayd/tools/protodoc"
)

func main() {
	image := flag.String("image", "", "the output of `buf build`")
	replayd := flag.String("replayd", "bin/replayd", "path of the replayd command")
	samples := flag.String("samples", "testdata", "a directory with samples, one folder per format")
	out := flag.String("out", "docs/events", "the directory to write to")
	pages := flag.String("formats", "docs/formats", "a directory with the hand-written pages of the formats")
	readme := flag.String("readme", "README.md", "the page with the table of formats")
	flag.Parse()
	err := run(*image, *replayd, *samples, *out)
	if err == nil {
		err = fillTable(*readme, *pages)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "eventdocs:", err)
		os.Exit(1)
	}
}

func run(image, replayd, samples, out string) error {
	files, err := protodoc.Load(image)
	if err != nil {
		return err
	}
	formats := formatsOf(files)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, f := range formats {
		examples, err := examplesOf(replayd, filepath.Join(samples, f.name), f.kinds())
		if err != nil {
			return err
		}
		groups, err := f.groups()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, f.name+".md"), f.page(groups, examples), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(out, "README.md"), index(formats), 0o644)
}

// formatsOf returns the formats. A format is a package below replayd with a message named Event.
func formatsOf(files *protoregistry.Files) []*format {
	var formats []*format
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		parts := strings.Split(string(file.Package()), ".") // replayd.FORMAT.v1
		event := file.Messages().ByName("Event")
		if len(parts) == 3 && parts[0] == "replayd" && event != nil {
			formats = append(formats, newFormat(parts[1], files, file, event))
		}
		return true
	})
	slices.SortFunc(formats, func(a, b *format) int { return strings.Compare(a.name, b.name) })
	return formats
}
