package datafile_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/replayd/replayd/decoders/datafile"
)

// dump returns an event as one line: its kind, its non-zero fields and its warnings. Long data is shown as a checksum.
func dump(ev *datafile.Event) string {
	var b strings.Builder
	b.WriteString(ev.Kind.String())
	name := ""
	for part := range strings.SplitSeq(ev.Kind.String(), "_") {
		name += strings.ToUpper(part[:1]) + part[1:]
	}
	dumpFields(&b, reflect.ValueOf(ev).Elem().FieldByName(name))
	if len(ev.Warnings) > 0 {
		fmt.Fprintf(&b, " warnings=%v", ev.Warnings)
	}
	return b.String()
}

func dumpFields(b *strings.Builder, v reflect.Value) {
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() && (f.Kind() != reflect.Slice || f.Len() > 0) {
			b.WriteByte(' ')
			b.WriteString(v.Type().Field(i).Name)
			b.WriteByte('=')
			dumpValue(b, f)
		}
	}
}

func dumpValue(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		b.WriteByte('{')
		dumpFields(b, v)
		b.WriteString(" }")
	case reflect.Slice:
		if data, ok := reflect.TypeAssert[[]byte](v); ok {
			if len(data) > 64 {
				fmt.Fprintf(b, "(%d bytes, CRC-32 %08x)", len(data), crc32.ChecksumIEEE(data))
				return
			}
			if utf8.Valid(data) && bytes.IndexFunc(data, unicode.IsControl) < 0 {
				b.WriteString(strconv.Quote(string(data)))
			} else {
				fmt.Fprintf(b, "%x", data)
			}
			return
		}
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(' ')
			}
			dumpValue(b, v.Index(i))
		}
		b.WriteByte(']')
	default:
		fmt.Fprint(b, v.Interface())
	}
}

// dumpAll decodes the rest and returns one line per event. It fails the test when decoding fails.
func dumpAll(tb testing.TB, d *datafile.Decoder) []string {
	tb.Helper()
	lines, err := dumpUntil(d)
	if err != nil {
		tb.Fatalf("after %d events: %v", len(lines), err)
	}
	return lines
}

// dumpUntil decodes the rest up to the first error, and returns one line per event.
func dumpUntil(d *datafile.Decoder) ([]string, error) {
	var lines []string
	var ev datafile.Event
	for {
		err := d.Next(&ev)
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, dump(&ev))
	}
}
