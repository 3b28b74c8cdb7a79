package archive

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// dataFile is a file of rows, or of the positions of rows that are deleted.
type dataFile struct {
	contents
	name   string
	day    *int32 // since 1970; nil if it is not known
	rows   int64
	bytes  int64
	bounds [2]map[int][]byte // the least and the most values by column
	commit int64             // the one that added it; 0 is the one that is being made
}

// data returns the file as manifests have it.
func (f *tableFile) data(name string, url func(string) string) dataFile {
	d := dataFile{contents: f.contents, name: name, day: f.day, rows: f.rows, bytes: f.bytes, commit: f.commit}
	if f.contents == deletes {
		names := slices.Sorted(maps.Keys(f.of))
		d.bounds = [2]map[int][]byte{{deletedPathID: []byte(url(names[0]))}, {deletedPathID: []byte(url(names[len(names)-1]))}}
		return d
	}
	d.bounds = [2]map[int][]byte{{replayID: []byte(f.bounds[0])}, {replayID: []byte(f.bounds[1])}}
	if f.day != nil {
		d.bounds[0][dayID], d.bounds[1][dayID] = bytesOf(*f.day), bytesOf(*f.day)
	}
	return d
}

// The numbers of the columns of files with deleted positions.
const (
	deletedPathID = 2147483546
	deletedRowID  = 2147483545
)

// contents says what the files of a manifest have.
type contents int

const (
	rows    contents = 0
	deletes contents = 1
)

// manifestRef is a manifest as lists of manifests name it.
type manifestRef struct {
	Name     string   `json:"name"`
	Bytes    int64    `json:"bytes"`
	Contents contents `json:"contents"`      // 1: deleted positions
	Files    int      `json:"files"`         // added
	Rows     int64    `json:"rows"`          // of these
	Old      int      `json:"old,omitempty"` // files that were there before
	OldRows  int64    `json:"old_rows,omitempty"`
	Since    int64    `json:"since,omitempty"` // the commit of the oldest of these
	First    *int32   `json:"first_day"`       // nil if no day is known
	Last     *int32   `json:"last_day"`
	Unknown  bool     `json:"unknown_day"`
	Commit   int64    `json:"-"`
}

const (
	daySpec = `{"name":"day","transform":"identity","source-id":2,"field-id":1000}`
	dayType = `["null",{"type":"int","logicalType":"date"}]`
)

// manifestOf returns a manifest of files that a commit adds, or leaves as they are. url makes the location of a file.
func manifestOf(commit int64, c contents, s schemaRef, files []dataFile, url func(string) string) (manifestRef, []byte, error) {
	ref := manifestRef{Contents: c}
	var entries [][]byte
	for _, f := range files {
		a, by := &avro{}, f.commit
		if by == 0 {
			by = commit
			ref.Files++
			ref.Rows += f.rows
			a.long(1) // added
		} else {
			ref.Old++
			ref.OldRows += f.rows
			if ref.Since == 0 || by < ref.Since {
				ref.Since = by
			}
			a.long(0) // existing
		}
		for range 3 { // by the snapshot, in its order
			a.some()
			a.long(by)
		}
		a.long(int64(c))
		a.text(url(f.name))
		a.text("PARQUET")
		if f.day == nil {
			ref.Unknown = true
			a.missing()
		} else {
			if ref.First == nil || *f.day < *ref.First {
				ref.First = f.day
			}
			if ref.Last == nil || *f.day > *ref.Last {
				ref.Last = f.day
			}
			a.some()
			a.long(int64(*f.day))
		}
		a.long(f.rows)
		a.long(f.bytes)
		a.bounds(f.bounds[0])
		a.bounds(f.bounds[1])
		entries = append(entries, a.b)
	}
	columns, err := json.Marshal(structType{"struct", &s.id, s.Columns})
	about := map[string]string{
		"schema": string(columns), "schema-id": strconv.Itoa(s.id), "partition-spec": "[" + daySpec + "]", "partition-spec-id": "0",
		"format-version": "2", "content": [...]string{"data", "deletes"}[c],
	}
	b := avroFile(entryType, about, entries)
	ref.Bytes = int64(len(b))
	return ref, b, err
}

// bytesOf returns a day as Iceberg's bounds have it.
func bytesOf(day int32) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(day)) }

// manifestList returns the list of the manifests of a snapshot.
func manifestList(commit, parent int64, manifests []manifestRef, url func(string) string) []byte {
	var records [][]byte
	for _, m := range manifests {
		a := &avro{}
		a.text(url(m.Name))
		a.long(m.Bytes)
		a.long(0) // the way of partition
		a.long(int64(m.Contents))
		a.long(m.Commit)
		a.long(cmp.Or(m.Since, m.Commit))
		a.long(m.Commit)
		a.long(int64(m.Files))
		a.long(int64(m.Old))
		a.long(0)
		a.long(m.Rows)
		a.long(m.OldRows)
		a.long(0)
		a.some()
		a.long(1)
		a.bool(m.Unknown)
		a.some()
		a.bool(false) // days are never NaN
		for _, day := range []*int32{m.First, m.Last} {
			if day == nil {
				a.missing()
				continue
			}
			a.some()
			a.bytes(bytesOf(*day))
		}
		a.long(0)
		records = append(records, a.b)
	}
	about := map[string]string{
		"snapshot-id": strconv.FormatInt(commit, 10), "parent-snapshot-id": "null", "sequence-number": strconv.FormatInt(commit, 10), "format-version": "2",
	}
	if parent > 0 {
		about["parent-snapshot-id"] = strconv.FormatInt(parent, 10)
	}
	return avroFile(listOfManifests, about, records)
}

// The schemas of manifests and of lists of manifests, as far as they are used: optional fields are left out.
const (
	entryType = `{"type":"record","name":"manifest_entry","fields":[
{"name":"status","type":"int","field-id":0},
{"name":"snapshot_id","type":["null","long"],"default":null,"field-id":1},
{"name":"sequence_number","type":["null","long"],"default":null,"field-id":3},
{"name":"file_sequence_number","type":["null","long"],"default":null,"field-id":4},
{"name":"data_file","field-id":2,"type":{"type":"record","name":"r2","fields":[
{"name":"content","type":"int","field-id":134},
{"name":"file_path","type":"string","field-id":100},
{"name":"file_format","type":"string","field-id":101},
{"name":"partition","field-id":102,"type":{"type":"record","name":"r102","fields":[
{"name":"day","type":` + dayType + `,"default":null,"field-id":1000}]}},
{"name":"record_count","type":"long","field-id":103},
{"name":"file_size_in_bytes","type":"long","field-id":104},
{"name":"lower_bounds","default":null,"field-id":125,"type":["null",{"type":"array","logicalType":"map","items":{"type":"record","name":"k126_v127","fields":[
{"name":"key","type":"int","field-id":126},{"name":"value","type":"bytes","field-id":127}]}}]},
{"name":"upper_bounds","default":null,"field-id":128,"type":["null",{"type":"array","logicalType":"map","items":{"type":"record","name":"k129_v130","fields":[
{"name":"key","type":"int","field-id":129},{"name":"value","type":"bytes","field-id":130}]}}]}]}}]}`

	listOfManifests = `{"type":"record","name":"manifest_file","fields":[
{"name":"manifest_path","type":"string","field-id":500},
{"name":"manifest_length","type":"long","field-id":501},
{"name":"partition_spec_id","type":"int","field-id":502},
{"name":"content","type":"int","field-id":517},
{"name":"sequence_number","type":"long","field-id":515},
{"name":"min_sequence_number","type":"long","field-id":516},
{"name":"added_snapshot_id","type":"long","field-id":503},
{"name":"added_files_count","type":"int","field-id":504},
{"name":"existing_files_count","type":"int","field-id":505},
{"name":"deleted_files_count","type":"int","field-id":506},
{"name":"added_rows_count","type":"long","field-id":512},
{"name":"existing_rows_count","type":"long","field-id":513},
{"name":"deleted_rows_count","type":"long","field-id":514},
{"name":"partitions","default":null,"field-id":507,"type":["null",{"type":"array","element-id":508,"items":{"type":"record","name":"r508","fields":[
{"name":"contains_null","type":"boolean","field-id":509},
{"name":"contains_nan","type":["null","boolean"],"default":null,"field-id":518},
{"name":"lower_bound","type":["null","bytes"],"default":null,"field-id":510},
{"name":"upper_bound","type":["null","bytes"],"default":null,"field-id":511}]}}]}]}`
)

// schemaRef is a schema with its number in the table.
type schemaRef struct {
	schema
	id int
}

// snapshot is the table after a commit.
type snapshot struct {
	commit    int64
	time      int64 // in milliseconds since 1970
	schema    int
	operation string
	manifests []manifestRef
	parent    int64 // the commit of the snapshot before; 0 if there is none
}

// kept is how many snapshots of a table remain readable, if none of them rewrites it.
const kept = 8

// metadata returns the metadata of a table. list names the list of manifests of a snapshot.
func (t *table) metadata(location string, list func(snapshot) string) ([]byte, error) {
	type object = map[string]any
	now := t.snapshots[len(t.snapshots)-1]
	var schemas, snapshots, log []object
	for i, s := range t.schemas[:now.schema+1] {
		schemas = append(schemas, object{"type": "struct", "schema-id": i, "fields": s.Columns})
	}
	for i, s := range t.snapshots {
		o := object{
			"snapshot-id": s.commit, "sequence-number": s.commit, "timestamp-ms": s.time, "manifest-list": list(s), "schema-id": s.schema,
			"summary": object{"operation": s.operation},
		}
		if i > 0 {
			o["parent-snapshot-id"] = s.parent
		}
		snapshots = append(snapshots, o)
		log = append(log, object{"snapshot-id": s.commit, "timestamp-ms": s.time})
	}
	sum := sha256.Sum256([]byte(location))
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80
	return json.MarshalIndent(object{
		"format-version": 2, "table-uuid": fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]),
		"location": location, "last-sequence-number": now.commit, "last-updated-ms": now.time, "last-column-id": t.schemas[now.schema].Last,
		"current-schema-id": now.schema, "schemas": schemas,
		"default-spec-id": 0, "partition-specs": []object{{"spec-id": 0, "fields": []json.RawMessage{json.RawMessage(daySpec)}}}, "last-partition-id": 1000,
		"default-sort-order-id": 0, "sort-orders": []object{{"order-id": 0, "fields": []object{}}},
		"properties":          object{"write.format.default": "parquet"},
		"current-snapshot-id": now.commit, "refs": object{"main": object{"snapshot-id": now.commit, "type": "branch"}},
		"snapshots": snapshots, "snapshot-log": log, "metadata-log": []object{},
	}, "", " ")
}

// dayOf returns the number of a day, nil for text that is none.
func dayOf(text string) *int32 {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil
	}
	day := int32(at.Unix() / 86400)
	return &day
}
