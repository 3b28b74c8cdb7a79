package service_test

import (
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestUnknownFields: each way in that takes JSON or a query refuses a field that it does not know, and names it. A misspelt
// filter that is ignored would give all events.
func TestUnknownFields(t *testing.T) {
	addr := startWeb(t)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true) // streams in both directions take HTTP/2
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	methods := replaydv1.File_replayd_v1_service_proto.Services().Get(0).Methods()
	type door struct {
		method, path, contentType, body string
		header                          http.Header
	}
	doors := map[string]door{}
	for i := range methods.Len() {
		m := methods.Get(i)
		path := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
		for where, message := range misspelt(m.Input()) {
			name := string(m.Name()) + where
			if m.IsStreamingClient() || m.IsStreamingServer() {
				doors["Connect "+name] = door{http.MethodPost, path, "application/connect+json", envelope(message), nil}
			} else {
				doors["Connect "+name] = door{http.MethodPost, path, "application/json", message, nil}
				if m.Options().(*descriptorpb.MethodOptions).GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS {
					doors["GET "+name] = door{http.MethodGet, path + "?connect=v1&encoding=json&message=" + url.QueryEscape(message), "", "", nil}
				}
			}
			doors["gRPC-Web "+name] = door{http.MethodPost, path, "application/grpc-web+json", envelope(message), nil}
		}
	}
	for _, d := range []struct{ method, path string }{
		{http.MethodGet, "/v1/replays?"}, {http.MethodGet, "/v1/replays/root/x?"}, {http.MethodGet, "/v1/replays/root/x/events?"},
		{http.MethodGet, "/v1/replays?page-size=1&"}, {http.MethodGet, "/v1/replays/root/x/events?follow&kind=join&"},
		{http.MethodPost, "/v1/decode?"}, {http.MethodPost, "/v1/replays?"}, {http.MethodDelete, "/v1/replays/@upload/x?"},
	} {
		for _, query := range []string{"knid=1", "knid", "knid=%7B%7D"} {
			doors[d.method+" "+d.path+query] = door{d.method, d.path + query, "", "", nil}
		}
	}
	doors["GET for an EventSource"] = door{http.MethodGet, "/v1/replays/root/x/events?knid", "", "", http.Header{"Accept": {"text/event-stream"}}}
	if len(doors) < 50 {
		t.Fatalf("only %d doors", len(doors))
	}
	for what, d := range doors {
		t.Run(what, func(t *testing.T) {
			req, err := http.NewRequestWithContext(timeout(t), d.method, "http://"+addr+d.path, strings.NewReader(d.body))
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(req.Header, d.header)
			if d.contentType != "" {
				req.Header.Set("Content-Type", d.contentType)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(io.LimitReader(resp.Body, 1000)) // a list of replays, which a stream that is not refused begins with, is longer
			if err != nil {
				t.Fatal(err)
			}
			answer := string(body) + resp.Header.Get("Grpc-Message") + resp.Trailer.Get("Grpc-Message")
			status := resp.Header.Get("Grpc-Status") + resp.Trailer.Get("Grpc-Status")
			invalid := strings.Contains(answer, "invalid_argument") || status == "3" || strings.Contains(strings.ToLower(answer), "grpc-status: 3")
			if !invalid || !strings.Contains(answer, "knid") {
				t.Errorf("%s %s: %q", resp.Status, status, answer)
			}
		})
	}

	// What is opaque is refused by the name of the field that has it.
	for path, field := range map[string]string{
		"/v1/replays?page-token=eyJrbmlkIjoxfQ":                                             "page_token",
		"/v1/replays/" + url.PathEscape(alias+"/x") + "/events?cursor=%7B%22knid%22%3A1%7D": "cursor",
	} {
		resp, err := client.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), `"field":"`+field) {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
}

// misspelt returns JSON with an unknown field, in a request and in each message in it, by where it is.
func misspelt(of protoreflect.MessageDescriptor) map[string]string {
	all := map[string]string{"": `{"knid":1}`}
	for i := range of.Fields().Len() {
		f := of.Fields().Get(i)
		if f.Message() == nil || f.Message().ParentFile().Package() == "google.protobuf" || f.IsMap() {
			continue
		}
		for where, message := range misspelt(f.Message()) {
			if f.IsList() {
				message = "[" + message + "]"
			}
			all["."+string(f.Name())+where] = `{"` + string(f.Name()) + `":` + message + `}`
		}
	}
	return all
}
