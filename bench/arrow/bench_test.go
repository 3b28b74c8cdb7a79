package arrow

import (
	"bytes"
	"encoding/binary"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// column is one array of a batch, of numbers or flags. It records whether the numbers are zigzag in protobuf.
type column struct {
	number protowire.Number
	name   string
	zigzag bool
	ints   []int32
	flags  []bool
}

type table []column

// load reads the file that read.py wrote. It returns a list of tables for each kind.
func load(b *testing.B) (kinds map[string][]table, events int) {
	path := os.Getenv("RESPONSES")
	if path == "" {
		b.Skip("RESPONSES names no file of responses: see doc.go")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	kinds = map[string][]table{}
	for len(data) > 0 {
		n := binary.LittleEndian.Uint32(data)
		var r replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(data[4:4+n], &r); err != nil {
			b.Fatal(err)
		}
		data = data[4+n:]
		events += int(r.GetBatch().GetNextSequence() - r.GetBatch().GetFirstSequence())
		list := r.GetBatch().GetTeehistorian().ProtoReflect()
		list.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if f.Message() != nil && !f.IsList() {
				kinds[string(f.Name())] = append(kinds[string(f.Name())], tableOf(v.Message()))
			}
			return true
		})
	}
	return kinds, events
}

func tableOf(m protoreflect.Message) table {
	var t table
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		list := m.Get(f).List()
		c := column{number: f.Number(), name: string(f.Name()), zigzag: f.Kind() == protoreflect.Sint32Kind}
		for j := range list.Len() {
			switch f.Kind() {
			case protoreflect.BoolKind:
				c.flags = append(c.flags, list.Get(j).Bool())
			case protoreflect.Uint32Kind:
				c.ints = append(c.ints, int32(list.Get(j).Uint()))
			default:
				c.ints = append(c.ints, int32(list.Get(j).Int()))
			}
		}
		t = append(t, c)
	}
	return t
}

// cpu returns the CPU time that the process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func report(b *testing.B, began time.Duration, events, size int) {
	b.ReportMetric(float64(events)*float64(b.N)/(cpu(b)-began).Seconds()/1e6, "Mevents/CPU-s")
	b.ReportMetric(float64(size)/float64(events), "bytes/event")
}

// BenchmarkColumns appends packed varints, as the daemon does.
func BenchmarkColumns(b *testing.B) {
	kinds, events := load(b)
	size := 0
	var out, packed []byte
	began := cpu(b)
	for b.Loop() {
		size = 0
		for _, tables := range kinds {
			for _, t := range tables {
				out = out[:0]
				for _, c := range t {
					packed = packed[:0]
					switch {
					case c.flags != nil:
						for _, v := range c.flags {
							packed = protowire.AppendVarint(packed, protowire.EncodeBool(v))
						}
					case c.zigzag:
						for _, v := range c.ints {
							packed = protowire.AppendVarint(packed, protowire.EncodeZigZag(int64(v)))
						}
					default:
						for _, v := range c.ints {
							packed = protowire.AppendVarint(packed, uint64(v))
						}
					}
					out = protowire.AppendBytes(protowire.AppendTag(out, c.number, protowire.BytesType), packed)
				}
				size += len(out)
			}
		}
	}
	report(b, began, events, size)
}

// BenchmarkArrow writes an IPC stream for each kind: the schema once, then a record batch for each of the daemon's.
func BenchmarkArrow(b *testing.B) {
	kinds, events := load(b)
	for name, options := range map[string][]ipc.Option{
		"plain": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()},
	} {
		b.Run(name, func(b *testing.B) {
			size := 0
			var out bytes.Buffer
			began := cpu(b)
			for b.Loop() {
				size = 0
				for _, tables := range kinds {
					size += writeArrow(b, &out, tables, options)
				}
			}
			report(b, began, events, size)
		})
	}
}

func writeArrow(b *testing.B, out *bytes.Buffer, tables []table, options []ipc.Option) (size int) {
	var fields []arrow.Field
	for _, c := range tables[0] {
		f := arrow.Field{Name: c.name, Type: arrow.PrimitiveTypes.Int32}
		if c.flags != nil {
			f.Type = arrow.FixedWidthTypes.Boolean
		}
		fields = append(fields, f)
	}
	schema := arrow.NewSchema(fields, nil)
	out.Reset()
	w := ipc.NewWriter(out, append([]ipc.Option{ipc.WithSchema(schema)}, options...)...)
	for _, t := range tables {
		// The daemon would fill the builders event by event, as it fills columns.
		builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i, c := range t {
			if c.flags != nil {
				builder.Field(i).(*array.BooleanBuilder).AppendValues(c.flags, nil)
				continue
			}
			column := builder.Field(i).(*array.Int32Builder)
			column.Reserve(len(c.ints))
			for _, v := range c.ints {
				column.UnsafeAppend(v)
			}
		}
		record := builder.NewRecordBatch()
		if err := w.Write(record); err != nil {
			b.Fatal(err)
		}
		record.Release()
		builder.Release()
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return out.Len()
}
