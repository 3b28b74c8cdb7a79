// Package plain serves the API to programs that speak only HTTP: curl, a shell, an EventSource in a browser. docs/http.md
// describes it.
//
// The handler runs the same methods as gRPC's server, behind the same interceptors. So tokens, scopes, limits, metrics, the log,
// heartbeats and draining work as for all other calls. It prints responses as JSON: an object, lines, or server-sent events.
//
//	plain.go       maps requests to calls
//	operations.go  a table of everything that is served, for the handler and for the OpenAPI document
//	query.go       the parameters of requests
//	call.go        calls of methods in this process
//	upload.go      bodies as messages
//	table.go       tables as files
//	state.go       the latest state of live games
//	print.go       streams as lines and as server-sent events
//	fault.go       errors
package plain

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/eventjson"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

// Prefix is the prefix of the paths that a Handler serves.
const Prefix = "/v1/"

const (
	allPath        = Prefix + "events"
	replaysPath    = Prefix + "replays"
	decodePath     = Prefix + "decode"
	broadcastsPath = Prefix + "broadcasts"
	documentPath   = Prefix + "openapi.json"
	statePath      = Prefix + "state"
	namedPath      = Prefix + "subscriptions"
	eventsSuffix   = "/events"
	reportSuffix   = "/report"
	tablesInfix    = "/tables/"

	// The paths as OpenAPI writes them.
	replayPath = replaysPath + "/{name}"
	eventsPath = replayPath + eventsSuffix
	reportPath = replayPath + reportSuffix
	tablePath  = replayPath + tablesInfix + "{table}"

	subscriptionPath = namedPath + "/{name}"
)

// Handler serves the paths below Prefix.
type Handler struct {
	method    Method
	maxDecode int64
}

// New returns a handler that runs methods of the service. maxDecode limits the size of an upload that is decoded at once: a
// client that sends all of it before it reads events, as browsers do, could otherwise wait for ever.
func New(method Method, maxDecode int64) *Handler { return &Handler{method, maxDecode} }

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	path := r.URL.EscapedPath()
	allowed, name := methods(path)
	op, found := allowed[r.Method]
	if !found && len(allowed) > 0 {
		names := slices.Sorted(maps.Keys(allowed))
		w.Header().Set("Allow", strings.Join(names, ", "))
		newFault(codes.Unimplemented, fmt.Sprintf("%s is for %s alone", path, strings.Join(names, " and "))).
			answerAs(w, http.StatusMethodNotAllowed)
		return
	}
	if !found {
		newFault(codes.NotFound, fmt.Sprintf("nothing is served at %q", r.URL.Path)).answer(w)
		return
	}
	name, err := url.PathUnescape(name)
	if err == nil && !utf8.ValidString(name) {
		err = errNotUTF8
	}
	if err != nil {
		badRequest("replay", err.Error()).answer(w)
		return
	}
	req, accepted := op.request()
	if f := accepted.read(r.URL.RawQuery); f != nil {
		f.answer(w)
		return
	}
	op.serve(h, w, r, name, req)
}

// methods returns the methods that are served at a path, and the escaped name in the path. The slashes of a name may be escaped,
// and must be if the name ends like another path, such as in "/events".
func methods(path string) (allowed map[string]operation, name string) {
	rest, below := strings.CutPrefix(path, replaysPath+"/")
	of, _, isTable := cutTable(rest)
	named, isNamed := strings.CutPrefix(path, namedPath+"/")
	switch {
	case isNamed:
		path, name = subscriptionPath, named
	case path == documentPath:
	case path == statePath:
	case path == decodePath:
	case path == broadcastsPath:
	case path == replaysPath:
	case path == allPath:
	case below && strings.HasSuffix(rest, eventsSuffix):
		path, name = eventsPath, strings.TrimSuffix(rest, eventsSuffix)
	case below && strings.HasSuffix(rest, reportSuffix):
		path, name = reportPath, strings.TrimSuffix(rest, reportSuffix)
	case below && isTable:
		path, name = tablePath, of
	case below:
		path, name = replayPath, rest
	default:
		return nil, ""
	}
	allowed = map[string]operation{}
	for _, op := range operations {
		if op.Path == path {
			allowed[op.Method] = op
		}
	}
	return allowed, name
}

var errNotUTF8 = errors.New("is not UTF-8")

func (h *Handler) list(w http.ResponseWriter, r *http.Request, _ string, req *replaydv1.ListReplaysRequest) {
	if proto.Size(req.GetFilter()) == 0 {
		req.Filter = nil // a filter makes the server check all replays
	}
	h.unary(w, r, replaydv1.ReplayService_ListReplays_FullMethodName, req)
}

func (h *Handler) get(w http.ResponseWriter, r *http.Request, name string, req *replaydv1.GetReplayRequest) {
	req.Replay = name
	h.unary(w, r, replaydv1.ReplayService_GetReplay_FullMethodName, req)
}

func (h *Handler) report(w http.ResponseWriter, r *http.Request, name string, req *replaydv1.GetReportRequest) {
	req.Replay = name
	h.unary(w, r, replaydv1.ReplayService_GetReport_FullMethodName, req)
}

// unary answers with the response of a unary call.
func (h *Handler) unary(w http.ResponseWriter, r *http.Request, method string, req proto.Message) {
	resp, f := h.only(r, method, once(req))
	answer(w, http.StatusOK, resp, f)
}

// only returns the only response of a call.
func (h *Handler) only(r *http.Request, method string, receive func(proto.Message) error) (resp proto.Message, f *fault) {
	f = h.call(r, method, receive, func(m any) error {
		resp = m.(proto.Message)
		return nil
	}, func() {})
	if f == nil && resp == nil {
		f = newFault(codes.Internal, "the method has not answered")
	}
	return resp, f
}

// answer answers with the only response of a call, or with its fault.
func answer(w http.ResponseWriter, status int, resp proto.Message, f *fault) {
	if f != nil {
		f.answer(w)
		return
	}
	text, err := eventjson.Marshal(resp)
	if err != nil {
		newFault(codes.Internal, err.Error()).answer(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) //nolint:gosec // the answer is JSON, and says so
}

// lastEventID is the header with which an EventSource that reconnects sends the id of the last message that it received.
const lastEventID = "Last-Event-ID"

func (h *Handler) events(w http.ResponseWriter, r *http.Request, name string, req *replaydv1.StreamEventsRequest) {
	req.Replay = name
	p := newPrinter(w, accepts(r, sseType))
	at, ok := p.resumes(r)
	if !ok {
		return
	}
	if at != nil {
		req.Start.At = &replaydv1.Start_Cursor{Cursor: at} // it replaces the start in the URL, at which the first connection began
	}
	p.end(h.call(r, replaydv1.ReplayService_StreamEvents_FullMethodName, once(req), p.frame, p.flush))
}

// all answers with the events of all replays.
func (h *Handler) all(w http.ResponseWriter, r *http.Request, _ string, req *replaydv1.SubscribeEventsRequest) {
	p := newPrinter(w, accepts(r, sseType))
	at, ok := p.resumes(r)
	if !ok {
		return
	}
	if at != nil {
		req.Token = at
	}
	p.end(h.call(r, replaydv1.ReplayService_SubscribeEvents_FullMethodName, once(req), p.subscribed, p.flush))
}

// resumes returns the place at which an EventSource that has reconnected resumes, nil for other requests. If ok is false, it has answered.
func (p *printer) resumes(r *http.Request) (at []byte, ok bool) {
	last := r.Header.Get(lastEventID)
	if !p.sse || last == "" {
		return nil, true
	}
	if last == overID { // after this answer an EventSource does not reconnect
		p.w.WriteHeader(http.StatusNoContent)
		return nil, false
	}
	at, err := cursor.ParseText(last)
	if err != nil {
		badRequest(lastEventID, err.Error()).answer(p.w)
		return nil, false
	}
	return at, true
}

func (h *Handler) decode(w http.ResponseWriter, r *http.Request, _ string, req *replaydv1.StreamEventsRequest) {
	options := &replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Options{Options: req}}
	up := newUpload(w, r, options, h.maxDecode)
	defer up.close()
	p := newPrinter(w, false)
	p.end(ofUpload(h.call(r, replaydv1.ReplayService_DecodeReplay_FullMethodName, up.receive, p.frame, p.flush)))
}

// ofUpload notes that a fault, which may be nil, is in the client's data.
func ofUpload(f *fault) *fault {
	if f != nil {
		f.sent = true
	}
	return f
}

// create stores the body of a request as a temporary replay.
func (h *Handler) create(w http.ResponseWriter, r *http.Request, _ string, options *replaydv1.CreateReplayOptions) {
	req := &replaydv1.CreateReplayRequest{Part: &replaydv1.CreateReplayRequest_Options{Options: options}}
	up := newUpload(w, r, req, math.MaxInt64) // the service limits the size
	defer up.close()
	resp, f := h.only(r, replaydv1.ReplayService_CreateReplay_FullMethodName, up.receive)
	answer(w, http.StatusCreated, resp, ofUpload(f))
}

// broadcast follows a broadcast.
func (h *Handler) broadcast(w http.ResponseWriter, r *http.Request, _ string, req *replaydv1.FollowBroadcastRequest) {
	h.unary(w, r, replaydv1.ReplayService_FollowBroadcast_FullMethodName, req)
}

// remove removes a temporary replay.
func (h *Handler) remove(w http.ResponseWriter, r *http.Request, name string, req *replaydv1.DeleteReplayRequest) {
	req.Replay = name
	h.unary(w, r, replaydv1.ReplayService_DeleteReplay_FullMethodName, req)
}

// acknowledge notes what a client has processed.
func (h *Handler) acknowledge(w http.ResponseWriter, r *http.Request, name string, req *replaydv1.AcknowledgeEventsRequest) {
	req.Subscription = name
	h.unary(w, r, replaydv1.ReplayService_AcknowledgeEvents_FullMethodName, req)
}

// forget removes a named subscription.
func (h *Handler) forget(w http.ResponseWriter, r *http.Request, name string, req *replaydv1.DeleteSubscriptionRequest) {
	req.Subscription = name
	h.unary(w, r, replaydv1.ReplayService_DeleteSubscription_FullMethodName, req)
}

// accepts reports whether the Accept header of a request names a media type.
func accepts(r *http.Request, mediaType string) bool {
	for _, header := range r.Header.Values("Accept") {
		if slices.ContainsFunc(strings.Split(header, ","), func(part string) bool {
			part, _, _ = strings.Cut(part, ";")
			return strings.EqualFold(strings.TrimSpace(part), mediaType)
		}) {
			return true
		}
	}
	return false
}
