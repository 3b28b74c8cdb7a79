package service_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// tablePath returns the path of a table of a replay.
func tablePath(replay, file string) string { return "/v1/replays/" + replay + "/tables/" + file }

// table returns a table as a file, and its header.
func (d plainDaemon) table(t *testing.T, path string, header map[string]string) (int, http.Header, []byte) {
	t.Helper()
	resp := d.do(timeout(t), t, http.MethodGet, path, header, nil)
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.ContentLength != int64(len(b)) && resp.StatusCode < http.StatusBadRequest {
		t.Errorf("%s: %d bytes, and a length of %d", path, len(b), resp.ContentLength)
	}
	return resp.StatusCode, resp.Header, b
}

// arrowRows returns the rows of a file of Arrow as JSON.
func arrowRows(t *testing.T, file []byte) (rows []string) {
	t.Helper()
	r, err := ipc.NewFileReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for i := range r.NumRecords() {
		batch, err := r.RecordBatch(i)
		if err == nil {
			rows, err = appendRows(rows, batch)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// TestTableFiles: the tables of the samples have the rows that StreamEvents sends, in each format, and a kind without events is an empty table.
func TestTableFiles(t *testing.T) {
	streamtest.SkipLong(t)
	dir := t.TempDir()
	d := startPlain(t, dir)
	for _, path := range []string{
		finishedSample, find(t, samples("datafile"), ".map")[0], filepath.Join(samples("dem"), "dota.dem"),
		filepath.Join(samples("sc2replay"), "5.0.SC2Replay"),
	} {
		replay := copyIn(t, dir, path)
		want := tablesOf(t, d.daemon, &replaydv1.StreamEventsRequest{Replay: replay})
		for kind, rows := range want {
			status, head, file := d.table(t, tablePath(replay, kind+".arrow"), nil)
			if got := arrowRows(t, file); status != http.StatusOK || !slices.Equal(got, rows) {
				t.Fatalf("%s %s: %d, %d rows, want %d", replay, kind, status, len(got), len(rows))
			}
			if end := head.Get("Replayd-End-Reason"); end != "FINISHED" {
				t.Errorf("%s %s: ended by %q", replay, kind, end)
			}
			checkCSV(t, d, replay, kind, file)
			checkParquet(t, d, replay, kind, len(rows))
		}
		if len(want) < 2 {
			t.Errorf("%s has tables of %d kinds", replay, len(want))
		}
	}
	replay := name(filepath.Base(finishedSample))
	_, _, file := d.table(t, tablePath(replay, "player_diff.arrow")+"?player=63", nil)
	if rows := arrowRows(t, file); len(rows) != 0 {
		t.Errorf("%d rows of nobody", len(rows))
	}
	checkParquet(t, d, replay, "kick_server_or_so", -1)
}

// checkCSV compares a table as CSV with the same as Arrow.
func checkCSV(t *testing.T, d plainDaemon, replay, kind string, arrow []byte) {
	t.Helper()
	_, _, text := d.table(t, tablePath(replay, kind+".csv"), nil)
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewFileReader(bytes.NewReader(arrow))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for i, f := range r.Schema().Fields() {
		if lines[0][i] != f.Name {
			t.Fatalf("%s: column %d is %s, want %s", kind, i, lines[0][i], f.Name)
		}
	}
	at := 1
	for i := range r.NumRecords() {
		batch, err := r.RecordBatch(i)
		if err != nil {
			t.Fatal(err)
		}
		for row := range int(batch.NumRows()) {
			want := strconv.FormatInt(batch.Column(0).(*array.Int64).Value(row), 10)
			if at >= len(lines) || lines[at][0] != want {
				t.Fatalf("%s: line %d of %d is not of offset %s", kind, at, len(lines), want)
			}
			at++
		}
	}
	if at != len(lines) {
		t.Errorf("%s: %d lines, want %d", kind, len(lines), at)
	}
}

// checkParquet checks that a table as Parquet has a number of rows, and says whose they are. Of an unknown kind, -1, there is no table.
func checkParquet(t *testing.T, d plainDaemon, replay, kind string, rows int) {
	t.Helper()
	status, _, file := d.table(t, tablePath(replay, kind+".parquet"), nil)
	if rows < 0 {
		if status != http.StatusBadRequest || !strings.Contains(string(file), `"field":"include[0].kinds[0]"`) {
			t.Errorf("%s: %d %s", kind, status, file)
		}
		return
	}
	var about format.FileMetaData
	footer := file[:len(file)-8]
	footer = footer[len(footer)-int(binary.LittleEndian.Uint32(file[len(file)-8:])):]
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), footer, &about); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, v := range about.KeyValueMetadata {
		said[v.Key] = v.Value
	}
	if about.NumRows != int64(rows) || said["replayd.name"] != replay || said["replayd.rows"] != strconv.Itoa(rows) || said["replayd.end_reason"] == "" {
		t.Errorf("%s %s: %d rows, %v; want %d", replay, kind, about.NumRows, said, rows)
	}
}

// TestTableParameters: a table has the events and the columns that the parameters select.
func TestTableParameters(t *testing.T) {
	dir := t.TempDir()
	d := startPlain(t, dir)
	path := tablePath(copyIn(t, dir, finishedSample), "player_diff.csv")
	_, _, all := d.table(t, path, nil)
	for query, want := range map[string]func(row map[string]string) bool{
		"player=0":                  func(row map[string]string) bool { return row["client_id"] == "0" },
		"from-tick=100&to-tick=200": func(row map[string]string) bool { n, _ := strconv.Atoi(row["at_tick"]); return n >= 100 && n <= 200 },
		"columns=at_tick,dx":        func(map[string]string) bool { return true },
	} {
		status, _, some := d.table(t, path+"?"+query, nil)
		rows, whole := cellsOf(t, some), cellsOf(t, all)
		whole = slices.DeleteFunc(whole, func(row map[string]string) bool { return !want(row) })
		if status != http.StatusOK || len(rows) == 0 || len(rows) != len(whole) {
			t.Fatalf("%s: %d, %d rows, want %d", query, status, len(rows), len(whole))
		}
		for i, row := range rows {
			if strings.HasPrefix(query, "columns") && len(row) != 2 {
				t.Fatalf("%s: the columns %v", query, row)
			}
			for column, v := range row {
				if whole[i][column] != v {
					t.Fatalf("%s: row %d is %v, want %v", query, i, row, whole[i])
				}
			}
		}
	}
}

// cellsOf returns the rows of CSV by the names of their columns.
func cellsOf(t *testing.T, text []byte) (rows []map[string]string) {
	t.Helper()
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%v: %.200s", err, text)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// TestTableRanges: the parts of a table are those of the whole, whatever its parts; the tag spares reading it again.
func TestTableRanges(t *testing.T) {
	dir := t.TempDir()
	d := startPlain(t, dir)
	path := tablePath(copyIn(t, dir, finishedSample), "player_diff.parquet")
	_, head, whole := d.table(t, path, nil)
	tag := head.Get("ETag")
	if head.Get("Accept-Ranges") != "bytes" || len(tag) < 10 || len(whole) < 1000 {
		t.Fatal(head, len(whole))
	}
	resp := d.do(timeout(t), t, http.MethodHead, path, nil, nil)
	if body, _ := io.ReadAll(resp.Body); resp.ContentLength != int64(len(whole)) || resp.Header.Get("ETag") != tag || len(body) != 0 {
		t.Errorf("HEAD: %d %v", resp.ContentLength, resp.Header)
	}
	rapid.Check(t, func(t2 *rapid.T) {
		from := rapid.IntRange(0, len(whole)-1).Draw(t2, "from")
		to := rapid.IntRange(from, len(whole)-1).Draw(t2, "to")
		header := map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", from, to)}
		if rapid.Bool().Draw(t2, "suffix") {
			header["Range"], to = fmt.Sprintf("bytes=-%d", len(whole)-from), len(whole)-1
		}
		if rapid.Bool().Draw(t2, "if") {
			header["If-Range"] = tag
		}
		status, head, part := d.table(t, path, header)
		if status != http.StatusPartialContent || !bytes.Equal(part, whole[from:to+1]) || head.Get("ETag") != tag {
			t2.Fatalf("%v: %d, %d bytes", header, status, len(part))
		}
	})
	for _, test := range []struct {
		name, value string
		status      int
	}{
		{"If-None-Match", tag, http.StatusNotModified},
		{"If-Match", tag, http.StatusOK},
		{"If-Match", `"other"`, http.StatusPreconditionFailed},
		{"Range", fmt.Sprintf("bytes=%d-", len(whole)), http.StatusRequestedRangeNotSatisfiable},
	} {
		if status, _, _ := d.table(t, path, map[string]string{test.name: test.value}); status != test.status {
			t.Errorf("%s %s: %d, want %d", test.name, test.value, status, test.status)
		}
	}
}

// TestTableGrows: when a replay has grown its table has another tag, and parts of the former table can still be read, by its tag or
// after it.
func TestTableGrows(t *testing.T) {
	dir := t.TempDir()
	live, all := filepath.Join(dir, "live.teehistorian"), read(t, finishedSample)
	write(t, live, all[:len(all)/2])
	d := startPlain(t, dir)
	path := tablePath(name("live.teehistorian"), "player_diff.csv")
	_, head, before := d.table(t, path, nil)
	tag, part := head.Get("ETag"), map[string]string{"Range": "bytes=10-1000"}
	f, err := os.OpenFile(live, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(all[len(all)/2:]); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if status, head, got := d.table(t, path, part); status != http.StatusPartialContent || head.Get("ETag") != tag || !bytes.Equal(got, before[10:1001]) {
		t.Errorf("a part after the former table: %d %s", status, head.Get("ETag"))
	}
	_, head, after := d.table(t, path, nil)
	now := head.Get("ETag")
	if now == tag || len(after) <= len(before) || !bytes.HasPrefix(after, before[:bytes.LastIndexByte(before, '\n')]) {
		t.Errorf("the table now: %s, %d bytes of %d before", now, len(after), len(before))
	}
	end := fmt.Sprintf("bytes=%d-", len(before)-10)
	for _, test := range []struct {
		header map[string]string
		tag    string
		want   []byte
	}{
		{map[string]string{"Range": end}, now, after[len(before)-10:]},
		{map[string]string{"Range": end, "If-Range": tag}, tag, before[len(before)-10:]},
		{map[string]string{"Range": end, "If-Match": tag}, tag, before[len(before)-10:]},
		{map[string]string{"Range": end, "If-Range": `"gone"`}, now, after},
	} {
		if _, head, got := d.table(t, path, test.header); head.Get("ETag") != test.tag || !bytes.Equal(got, test.want) {
			t.Errorf("%v: %s, %d bytes, want %s, %d", test.header, head.Get("ETag"), len(got), test.tag, len(test.want))
		}
	}
}

// TestTableFaults: a damaged replay has a table of what comes before the damage, and says so; other faults are those of other requests.
func TestTableFaults(t *testing.T) {
	dir := t.TempDir()
	whole := read(t, finishedSample)
	broken := bytes.Clone(whole[:len(whole)*2/3])
	broken = append(broken, bytes.Repeat([]byte{0xff}, 64)...)
	write(t, filepath.Join(dir, "broken.teehistorian"), broken)
	write(t, filepath.Join(dir, "header.teehistorian"), whole[:40])
	write(t, filepath.Join(dir, "text"), []byte("no replay, whatever it is called"))
	copyIn(t, dir, finishedSample)
	d := startPlain(t, dir)
	for _, format := range []string{"csv", "parquet", "arrow"} {
		status, head, file := d.table(t, tablePath(name("broken.teehistorian"), "player_diff."+format), nil)
		if status != http.StatusOK || head.Get("Replayd-End-Reason") != "DAMAGED" || head.Get("Replayd-End-Detail") == "" || len(file) < 1000 {
			t.Errorf("%s: %d %v, %d bytes", format, status, head, len(file))
		}
	}
	good := name(filepath.Base(finishedSample))
	for path, want := range map[string]int{
		tablePath(name("text"), "join.csv"):                http.StatusBadRequest,
		tablePath(name("absent"), "join.csv"):              http.StatusNotFound,
		tablePath("absent/x", "join.csv"):                  http.StatusNotFound,
		tablePath("..%2f..%2fetc%2fpasswd", "join.csv"):    http.StatusNotFound,
		tablePath(alias, "join.csv"):                       http.StatusBadRequest,
		tablePath(good, "joins.csv"):                       http.StatusBadRequest,
		tablePath(good, "%ff.csv"):                         http.StatusBadRequest,
		tablePath(good, "join.xls"):                        http.StatusNotFound,
		tablePath(good, "join.csv") + "?kind=drop":         http.StatusBadRequest,
		tablePath(good, "join.csv") + "?columns=nothing":   http.StatusBadRequest,
		tablePath(good, "join.csv") + "?class=x":           http.StatusBadRequest,
		tablePath(name("header.teehistorian"), "join.csv"): http.StatusInternalServerError,
	} {
		status, head, body := d.table(t, path, nil)
		if status != want || head.Get("Content-Type") != "application/json" || head.Get("ETag") != "" {
			t.Errorf("%s: %d %s, want %d", path, status, body, want)
		}
	}
}

// TestTableBorders: a table that was made for one token is not there for another that may not see its replay, and each has its own. Without
// a token there is none.
func TestTableBorders(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	replay := copyIn(t, dir, finishedSample)
	g := startGuarded(t, dir, other, "near roots="+alias+"\nfar roots="+others+"\nboth\nformats formats=dem\nmeasures allow=metrics\n")
	d := plainDaemon{g.daemon, "http://" + g.web}
	for _, test := range []struct {
		token  string
		status int
	}{
		{"near", http.StatusPartialContent},
		{"far", http.StatusNotFound},
		{"formats", http.StatusNotFound},
		{"measures", http.StatusForbidden},
		{"both", http.StatusPartialContent},
		{"", http.StatusUnauthorized},
		{"wrong", http.StatusUnauthorized},
		{"near", http.StatusPartialContent},
	} {
		header := map[string]string{"Range": "bytes=0-99"}
		if test.token != "" {
			header["Authorization"] = "Bearer " + test.token
		}
		status, _, body := d.table(t, tablePath(replay, "join.csv"), header)
		if status != test.status {
			t.Errorf("%q: %d %s, want %d", test.token, status, body, test.status)
		}
	}
	for tokens, want := range map[string]int{"both\n": http.StatusUnauthorized, "near roots=" + alias + " formats=dem\n": http.StatusNotFound} {
		write(t, g.tokens, []byte(tokens))
		if err := g.gate.Reload(); err != nil {
			t.Fatal(err)
		}
		header := map[string]string{"Authorization": "Bearer near", "Range": "bytes=0-9"}
		if status, _, _ := d.table(t, tablePath(replay, "join.csv"), header); status != want {
			t.Errorf("near, after the tokens became %q: %d, want %d", tokens, status, want)
		}
	}
}
