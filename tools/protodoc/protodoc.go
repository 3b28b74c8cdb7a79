// Package protodoc reads what the .proto files say to people, for the commands that write documentation.
package protodoc

import (
	"fmt"
	"os"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	optionsv1 "github.com/replayd/replayd/proto/replayd/options/v1"
)

// Load reads an image, the output of `buf build`: all files, with their comments.
func Load(image string) (*protoregistry.Files, error) {
	b, err := os.ReadFile(image)
	if err != nil {
		return nil, err
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(b, set); err != nil {
		return nil, fmt.Errorf("%s: %w", image, err)
	}
	return protodesc.NewFiles(set)
}

// Comment returns the comment before a declaration: paragraphs, each on one line, separated by empty lines.
func Comment(d protoreflect.Descriptor) string {
	return paragraphs(d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments)
}

// PackageComment returns the comment before the package of a file, as Comment does.
func PackageComment(file protoreflect.FileDescriptor) string {
	const packageField = 2 // of FileDescriptorProto
	return paragraphs(file.SourceLocations().ByPath(protoreflect.SourcePath{packageField}).LeadingComments)
}

// paragraphs joins the lines of each paragraph, and leaves out comments for the linter.
func paragraphs(text string) string {
	var all []string
	for p := range strings.SplitSeq(text, "\n\n") {
		var words []string
		for line := range strings.Lines(p) {
			if fields := strings.Fields(line); len(fields) > 0 && !strings.HasPrefix(fields[0], "buf:lint:") {
				words = append(words, fields...)
			}
		}
		if len(words) > 0 {
			all = append(all, strings.Join(words, " "))
		}
	}
	return strings.Join(all, "\n\n")
}

// IsStringIndex reports whether a number is an index into the strings of a batch.
func IsStringIndex(f protoreflect.FieldDescriptor) bool {
	is, _ := proto.GetExtension(f.Options(), optionsv1.E_StringIndex).(bool)
	return is
}
