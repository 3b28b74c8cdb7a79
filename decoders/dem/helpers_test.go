package dem_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem"
)

const autoDem = "haste/auto-20240102-2233-start-____.dem"

func readCorpus(tb testing.TB, name string) []byte {
	tb.Helper()
	data := decodertest.Read(tb, "corpus", "dem", filepath.FromSlash(name))
	return data
}

// source2 are the corpus's demos that are decoded in full.
func source2(tb testing.TB) map[string][]byte {
	tb.Helper()
	files := map[string][]byte{}
	for _, pattern := range []string{"demofile-net/*.dem", "haste/*.dem"} {
		names, err := filepath.Glob(filepath.Join(decodertest.Shared(tb, "corpus", "dem"), filepath.FromSlash(pattern)))
		if err != nil {
			tb.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				tb.Fatal(err)
			}
			files[filepath.Base(name)] = data
		}
	}
	return files
}

// someSource2 are of source2 one demo of each game, or with CORPUS=all each demo.
func someSource2(tb testing.TB) map[string][]byte {
	tb.Helper()
	files := source2(tb)
	maps.DeleteFunc(files, func(name string, _ []byte) bool {
		first := name == "14160.dem" || name == "deadlock_hltv_10423.dem" || name == filepath.Base(autoDem)
		return !first && !decodertest.WholeCorpus()
	})
	return files
}

// run decodes all of data and calls f with each event. It returns Next's last error, and Close's if that was ErrMore.
func run(d *dem.Decoder, f func(ev *dem.Event)) error {
	var ev dem.Event
	for {
		err := d.Next(&ev)
		switch {
		case err == nil:
			f(&ev)
		case errors.Is(err, dem.ErrYield):
		case errors.Is(err, decoders.ErrMore):
			return d.Close()
		default:
			return err
		}
	}
}

// decode is run over a whole file, which must be good.
func decode(tb testing.TB, data []byte, opts dem.Options, f func(d *dem.Decoder, ev *dem.Event)) *dem.Decoder {
	tb.Helper()
	d := dem.New(bytes.NewReader(data), opts)
	if err := run(d, func(ev *dem.Event) { f(d, ev) }); !errors.Is(err, io.EOF) {
		tb.Fatalf("decoding ended with %v", err)
	}
	return d
}

// leafText writes the value of a field as the reference does.
func leafText(f *dem.FieldValue) string { return string(appendLeaf(nil, f)) }

func appendLeaf(b []byte, f *dem.FieldValue) []byte {
	switch f.ValueCase {
	case dem.FieldValueValueInt:
		return strconv.AppendInt(append(b, 'i'), f.Int, 10)
	case dem.FieldValueValueUint:
		return strconv.AppendUint(append(b, 'i'), f.Uint, 10)
	case dem.FieldValueValueHandle:
		return strconv.AppendUint(append(b, 'i'), uint64(f.Handle), 10)
	case dem.FieldValueValueFloat:
		return appendBits(append(b, 'f'), f.Float)
	case dem.FieldValueValueBool:
		return strconv.AppendBool(append(b, 'b'), f.Bool)
	case dem.FieldValueValueText:
		return strconv.AppendQuote(append(b, 's'), string(f.Text))
	case dem.FieldValueValueVector:
		return appendBits(append(b, 'v'), f.Vector.X, f.Vector.Y, f.Vector.Z)
	case dem.FieldValueValueTuple:
		return appendBits(append(b, 'v'), f.Tuple.Values...)
	}
	return append(b, '?')
}

// appendBits appends the bits of numbers, in eight hexadecimal digits each.
func appendBits(b []byte, numbers ...float32) []byte {
	for _, x := range numbers {
		var bits [4]byte
		binary.BigEndian.PutUint32(bits[:], math.Float32bits(x))
		b = hex.AppendEncode(b, bits[:])
	}
	return b
}

// readable writes an event for people: values as they are.
func readable(d *dem.Decoder, ev *dem.Event) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d %v", ev.AtTick, ev.Kind)
	write := func(index, serial, class uint32, fields []dem.FieldValue) {
		fmt.Fprintf(&s, " %d/%d %s", index, serial, d.Name(class))
		for i := range fields {
			f := &fields[i]
			fmt.Fprintf(&s, "\n\t%s ", d.Name(f.Field))
			v := reflect.ValueOf(f).Elem()
			for _, alternative := range []struct {
				c    dem.FieldValueValueCase
				name string
			}{
				{dem.FieldValueValueInt, "Int"}, {dem.FieldValueValueUint, "Uint"}, {dem.FieldValueValueFloat, "Float"},
				{dem.FieldValueValueBool, "Bool"}, {dem.FieldValueValueHandle, "Handle"}, {dem.FieldValueValueVector, "Vector"},
				{dem.FieldValueValueText, "Text"}, {dem.FieldValueValueTuple, "Tuple"}, {dem.FieldValueValueBlob, "Blob"},
			} {
				if f.ValueCase == alternative.c {
					fmt.Fprintf(&s, "%s %s", strings.ToLower(alternative.name), plain(v.FieldByName(alternative.name)))
				}
			}
		}
	}
	switch ev.Kind {
	case dem.KindEntityUpdated:
		write(ev.EntityUpdated.Index, ev.EntityUpdated.Serial, ev.EntityUpdated.Class, ev.EntityUpdated.Fields)
	case dem.KindEntityCreated:
		write(ev.EntityCreated.Index, ev.EntityCreated.Serial, ev.EntityCreated.Class, ev.EntityCreated.Fields)
	case dem.KindEntityEntered:
		fmt.Fprintf(&s, " full=%v", ev.EntityEntered.Full)
		write(ev.EntityEntered.Index, ev.EntityEntered.Serial, ev.EntityEntered.Class, ev.EntityEntered.Fields)
	case dem.KindEntityLeft:
		write(ev.EntityLeft.Index, ev.EntityLeft.Serial, ev.EntityLeft.Class, nil)
	case dem.KindEntityDeleted:
		write(ev.EntityDeleted.Index, ev.EntityDeleted.Serial, ev.EntityDeleted.Class, nil)
	case dem.KindFault:
		f := ev.Fault
		fmt.Fprintf(&s, " %d %q entity %d", f.Kind, f.Detail, f.EntityIndex)
		if f.HasClass {
			fmt.Fprintf(&s, " class %s", d.Name(f.Class))
		}
		if f.HasField {
			fmt.Fprintf(&s, " field %s", d.Name(f.Field))
		}
		fmt.Fprintf(&s, " bits %d of %d", f.BitsRead, f.BitsAnnounced)
	default:
		s.WriteString(" " + plain(reflect.ValueOf(ev).Elem().Field(1+int(ev.Kind))))
	}
	return s.String()
}

// plain writes a value, leaving out what is zero.
func plain(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return strconv.Quote(string(v.Bytes()))
		}
		var parts []string
		for i := range v.Len() {
			parts = append(parts, plain(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				parts = append(parts, v.Type().Field(i).Name+":"+plain(f))
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return fmt.Sprint(v.Interface())
}

// fieldsOf returns the fields that an event tells of an entity.
func fieldsOf(ev *dem.Event) []dem.FieldValue {
	switch ev.Kind {
	case dem.KindEntityCreated:
		return ev.EntityCreated.Fields
	case dem.KindEntityUpdated:
		return ev.EntityUpdated.Fields
	case dem.KindEntityEntered:
		return ev.EntityEntered.Fields
	}
	return nil
}
