// Command testreport reads what `go test -json` prints and writes what `go test` would have printed: a line for each
// package, and the output of what failed. At the end it says what took long, and how many tests were skipped because the
// corpus is not there, which `go test` keeps to itself.
//
//	go test -json ./... | go run ./tools/testreport
//
// The exit status is 1 when a test failed. That a package could not be built is said by the exit status of go test, too.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	ok, err := report(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// event is one line of go test -json; see go doc test2json.
type event struct {
	Action  string  `json:"Action"`
	Package string  `json:"Package"`
	Test    string  `json:"Test"`
	Output  string  `json:"Output"`
	Elapsed float64 `json:"Elapsed"` // seconds
}

// slow is how long a test may take before it is listed; slowest is how many are.
const (
	slow    = 5 * time.Second
	slowest = 15
)

// test is a test of one run: a package may be tested twice, with and without the race detector.
type test struct {
	name string
	took time.Duration
}

// reporter keeps the output of tests until it is known whether they fail.
type reporter struct {
	w       *bufio.Writer
	output  map[string][]string // by package and test
	failed  bool
	tests   int
	long    []test
	skipped map[string]bool // for want of the corpus
}

// report writes the report on what in holds, and returns whether all tests passed. Lines that are no JSON pass through.
func report(in io.Reader, out io.Writer) (ok bool, err error) {
	r := &reporter{w: bufio.NewWriter(out), output: map[string][]string{}, skipped: map[string]bool{}}
	lines := bufio.NewReader(in)
	for err == nil {
		var line []byte
		if line, err = lines.ReadBytes('\n'); len(line) == 0 {
			continue
		}
		var e event
		if line[0] != '{' || json.Unmarshal(line, &e) != nil {
			_, _ = r.w.Write(line)
			continue
		}
		if r.add(e); e.Test == "" {
			_ = r.w.Flush()
		}
	}
	if !errors.Is(err, io.EOF) {
		return false, err
	}
	r.finish()
	return !r.failed, r.w.Flush()
}

func (r *reporter) add(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		_, _ = r.w.WriteString(e.Output)
	case "build-fail":
		r.failed = true
	case "output":
		r.output[key] = append(r.output[key], e.Output)
	case "skip":
		if e.Test != "" && strings.Contains(strings.Join(r.output[key], ""), "corpus") {
			r.skipped[key] = true
		}
		r.end(e, key)
	case "fail":
		r.failed = true
		if e.Test != "" {
			r.write(key)
		}
		r.end(e, key)
	case "pass":
		r.end(e, key)
	}
}

// end is called when a test or a package is over.
func (r *reporter) end(e event, key string) {
	if e.Test == "" {
		r.endPackage(e, key)
		return
	}
	delete(r.output, key)
	if strings.Contains(e.Test, "/") {
		return
	}
	r.tests++
	if took := time.Duration(e.Elapsed * float64(time.Second)); took >= slow {
		r.long = append(r.long, test{strings.ReplaceAll(key, "github.com/replayd/replayd/", ""), took})
	}
}

// endPackage writes a package's line. What it printed outside of tests, and what tests printed that never ended, is shown
// when it failed.
func (r *reporter) endPackage(e event, key string) {
	lines := r.output[key]
	delete(r.output, key)
	if e.Action == "fail" {
		for other := range r.output {
			if strings.HasPrefix(other, key) {
				r.write(other)
				delete(r.output, other)
			}
		}
	}
	for _, line := range lines {
		result := strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "? ")
		if result || e.Action == "fail" {
			_, _ = r.w.WriteString(line)
		}
	}
	if len(lines) == 0 && e.Action == "fail" { // not built
		_, _ = fmt.Fprintf(r.w, "FAIL\t%s [build failed]\n", e.Package)
	}
}

// write shows the output of a test, without the lines that only say that it goes on.
func (r *reporter) write(key string) {
	for _, line := range r.output[key] {
		if !strings.HasPrefix(line, "=== ") {
			_, _ = r.w.WriteString(line)
		}
	}
}

// finish writes what there is to say of all packages, and the output of tests whose end is missing.
func (r *reporter) finish() {
	for key := range r.output {
		r.failed = true
		r.write(key)
	}
	if len(r.long) > 0 {
		slices.SortStableFunc(r.long, func(a, b test) int { return cmp.Compare(b.took, a.took) })
		_, _ = fmt.Fprintf(r.w, "\nTests of more than %v:\n", slow)
		for _, t := range r.long[:min(len(r.long), slowest)] {
			_, _ = fmt.Fprintf(r.w, "%7.1f s  %s\n", t.took.Seconds(), t.name)
		}
	}
	_, _ = fmt.Fprintf(r.w, "\n%d tests ran.", r.tests)
	if n := len(r.skipped); n > 0 {
		_, _ = fmt.Fprintf(r.w, " %d tests and subtests were skipped for want of the corpus: docs/testing.md says what it is.", n)
	}
	_, _ = r.w.WriteString("\n")
}
