package archive

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
)

// avro appends values in Avro's binary encoding.
type avro struct{ b []byte }

func (a *avro) long(v int64) { a.b = binary.AppendVarint(a.b, v) }

func (a *avro) bytes(v []byte) {
	a.long(int64(len(v)))
	a.b = append(a.b, v...)
}

func (a *avro) text(v string) { a.bytes([]byte(v)) }

// missing appends a union of null and another type that is null.
func (a *avro) missing() { a.long(0) }

// some begins the value of a union of null and another type.
func (a *avro) some() { a.long(1) }

func (a *avro) bool(v bool) {
	if v {
		a.b = append(a.b, 1)
	} else {
		a.b = append(a.b, 0)
	}
}

// bounds appends a map of bounds by the numbers of columns, as Iceberg's manifests have it.
func (a *avro) bounds(m map[int][]byte) {
	a.some()
	if len(m) > 0 {
		a.long(int64(len(m)))
		for _, id := range slices.Sorted(maps.Keys(m)) {
			a.long(int64(id))
			a.bytes(m[id])
		}
	}
	a.long(0)
}

// avroFile returns an Avro object container file with records that are encoded already.
func avroFile(schema string, about map[string]string, records [][]byte) []byte {
	about = maps.Clone(about)
	about["avro.schema"], about["avro.codec"] = schema, "null"
	a := &avro{b: []byte("Obj\x01")}
	a.long(int64(len(about)))
	for _, key := range slices.Sorted(maps.Keys(about)) {
		a.text(key)
		a.text(about[key])
	}
	a.long(0)
	a.b = append(a.b, avroSync...)
	if len(records) > 0 {
		a.long(int64(len(records)))
		a.bytes(bytes.Join(records, nil))
		a.b = append(a.b, avroSync...)
	}
	return a.b
}

// avroSync separates blocks. Files have one block, so it need not be random; the same contents are the same bytes.
const avroSync = "replayd archives"
