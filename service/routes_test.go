package service_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/service/access"
)

// casesOf returns the conditions of all switches of a function of this repository, as they are written.
func casesOf(t *testing.T, file, function string) (list []string) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, filepath.FromSlash(file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != function {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CaseClause)
			if !ok {
				return true
			}
			var text []string
			for _, e := range c.List {
				var b bytes.Buffer
				if err := printer.Fprint(&b, set, e); err != nil {
					t.Fatal(err)
				}
				text = append(text, b.String())
			}
			list = append(list, strings.Join(text, ", "))
			return true
		})
	}
	return list
}

// TestEveryRoute: every web route is listed here. Each refuses a missing, wrong or expired token with the same message, and
// also refuses a token that allows something else. The page is an exception: it holds nothing of replays. A new route must be
// added here. TestEveryWayIn tests the methods by Connect, gRPC-Web and gRPC.
func TestEveryRoute(t *testing.T) {
	routes := map[string][]string{ // by file and condition: requests that take it
		"routes.go: strings.HasPrefix(r.URL.Path, plainhttp.Prefix)": {},
		"routes.go: page.IsAsset(r)":                                 {"GET /assets/overview/x", "GET /assets/image/x"},
		"routes.go: page.Has(r)":                                     {},
		"routes.go: ":                                                {"GET /nothing", "POST /nothing", "GET /metrics", "GET /debug/pprof/"},

		"plain/plain.go: isNamed":                                        {"POST /v1/subscriptions/x", "DELETE /v1/subscriptions/x"},
		"plain/plain.go: path == documentPath":                           {}, // it describes the API, and holds nothing of replays
		"plain/plain.go: path == decodePath":                             {"POST /v1/decode"},
		"plain/plain.go: path == broadcastsPath":                         {"POST /v1/broadcasts"},
		"plain/plain.go: path == statePath":                              {"GET /v1/state"},
		"plain/plain.go: path == replaysPath":                            {"GET /v1/replays", "POST /v1/replays"},
		"plain/plain.go: path == allPath":                                {"GET /v1/events"},
		"plain/plain.go: below && strings.HasSuffix(rest, eventsSuffix)": {"GET /v1/replays/x/events"},
		"plain/plain.go: below && strings.HasSuffix(rest, reportSuffix)": {"GET /v1/replays/x/report"},
		"plain/plain.go: below && isTable":                               {"GET /v1/replays/x/tables/tick.csv"},
		"plain/plain.go: below":                                          {"GET /v1/replays/x", "DELETE /v1/replays/x", "GET /v1/replays/@upload/x"},
		"plain/plain.go: ":                                               {"GET /v1/nothing", "POST /v1/nothing"},
	}
	for _, at := range [][2]string{{"routes.go", "routes"}, {"plain/plain.go", "methods"}} {
		has := casesOf(t, at[0], at[1])
		if len(has) < 3 {
			t.Fatalf("%s has no routes any more: this test must look elsewhere", at[0])
		}
		for _, c := range has {
			if _, known := routes[at[0]+": "+c]; !known {
				t.Errorf("%s has a route that no test asks for without a token: %q", at[0], c)
			}
		}
		for route := range routes {
			if c, mine := strings.CutPrefix(route, at[0]+": "); mine && !slices.Contains(has, c) {
				t.Errorf("there is no %s", route)
			}
		}
	}
	g := startGuarded(t, samples("datafile"), samples("teehistorian"), "good\nold expires=2020-01-01\nnone allow=debug\n")
	d := plainDaemon{g.daemon, "http://" + g.web}
	for route, requests := range routes {
		for _, request := range requests {
			method, path, _ := strings.Cut(request, " ")
			for token, want := range map[string]error{
				"": access.ErrUnauthenticated, "wrong": access.ErrUnauthenticated, "old": access.ErrUnauthenticated, "none": access.ErrForbidden,
			} {
				header := map[string]string{}
				if token != "" {
					header["Authorization"] = "Bearer " + token
				}
				resp := d.do(timeout(t), t, method, path, header, strings.NewReader(""))
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				refused := strings.Contains(strings.ReplaceAll(string(body), `\"`, `"`), want.Error())
				nothing := strings.HasSuffix(route, ": ") && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed)
				if !refused && !nothing || resp.StatusCode == http.StatusOK {
					t.Errorf("%s with token %q: %s", request, token, fmt.Sprint(resp.Status, " ", string(body)))
				}
			}
		}
	}
}
