package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		in       string
		ok       bool
		want     []string
		wantNone []string
	}{
		"passed": {
			in: `{"Action":"run","Package":"a","Test":"TestX"}
{"Action":"output","Package":"a","Test":"TestX","Output":"chatter\n"}
{"Action":"pass","Package":"a","Test":"TestX","Elapsed":6.5}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"output","Package":"a","Output":"ok  \ta\t6.6s\n"}
{"Action":"pass","Package":"a","Elapsed":6.6}
`,
			ok: true, want: []string{"ok  \ta\t6.6s\n", "    6.5 s  a TestX\n", "1 tests ran."}, wantNone: []string{"chatter", "PASS", "corpus"},
		},
		"failed": {
			in: `{"Action":"output","Package":"a","Test":"TestX","Output":"=== RUN   TestX\n"}
{"Action":"output","Package":"a","Test":"TestX","Output":"    x_test.go:1: wrong\n"}
{"Action":"fail","Package":"a","Test":"TestX"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
{"Action":"fail","Package":"a"}
`,
			want: []string{"x_test.go:1: wrong\n", "FAIL\ta"}, wantNone: []string{"=== RUN"},
		},
		"skipped twice, once for another reason": {
			in: `{"Action":"output","Package":"a","Test":"TestX/y","Output":"    the corpus is not here\n"}
{"Action":"skip","Package":"a","Test":"TestX/y"}
{"Action":"output","Package":"a","Test":"TestX/y","Output":"    the corpus is not here\n"}
{"Action":"skip","Package":"a","Test":"TestX/y"}
{"Action":"output","Package":"a","Test":"TestZ","Output":"    no systemd\n"}
{"Action":"skip","Package":"a","Test":"TestZ"}
{"Action":"pass","Package":"a"}
`,
			ok: true, want: []string{"1 tests and subtests were skipped because the corpus is missing"},
		},
		"panicked": {
			in: `{"Action":"output","Package":"a","Test":"TestX","Output":"panic: oh no\n"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
{"Action":"fail","Package":"a"}
`,
			want: []string{"panic: oh no\n", "FAIL\ta"},
		},
		"cut": {
			in:   `{"Action":"output","Package":"a","Test":"TestX","Output":"SIGQUIT: quit\n"}`,
			want: []string{"SIGQUIT: quit\n"},
		},
		"not built": {
			in: `{"ImportPath":"a","Action":"build-output","Output":"a.go:1: syntax error\n"}
{"ImportPath":"a","Action":"build-fail"}
{"Action":"fail","Package":"a","FailedBuild":"a"}
`,
			want: []string{"a.go:1: syntax error\n", "FAIL\ta [build failed]"},
		},
		"no JSON": {in: "go: no such module\n", ok: true, want: []string{"go: no such module\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			ok, err := report(strings.NewReader(c.in), &out)
			if err != nil || ok != c.ok {
				t.Errorf("%v, %v", ok, err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in\n%s", want, out.String())
				}
			}
			for _, not := range c.wantNone {
				if strings.Contains(out.String(), not) {
					t.Errorf("%q is in\n%s", not, out.String())
				}
			}
		})
	}
}
