package plain

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Table is a table as a file: the response of the methods that TableMethod names.
type Table struct {
	Content io.ReadSeeker
	Tag     string // the entity tag, in quotes
	End     string // why the stream of its events ended: the name of an EndReason without its prefix, or DAMAGED
	Detail  string // what is wrong with a damaged replay
	// Sent is called when nothing of Content is read any more.
	Sent func()
}

// mediaTypes maps the formats of tables, which are the suffixes of their paths, to their media types.
var mediaTypes = map[string]string{
	"parquet": "application/vnd.apache.parquet",
	"arrow":   "application/vnd.apache.arrow.file",
	"csv":     "text/csv; charset=utf-8; header=present",
}

// MediaTypes returns the media types of tables.
func MediaTypes() []string {
	return []string{mediaTypes["parquet"], mediaTypes["arrow"], mediaTypes["csv"]}
}

// TableMethod returns the name of the method that answers a StreamEventsRequest with a table in a format, such as "csv". The method is
// for calls in this process, and sends a *Table.
func TableMethod(format string) string { return "/tables/" + format }

// The headers that say how the stream of a table's events ended.
const (
	endHeader    = "Replayd-End-Reason"
	detailHeader = "Replayd-End-Detail"
)

// TableHeaders returns the headers of the answers with tables, for pages of other origins.
func TableHeaders() []string {
	return []string{"Accept-Ranges", "Content-Length", "Content-Range", "ETag", endHeader, detailHeader}
}

// cutTable cuts the end of a path that names the file of a table, such as "/tables/join.csv". It returns what is before it, and the name
// of the file.
func cutTable(path string) (before, file string, found bool) {
	i := strings.LastIndex(path, tablesInfix)
	if i <= 0 {
		return path, "", false
	}
	file = path[i+len(tablesInfix):]
	kind, format := cutFormat(file)
	return path[:i], file, kind != "" && mediaTypes[format] != "" && !strings.Contains(file, "/")
}

// cutFormat returns the table and the format that the name of a file says. The name of a table may have dots.
func cutFormat(file string) (table, format string) {
	i := max(strings.LastIndexByte(file, '.'), 0)
	return file[:i], strings.TrimPrefix(file[i:], ".")
}

// table answers with a table. net/http answers conditions and ranges.
func (h *Handler) table(w http.ResponseWriter, r *http.Request, name string, req *replaydv1.StreamEventsRequest) {
	_, file, _ := cutTable(r.URL.EscapedPath())
	kind, format := cutFormat(file)
	kind, err := url.PathUnescape(kind)
	if err != nil {
		badRequest("table", err.Error()).answer(w)
		return
	}
	req.Replay, req.Encoding = name, replaydv1.Encoding_ENCODING_ARROW
	if len(req.GetInclude()) == 0 {
		req.Include = []*replaydv1.EventFilter{{}}
	}
	req.Include[0].Kinds = []string{kind}
	answered := false
	f := h.call(r, TableMethod(format), once(req), func(m any) error {
		t := m.(*Table)
		defer t.Sent()
		answered = true
		head := w.Header()
		head.Set("Cache-Control", "private, no-cache")
		head.Set("Content-Type", mediaTypes[format])
		head.Set("ETag", t.Tag)
		head.Set(endHeader, t.End)
		if t.Detail != "" {
			head.Set(detailHeader, strings.Map(printable, t.Detail))
		}
		http.ServeContent(w, r, "", time.Time{}, t.Content)
		return nil
	}, func() {})
	switch {
	case answered: // a fault cannot be told any more; the answer is then shorter than its header says
	case f == nil:
		newFault(codes.Internal, "the method has not answered").answer(w)
	default:
		f.answer(w)
	}
}

// printable replaces what a header may not have.
func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}
