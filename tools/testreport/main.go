// Command testreport reads the output of `go test -json` and writes the output of `go test`: a line for each package,
// and the output of failed tests. At the end it lists slow tests, and the number of tests that were skipped because the
// corpus is missing. `go test` does not report either.
//
//	go test -json ./... | go run ./tools/testreport
//
// The exit status is 1 when a test failed. If a package could not be built, the exit status of go test also reports it.
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

// slow is the duration from which a test is listed, and slowest is the largest number of tests to list.
const (
	slow    = 5 * time.Second
	slowest = 15
)

// test is a test in one run. A package may be tested twice, with and without the race detector.
type test struct {
	name string
	took time.Duration
}

// reporter keeps the output of tests until their result is known.
type reporter struct {
	w       *bufio.Writer
	output  map[string][]string // by package and test
	failed  bool
	tests   int
	long    []test
	skipped map[string]bool // because the corpus is missing
}

// report writes a report on the events in in, and returns whether all tests passed. It copies lines that are not JSON.
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

// end handles the end of a test or a package.
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

// endPackage writes a package's line. If the package failed, it also writes the output outside of tests, and the output
// of tests that did not end.
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
	if len(lines) == 0 && e.Action == "fail" { // build failed
		_, _ = fmt.Fprintf(r.w, "FAIL\t%s [build failed]\n", e.Package)
	}
}

// write writes the output of a test, without the lines that only report its progress.
func (r *reporter) write(key string) {
	for _, line := range r.output[key] {
		if !strings.HasPrefix(line, "=== ") {
			_, _ = r.w.WriteString(line)
		}
	}
}

// finish writes the summary over all packages, and the output of tests that did not end.
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
		_, _ = fmt.Fprintf(r.w, " %d tests and subtests were skipped because the corpus is missing: see docs/testing.md.", n)
	}
	_, _ = r.w.WriteString("\n")
}
