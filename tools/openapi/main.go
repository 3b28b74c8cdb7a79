// Command openapi writes the OpenAPI document of plain HTTP. Its schemas and descriptions come from the .proto files, its
// paths and parameters from the tables by which service/plain serves requests.
//
//	buf build -o image.binpb && openapi -image image.binpb -out service/plain/openapi.gen.json
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/replayd/replayd/tools/protodoc"
)

func main() {
	image := flag.String("image", "", "the output of `buf build`")
	out := flag.String("out", "service/plain/openapi.gen.json", "the file to write")
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
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(doc); err != nil {
		return err
	}
	return os.WriteFile(out, text.Bytes(), 0o644)
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
