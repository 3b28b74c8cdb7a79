package service_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/replayd/replayd/service/streamtest"
)

// documented is the OpenAPI document of a daemon.
type documented struct{ *openapi3.T }

func documentOf(t *testing.T, d plainDaemon) documented {
	t.Helper()
	status, text := d.get(t, "/v1/openapi.json", nil)
	if status != http.StatusOK {
		t.Fatal(status, text)
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	no := false // of messages, other members than theirs are not described
	for _, schema := range doc.Components.Schemas {
		if schema.Value.Properties != nil {
			schema.Value.AdditionalProperties.Has = &no
		}
	}
	doc.Components.Schemas["Error"].Value.Properties["error"].Value.AdditionalProperties.Has = &no
	return documented{doc}
}

// fits checks an answer against the document: each line of a stream, but of events of one kind only the first.
func (doc documented) fits(t *testing.T, method, path string, resp answered) (body string) {
	t.Helper()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	responses := doc.Paths.Value(path).GetOperation(method).Responses
	response := responses.Status(resp.StatusCode)
	if response == nil {
		response = responses.Default()
	}
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	content := response.Value.Content[media]
	if content == nil {
		t.Fatalf("%s %s: %s of %s is not documented: %s", method, path, resp.Status, media, text)
	}
	if media == "text/plain" {
		return string(text)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var value map[string]any
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			t.Fatalf("%.200s: %v", line, err)
		}
		if kind, _ := value["kind"].(string); kind != "" && seen[kind] {
			continue
		} else if kind != "" {
			seen[kind] = true
		}
		if err := content.Schema.Value.VisitJSON(value); err != nil {
			t.Errorf("%s %s: %.300s: %.2000v", method, path, line, err)
		}
	}
	return string(text)
}

// TestAnswersAreDocumented: what a daemon answers is what its OpenAPI document says, for a sample of each format.
func TestAnswersAreDocumented(t *testing.T) {
	streamtest.SkipLong(t)
	d := startPlain(t, samples())
	doc := documentOf(t, d)
	const replays, replay, events, decode = "/v1/replays", "/v1/replays/{name}", "/v1/replays/{name}/events", "/v1/decode"
	ask := func(method, path, at string, header map[string]string, body io.Reader, status int) string {
		t.Helper()
		resp := d.do(timeout(t), t, method, at, header, body)
		if resp.StatusCode != status {
			t.Errorf("%s %s: %s", method, at, resp.Status)
		}
		return doc.fits(t, method, path, resp)
	}
	for _, view := range []string{"basic", "full", "players"} {
		ask(http.MethodGet, replays, "/v1/replays?page-size=100&player=*&view="+view, nil, nil, http.StatusOK)
		ask(http.MethodGet, replays, "/v1/replays?page-size=100&view="+view, nil, nil, http.StatusOK)
		ask(http.MethodGet, replay+"/report", "/v1/replays/"+name("datafile/sample.map")+"/report", nil, nil, http.StatusOK)
	}
	for file, query := range map[string]string{
		strings.TrimPrefix(finishedSample, samples()+string(os.PathSeparator)): "with-state&tick=100&resolve-players",
		"datafile/sample.map":        "",
		"dem/sample.dem":             "with-state&tick=100",
		"sc2replay/battle.SC2Replay": "with-state&tick=100",
	} {
		at := "/v1/replays/" + name(strings.Split(file, string(os.PathSeparator))...)
		ask(http.MethodGet, replay, at+"?view=full", nil, nil, http.StatusOK)
		for _, q := range []string{"", query} {
			if text := ask(http.MethodGet, events, at+"/events?"+q, nil, nil, http.StatusOK); !strings.Contains(text, `"end":`) || !strings.Contains(text, `"kind":`) {
				t.Errorf("%s has no events, or no end: %.1000s", at, text)
			}
		}
		upload := strings.NewReader(string(read(t, samples(file))))
		ask(http.MethodPost, decode, "/v1/decode", nil, upload, http.StatusOK)
	}
	made := ask(http.MethodPost, replays, "/v1/replays?time-to-live=1m", nil, strings.NewReader(string(read(t, finishedSample))), http.StatusCreated)
	var stored struct {
		Replay struct {
			Name string `json:"name"`
		} `json:"replay"`
	}
	if err := json.Unmarshal([]byte(made), &stored); err != nil {
		t.Fatal(err)
	}
	ask(http.MethodGet, replay, "/v1/replays/"+stored.Replay.Name, nil, nil, http.StatusOK)
	ask(http.MethodDelete, replay, "/v1/replays/"+stored.Replay.Name, nil, nil, http.StatusOK)

	ask(http.MethodGet, replay, "/v1/replays/root/nothing", nil, nil, http.StatusNotFound)
	ask(http.MethodGet, events, "/v1/replays/root/nothing/events?knid=x", nil, nil, http.StatusBadRequest)
	ask(http.MethodPost, decode, "/v1/decode", nil, strings.NewReader("no replay"), http.StatusBadRequest)
	ask(http.MethodPost, decode, "/v1/decode", map[string]string{"Sec-Fetch-Site": "cross-site"}, strings.NewReader(""), http.StatusForbidden)
}
