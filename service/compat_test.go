package service_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/testdata"
)

// firstResponse is StreamEventsResponse as it was released first.
func firstResponse(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	image, err := os.ReadFile(filepath.Join("..", "testdata", "compat", "first.binpb"))
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(image, &set); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		t.Fatal(err)
	}
	d, err := files.FindDescriptorByName("replayd.v1.StreamEventsResponse")
	if err != nil {
		t.Fatal(err)
	}
	return d.(protoreflect.MessageDescriptor)
}

// TestFirstClient reads today's streams of all samples with the messages of the first release, and sends today's server
// requests that are made of them: what was there then still means the same.
func TestFirstClient(t *testing.T) {
	first := firstResponse(t)
	dir := t.TempDir()
	if err := testdata.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := source.OpenLocal(path, source.Limits{})
		if err != nil {
			return err
		}
		if file.Recognized() != nil {
			return file.Close()
		}
		t.Run(d.Name(), func(t *testing.T) {
			defer func() { _ = file.Close() }()
			c, err := service.Subscribe(context.Background(), file, &replaydv1.StreamEventsRequest{Replay: path})
			if err != nil {
				t.Fatal(err)
			}
			var old, now uint64
			err = stream.Run(context.Background(), c, func(f *frame.Frame) error {
				defer f.Free()
				raw := f.Buffer()
				defer raw.Free()
				o, n := readBoth(t, first, raw.ReadOnlyData())
				old, now = old+o, now+n
				return nil
			})
			if err != nil && old == 0 {
				t.Skipf("a broken sample: %v", err)
			}
			if old != now || old == 0 {
				t.Errorf("the first client gets %d events, today's %d", old, now)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// readBoth reads a response as the first client and as today's, holds the cursors against each other, and returns how
// many events each says that there are.
func readBoth(t *testing.T, first protoreflect.MessageDescriptor, raw []byte) (old, now uint64) {
	t.Helper()
	then := dynamicpb.NewMessage(first)
	if err := proto.Unmarshal(raw, then); err != nil {
		t.Fatal(err)
	}
	var today replaydv1.StreamEventsResponse
	if err := proto.Unmarshal(raw, &today); err != nil {
		t.Fatal(err)
	}
	if got := then.Get(first.Fields().ByName("cursor")).Bytes(); !bytes.Equal(got, today.GetCursor()) {
		t.Errorf("cursor %x, today's client reads %x", got, today.GetCursor())
	}
	field := first.Fields().ByName("batch")
	if !then.Has(field) {
		return 0, 0
	}
	batch := then.Get(field).Message()
	value := func(name protoreflect.Name) uint64 { return batch.Get(field.Message().Fields().ByName(name)).Uint() }
	which := batch.WhichOneof(field.Message().Oneofs().ByName("events"))
	if which == nil {
		t.Fatal("the first client does not know the format")
	}
	list := batch.Get(which).Message()
	events := list.Get(which.Message().Fields().ByNumber(1)).List()
	kind := which.Message().Fields().ByNumber(1).Message().Oneofs().ByName("kind")
	known := 0 // kinds that came later are unknown to it, as they should be
	for i := range events.Len() {
		if events.Get(i).Message().WhichOneof(kind) != nil {
			known++
		}
	}
	if known == 0 {
		t.Error("the first client knows no event of a batch")
	}
	if n := value("next_sequence") - value("first_sequence"); n != uint64(events.Len()) {
		t.Errorf("%d events, numbered as %d", events.Len(), n)
	}
	return uint64(events.Len()), today.GetBatch().GetNextSequence() - today.GetBatch().GetFirstSequence()
}
