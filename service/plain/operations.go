package plain

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Operation is the combination of a path and an HTTP method that a Handler serves.
type Operation struct {
	Method     string // GET
	Path       string // with the name of a replay or a subscription as {name}, and that of a table's file as {table}
	ID         string // in the OpenAPI document; empty if it is the name of the method
	Summary    string
	RPC        protoreflect.FullName // the method of the service that it calls; empty if it calls none
	Status     int                   // of an answer without an error
	SSE        bool                  // the answer may be server-sent events
	Parameters []Parameter           // ordered by name
}

// Parameter is a query parameter of an operation.
type Parameter struct {
	Name   string
	Doc    string                  // empty if the comment of the field describes it
	List   bool                    // a list of values, separated by commas or in repeated parameters
	Form   Form                    // of a value
	Fields []protoreflect.FullName // of the request, which the parameter sets
}

// Form is the form of a parameter's values.
type Form struct {
	Type     string // as OpenAPI names a type of JSON. A boolean without a value is true.
	Format   string // as OpenAPI names it
	Min, Max int64  // limits of an integer
	Values   []string
	Example  string
}

var (
	textForm   = Form{Type: "string", Example: "text"}
	cursorForm = Form{Type: "string", Format: "base64url", Example: "AQ"}
)

func wholeForm[T int32 | uint32]() Form {
	f := Form{Type: "integer", Format: "int64", Max: 1<<32 - 1, Example: "1"}
	if _, signed := any(T(0)).(int32); signed {
		f.Format, f.Min, f.Max = "int32", -1<<31, 1<<31-1
	}
	return f
}

func enumForm(names map[string]int32, prefix string) Form {
	values := spellings(names, prefix)
	return Form{Type: "string", Values: values, Example: values[0]}
}

// operation is an Operation with its implementation. Its Parameters are empty: request has them.
type operation struct {
	Operation

	request func() (proto.Message, parameters) // a new request, and the parameters that fill it
	serve   func(h *Handler, w http.ResponseWriter, r *http.Request, name string, req proto.Message)
}

// operations lists everything that a Handler serves.
var operations = []operation{
	operationOf(Operation{
		Method: http.MethodGet, Path: replaysPath, RPC: "replayd.v1.ReplayService.ListReplays", Status: http.StatusOK,
		Summary: "Lists replays.",
	}, &replaydv1.ListReplaysRequest{Filter: &replaydv1.ReplayFilter{}}, listing, (*Handler).list),
	operationOf(Operation{
		Method: http.MethodPost, Path: replaysPath, RPC: "replayd.v1.ReplayService.CreateReplay", Status: http.StatusCreated,
		Summary: "Stores the replay in the body for a limited time.",
	}, &replaydv1.CreateReplayOptions{}, creating, (*Handler).create),
	operationOf(Operation{
		Method: http.MethodGet, Path: replayPath, RPC: "replayd.v1.ReplayService.GetReplay", Status: http.StatusOK,
		Summary: "Describes one replay.",
	}, &replaydv1.GetReplayRequest{}, describing, (*Handler).get),
	operationOf(Operation{
		Method: http.MethodGet, Path: reportPath, RPC: "replayd.v1.ReplayService.GetReport", Status: http.StatusOK,
		Summary: "Says who took part in a game, where, and how it stood after a tick, or ended.",
	}, &replaydv1.GetReportRequest{}, reporting, (*Handler).report),
	operationOf(Operation{
		Method: http.MethodDelete, Path: replayPath, RPC: "replayd.v1.ReplayService.DeleteReplay", Status: http.StatusOK,
		Summary: "Removes a replay that was stored by a POST, before it expires.",
	}, &replaydv1.DeleteReplayRequest{}, nothing, (*Handler).remove),
	operationOf(Operation{
		Method: http.MethodGet, Path: eventsPath, RPC: "replayd.v1.ReplayService.StreamEvents", Status: http.StatusOK, SSE: true,
		Summary: "Streams the events of a replay.",
	}, &replaydv1.StreamEventsRequest{Start: &replaydv1.Start{}}, streaming, (*Handler).events),
	operationOf(Operation{
		Method: http.MethodGet, Path: allPath, RPC: "replayd.v1.ReplayService.SubscribeEvents", Status: http.StatusOK, SSE: true,
		Summary: "Streams the events of all replays: those that are over, live ones, and those to come.",
	}, &replaydv1.SubscribeEventsRequest{
		Filter: &replaydv1.ReplayFilter{}, Options: &replaydv1.StreamEventsRequest{Start: &replaydv1.Start{}},
	}, subscribing, (*Handler).all),
	operationOf(Operation{
		Method: http.MethodPost, Path: subscriptionPath, RPC: "replayd.v1.ReplayService.AcknowledgeEvents", Status: http.StatusOK,
		Summary: "Notes how far a client of a named subscription has processed its events.",
	}, &replaydv1.AcknowledgeEventsRequest{}, acknowledging, (*Handler).acknowledge),
	operationOf(Operation{
		Method: http.MethodDelete, Path: subscriptionPath, RPC: "replayd.v1.ReplayService.DeleteSubscription", Status: http.StatusOK,
		Summary: "Removes a named subscription.",
	}, &replaydv1.DeleteSubscriptionRequest{}, nothing, (*Handler).forget),
	operationOf(Operation{
		Method: http.MethodGet, Path: tablePath, ID: "getTable", RPC: "replayd.v1.ReplayService.StreamEvents", Status: http.StatusOK,
		Summary: "Returns the events of one kind as a file: Parquet, Arrow or CSV.",
	}, &replaydv1.StreamEventsRequest{Start: &replaydv1.Start{}}, tabling, (*Handler).table),
	operationOf(Operation{
		Method: http.MethodHead, Path: tablePath, ID: "headTable", RPC: "replayd.v1.ReplayService.StreamEvents", Status: http.StatusOK,
		Summary: "Returns the length and the tag of such a file.",
	}, &replaydv1.StreamEventsRequest{Start: &replaydv1.Start{}}, tabling, (*Handler).table),
	operationOf(Operation{
		Method: http.MethodPost, Path: broadcastsPath, RPC: "replayd.v1.ReplayService.FollowBroadcast", Status: http.StatusOK,
		Summary: "Follows the broadcast of a running match, and says under which name.",
	}, &replaydv1.FollowBroadcastRequest{}, broadcasting, (*Handler).broadcast),
	operationOf(Operation{
		Method: http.MethodPost, Path: decodePath, RPC: "replayd.v1.ReplayService.DecodeReplay", Status: http.StatusOK,
		Summary: "Streams the events of the replay in the body, and keeps nothing.",
	}, &replaydv1.StreamEventsRequest{Start: &replaydv1.Start{}}, decoding, (*Handler).decode),
	operationOf(Operation{
		Method: http.MethodGet, Path: statePath, RPC: "replayd.v1.ReplayService.WatchState", Status: http.StatusOK, SSE: true,
		Summary: "Sends the latest state of live games, again and again.",
	}, &replaydv1.WatchStateRequest{Filter: &replaydv1.ReplayFilter{}}, watching, (*Handler).state),
	operationOf(Operation{
		Method: http.MethodGet, Path: documentPath, Status: http.StatusOK,
		Summary: "Returns this document.",
	}, (*replaydv1.GetServerInfoRequest)(nil), nothing, (*Handler).document),
}

// operationOf returns an operation whose requests begin as copies of a message.
func operationOf[M proto.Message](
	op Operation, begin M, accepted func(M) parameters,
	serve func(h *Handler, w http.ResponseWriter, r *http.Request, name string, req M),
) operation {
	return operation{
		Operation: op,
		request: func() (proto.Message, parameters) {
			req := proto.CloneOf(begin)
			return req, accepted(req)
		},
		serve: func(h *Handler, w http.ResponseWriter, r *http.Request, name string, req proto.Message) {
			serve(h, w, r, name, req.(M))
		},
	}
}

// nothing returns the parameters of an operation that has none.
func nothing[M proto.Message](M) parameters { return parameters{} }

// packed is what tools/openapi writes.
//
//go:embed openapi.gen.json.gz
var packed []byte

// openAPI returns the OpenAPI document.
var openAPI = sync.OnceValues(func() ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
})

// document answers with the OpenAPI document. It contains nothing of replays, so it needs no token.
func (*Handler) document(w http.ResponseWriter, _ *http.Request, _ string, _ *replaydv1.GetServerInfoRequest) {
	text, err := openAPI()
	if err != nil {
		http.Error(w, "unpacking the document: "+err.Error(), http.StatusInternalServerError) // no build has such a one
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// Operations returns everything that a Handler serves, with parameters. It finds the fields of a parameter by setting it, so they
// are the fields that requests fill.
func Operations() (list []Operation, err error) {
	for _, op := range operations {
		_, accepted := op.request()
		for _, name := range slices.Sorted(maps.Keys(accepted)) {
			req, again := op.request()
			before := leaves(req.ProtoReflect())
			p := again[name]
			if err := p.set(p.form.Example); err != nil {
				return nil, fmt.Errorf("the example of %s: %w", name, err)
			}
			fields := slices.DeleteFunc(leaves(req.ProtoReflect()), func(f protoreflect.FullName) bool { return slices.Contains(before, f) })
			op.Parameters = append(op.Parameters, Parameter{Name: name, Doc: p.doc, List: p.list, Form: p.form, Fields: fields})
		}
		list = append(list, op.Operation)
	}
	return list, nil
}

// leaves returns the fields that are set in a message and in messages below it. It leaves out a field whose message has such
// fields.
func leaves(m protoreflect.Message) (names []protoreflect.FullName) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		var below []protoreflect.FullName
		switch {
		case field.Message() == nil || field.Message().ParentFile().Package() == "google.protobuf":
		case field.IsList():
			for i := range value.List().Len() {
				below = append(below, leaves(value.List().Get(i).Message())...)
			}
		default:
			below = leaves(value.Message())
		}
		if len(below) == 0 {
			below = append(below, field.FullName())
		}
		names = append(names, below...)
		return true
	})
	slices.Sort(names)
	return names
}

// ErrorField is a field of the object that describes an error.
type ErrorField struct {
	Name, Doc string
	Type      reflect.Type
	Always    bool // present in every error
}

// ErrorFields returns the fields of the object that describes an error.
func ErrorFields() (list []ErrorField) {
	for f := range reflect.TypeFor[fault]().Fields() {
		if f.IsExported() {
			name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
			list = append(list, ErrorField{Name: name, Doc: f.Tag.Get("doc"), Type: f.Type, Always: rest != "omitempty"})
		}
	}
	return list
}

// ErrorCodes returns the names of the codes of errors.
func ErrorCodes() (names []string) {
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		names = append(names, nameOf(code))
	}
	return names
}
