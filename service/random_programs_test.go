package service_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/opened"
)

var program = flag.String("program", "", "the program replayd, by which TestRandomRequests makes requests, too, and by the Python and TypeScript clients")

// programDoors are doors as of doors, of programs that are started.
var programDoors = map[string]func(t *testing.T, w *ways, req *replaydv1.StreamEventsRequest) (got, want []string, ok bool){
	"replayd cat": func(t *testing.T, w *ways, req *replaydv1.StreamEventsRequest) (got, want []string, ok bool) {
		t.Helper()
		query, ok := queryOf(req)
		if !ok || w.grpc(timeout(t), req).Err != nil {
			return nil, nil, false
		}
		query.Del("max-batch-events")
		args := append([]string{"cat"}, flagsOf(query)...)
		if req.GetFollow() || w.random.IntN(2) == 0 {
			args = append(args, "--addr", w.tcp(t), req.GetReplay())
		} else {
			args = append(args, filepath.Join(w.dir, filepath.Base(w.path)))
		}
		out := run(t, args...)
		return slices.Collect(strings.Lines(out)), w.plain().printed(t, req), true
	},
	"replayd export": func(t *testing.T, w *ways, req *replaydv1.StreamEventsRequest) (got, want []string, ok bool) {
		t.Helper()
		req.Start, req.Follow, req.Strict, req.MaxBatchEvents = nil, false, false, 0
		query, ok := queryOf(req)
		if in := req.GetInclude(); len(in) == 1 && len(in[0].GetDem().GetClasses()) > 0 && len(in[0].GetKinds()) == 0 {
			opened.Widen(req) // the flag for classes without one for kinds
			req.Encoding = replaydv1.Encoding_ENCODING_ARROW
		}
		if !ok || w.grpc(timeout(t), req).Err != nil {
			return nil, nil, false
		}
		to := t.TempDir()
		run(t, append(append([]string{"export", "--format", "arrow", "--to", to}, flagsOf(query)...), filepath.Join(w.dir, filepath.Base(w.path)))...)
		tables := tablesOf(t, w.d, proto.CloneOf(req))
		files := map[string]string{}
		for _, path := range find(t, to, ".arrow") {
			if kind, ok := strings.CutPrefix(filepath.Base(filepath.Dir(path)), "kind="); ok {
				files[kind] = path
			}
		}
		for kind, rows := range tables {
			if len(rows) > 0 && files[kind] == "" {
				t.Fatalf("no file of %s among %v", kind, files)
			}
		}
		for kind, path := range files {
			got, want = append(got, rowsOf(t, path)...), append(want, tables[kind]...)
		}
		return got, want, true
	},
	"the Python client": func(t *testing.T, w *ways, req *replaydv1.StreamEventsRequest) (got, want []string, ok bool) {
		t.Helper()
		return peers.python.ask(t, w, req), values(t, w.plain().printed(t, req)), true
	},
	"the TypeScript client": func(t *testing.T, w *ways, req *replaydv1.StreamEventsRequest) (got, want []string, ok bool) {
		t.Helper()
		return peers.typescript.ask(t, w, req), values(t, w.plain().printed(t, req)), true
	},
}

// flagsOf returns parameters of HTTP as flags, which have the same names.
func flagsOf(query url.Values) (flags []string) {
	for name, values := range query {
		for _, v := range values {
			if name := "--" + name; v == "" {
				flags = append(flags, name)
			} else {
				flags = append(flags, name+"="+v)
			}
		}
	}
	return flags
}

// run runs the program and returns its output.
func run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(timeout(t), *program, args...)
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, failed.String())
	}
	return string(out)
}

// rowsOf returns the rows of a file of Arrow.
func rowsOf(t *testing.T, path string) (rows []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	from, err := ipc.NewFileReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for i := range from.NumRecords() {
		batch, err := from.RecordBatch(i)
		if err != nil {
			t.Fatal(err)
		}
		if rows, err = appendRows(rows, batch); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// peers are the programs of clients that run.
var peers struct{ python, typescript *peer }

// peer is a program that makes requests, one after the other; see clients/same.
type peer struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Scanner
}

// startPeers starts the programs of clients whose languages are at hand, until the test ends.
func startPeers(t *testing.T) {
	t.Helper()
	if *program == "" {
		return
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(root, ".cache", "python", "bin", "python")
	if exists(python) {
		peers.python = startPeer(t, root, python, "each.py")
	}
	if node, err := exec.LookPath("node"); err == nil && exists(filepath.Join(root, "clients", "typescript", "node_modules")) {
		peers.typescript = startPeer(t, root, node, "each.mjs")
	}
	t.Cleanup(func() { peers.python, peers.typescript = nil, nil })
}

func startPeer(t *testing.T, root, interpreter, script string) *peer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), interpreter, filepath.Join(root, "clients", "same", script))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(root, "clients", "python", "src"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	return &peer{in: in, out: lines}
}

// ask makes a request and returns the events as values returns them.
func (p *peer) ask(t *testing.T, w *ways, req *replaydv1.StreamEventsRequest) []string {
	t.Helper()
	asked, err := protojson.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(map[string]any{"address": w.tcp(t), "request": json.RawMessage(asked)})
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	var events []string
	for p.out.Scan() {
		if end, ok := strings.CutPrefix(strings.ReplaceAll(p.out.Text(), `": "`, `":"`), `{"end":`); ok {
			if end != `""}` {
				t.Fatalf("%s: %s", end, asked)
			}
			return values(t, events)
		}
		events = append(events, p.out.Text())
	}
	t.Fatalf("the program has ended: %v", p.out.Err())
	return nil
}

// values returns lines of JSON in the one form that json.Marshal gives them.
func values(t *testing.T, lines []string) (all []string) {
	t.Helper()
	for _, line := range lines {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}

// allDoors returns the names of the doors that there are, in order.
func allDoors() []string {
	var names []string
	for name := range doors {
		names = append(names, name)
	}
	for name := range programDoors {
		if *program != "" && (name != "the Python client" || peers.python != nil) && (name != "the TypeScript client" || peers.typescript != nil) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// tcp returns the address of the daemon for programs.
func (w *ways) tcp(t *testing.T) string {
	t.Helper()
	if w.forwarded != "" {
		return w.forwarded
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go w.forward(t, from)
		}
	}()
	w.forwarded = listener.Addr().String()
	return w.forwarded
}

// forward connects a program with the daemon.
func (w *ways) forward(t *testing.T, from net.Conn) {
	defer from.Close()
	to, err := w.d.dial(t.Context())
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
}
