// Command openapi writes the OpenAPI document of plain HTTP. Its schemas and descriptions come from the .proto files, its
// paths and parameters from the tables by which service/plain serves requests.
//
//	buf build -o image.binpb && openapi -image image.binpb -out service/plain/openapi.gen.json.gz
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/klauspost/compress/gzip" // whose version is this module's: the bytes do not depend on the version of Go
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/replayd/replayd/tools/protodoc"
)

func main() {
	image := flag.String("image", "", "the output of `buf build`")
	out := flag.String("out", "service/plain/openapi.gen.json.gz", "the file to write")
	flag.Parse()
	if err := run(*image, *out); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(image, out string) error {
	files, err := protodoc.Load(image)
	if err != nil {
		return err
	}
	doc, err := document(files)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression) // a seventh of the text, which programs would carry
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(z)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := errors.Join(encoder.Encode(doc), z.Close()); err != nil {
		return err
	}
	return os.WriteFile(out, packed.Bytes(), 0o644)
}

// find returns a declaration of a .proto file.
func find[D protoreflect.Descriptor](files *protoregistry.Files, name protoreflect.FullName) (found D, err error) {
	d, err := files.FindDescriptorByName(name)
	if err != nil {
		return found, fmt.Errorf("%s: %w", name, err)
	}
	found, ok := d.(D)
	if !ok {
		return found, fmt.Errorf("%s is a %T", name, d)
	}
	return found, nil
}
