package docs_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// first are the formats that had numbers before there was a rule.
const first = replaydv1.Format_FORMAT_SC2REPLAY

// TestNumbersOfFormats: a format has the same number in each message of the API that has a field for each format, and nothing else has
// a number that is kept for them.
func TestNumbersOfFormats(t *testing.T) {
	for _, m := range []proto.Message{
		&replaydv1.EventBatch{}, &replaydv1.StateBatch{}, &replaydv1.Replay{}, &replaydv1.StreamEnd{}, &replaydv1.EventFilter{},
	} {
		fields := m.ProtoReflect().Descriptor().Fields()
		some := false
		for i := range fields.Len() {
			f := fields.Get(i)
			if problem := misnumbered(f); problem != "" {
				t.Errorf("%s %s", f.FullName(), problem)
			}
			some = some || formatOf(f) != replaydv1.Format_FORMAT_UNSPECIFIED
		}
		if !some {
			t.Errorf("%s has no field of a format", m.ProtoReflect().Descriptor().Name())
		}
	}
}

// formatOf returns the format of which a field is.
func formatOf(f protoreflect.FieldDescriptor) replaydv1.Format {
	return replaydv1.Format(replaydv1.Format_value["FORMAT_"+strings.ToUpper(string(f.Name()))])
}

// misnumbered returns what is wrong with the number of a field.
func misnumbered(f protoreflect.FieldDescriptor) string {
	of, kept := formatOf(f), f.Number() > 100 && f.Number() < 1000
	switch {
	case of > first && f.Number() != 100+protoreflect.FieldNumber(of):
		return "does not have 100 plus its value of Format as its number"
	case of == replaydv1.Format_FORMAT_UNSPECIFIED && kept:
		return "has a number that is kept for formats"
	}
	return ""
}

// TestPackagesOfLanguages: each .proto file says where its classes are in Java and C#, so that they can never move. Java has a class for each
// file, whose name no message of another file may have.
func TestPackagesOfLanguages(t *testing.T) {
	n := 0
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		of := string(file.Package())
		if !strings.HasPrefix(of, "replayd.") {
			return true
		}
		n++
		o, _ := file.Options().(*descriptorpb.FileOptions)
		var spaces []string
		for part := range strings.SplitSeq(o.GetCsharpNamespace(), ".") {
			spaces = append(spaces, strings.ToLower(part))
		}
		if o.GetJavaPackage() != "dev."+of || !o.GetJavaMultipleFiles() || !slices.Equal(spaces, strings.Split(of, ".")) {
			t.Errorf("%s: Java %q, C# %q", file.Path(), o.GetJavaPackage(), o.GetCsharpNamespace())
		}
		base := strings.TrimSuffix(path.Base(file.Path()), ".proto")
		class := protoreflect.FullName(of + "." + strings.ToUpper(base[:1]) + base[1:])
		if other, err := protoregistry.GlobalFiles.FindDescriptorByName(class); err == nil && other.ParentFile() != file && o.JavaOuterClassname == nil {
			t.Errorf("%s: its class in Java has the name of %s in %s", file.Path(), class, other.ParentFile().Path())
		}
		return true
	})
	if n < 15 {
		t.Errorf("only %d files", n)
	}
}
