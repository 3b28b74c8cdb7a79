package plain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/internal/frozen"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/plain"
)

// called is a service that notes the last call and answers with messages, or with the empty response of a unary method.
type called struct {
	path     string
	request  proto.Message // of a subscription
	messages []proto.Message
}

func (c *called) method(name string, ss grpc.ServerStream) error {
	c.path = name
	if strings.HasPrefix(name, "/tables/") {
		return ss.SendMsg(&plain.Table{Content: strings.NewReader("a\n"), Tag: `"x"`, Sent: func() {}})
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(name[1:], "/", ".")))
	if err != nil {
		return err
	}
	if method := d.(protoreflect.MethodDescriptor); !method.IsStreamingServer() {
		response, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
		if err != nil {
			return err
		}
		return ss.SendMsg(response.New().Interface())
	}
	if strings.HasSuffix(name, "/SubscribeEvents") {
		c.request = &replaydv1.SubscribeEventsRequest{}
		if err := ss.RecvMsg(c.request); err != nil {
			return err
		}
	}
	var out frame.Outbox
	for _, m := range c.messages {
		f, err := frameOf(&out, m)
		if err == nil && strings.HasSuffix(name, "/SubscribeEvents") && f.Response() != nil {
			f.Subscribed(1, []byte{1, 0xff, 0xfe})
		}
		if err == nil {
			err = ss.SendMsg(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func frameOf(out *frame.Outbox, m proto.Message) (*frame.Frame, error) {
	if one, ok := m.(*replaydv1.StreamEventsResponse); ok {
		return out.Of(one, nil)
	}
	b, err := proto.Marshal(m)
	return frame.Of(b), err
}

// ask returns the answer to a request.
func ask(method, path string, header map[string]string, service *called) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader("x"))
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	plain.New(service.method, 100).ServeHTTP(w, r)
	return w
}

// pathOf returns a path of the document for a replay, and for a table of joins.
func pathOf(path, replay string) string {
	return strings.NewReplacer("{name}", replay, "{table}", "join.csv").Replace(path)
}

// loadDocument returns the document that is served.
func loadDocument(t *testing.T) *openapi3.T {
	t.Helper()
	w := ask(http.MethodGet, "/v1/openapi.json", nil, &called{})
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatal(w.Code, w.Header())
	}
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// operationsOf calls f with every operation of a document.
func operationsOf(doc *openapi3.T, f func(method, path string, op *openapi3.Operation)) {
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			f(method, path, op)
		}
	}
}

// TestDocumentIsValid: the document is one of OpenAPI, and has no schema that nothing refers to.
func TestDocumentIsValid(t *testing.T) {
	doc := loadDocument(t)
	if err := doc.Validate(context.Background()); err != nil {
		t.Error(err)
	}
	var raw map[string]any
	if err := json.Unmarshal(ask(http.MethodGet, "/v1/openapi.json", nil, &called{}).Body.Bytes(), &raw); err != nil {
		t.Fatal(err)
	}
	components := raw["components"].(map[string]any)
	all, reached := components["schemas"].(map[string]any), map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
			ref, _ := v["$ref"].(string)
			if name, ok := strings.CutPrefix(ref, "#/components/schemas/"); ok && !reached[name] {
				reached[name] = true
				walk(all[name])
			}
		}
	}
	walk(raw["paths"])
	walk(components["responses"])
	for name, schema := range all {
		if !reached[name] || schema == nil {
			t.Errorf("nothing refers to %s", name)
		}
	}
	if len(all) < 100 {
		t.Errorf("only %d schemas", len(all))
	}
}

// TestDocumentedOperations: what the document says and what is served are the same methods at the same paths, with the same
// status and content types, and by the calls that the operations are named after.
func TestDocumentedOperations(t *testing.T) {
	doc := loadDocument(t)
	documented := map[string][]string{}
	operationsOf(doc, func(method, path string, op *openapi3.Operation) {
		documented[path] = append(documented[path], method)
		at := pathOf(path, "samples%2Fx")
		for accept, kind := range map[string]string{"": "application/", "text/event-stream": "text/event-stream"} {
			service := &called{}
			if strings.HasSuffix(path, "/events") || path == "/v1/decode" {
				service.messages = []proto.Message{&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_End{End: &replaydv1.StreamEnd{}}}}
			}
			if path == "/v1/state" {
				service.messages = []proto.Message{&replaydv1.WatchStateResponse{}}
			}
			w := ask(method, at, map[string]string{"Accept": accept}, service)
			response := op.Responses.Status(w.Code)
			if response == nil || w.Code >= http.StatusBadRequest {
				t.Errorf("%s %s answers %d", method, at, w.Code)
				continue
			}
			content := w.Header().Get("Content-Type")
			if response.Value.Content[content] == nil {
				t.Errorf("%s %s answers with %s", method, at, content)
			}
			if response.Value.Content[kind] != nil && content != kind {
				t.Errorf("%s %s does not answer with %s", method, at, kind)
			}
			_, rpc, _ := strings.Cut(strings.TrimPrefix(service.path, "/"), "/")
			if service.path == "/tables/csv" {
				rpc = strings.ToLower(method) + "Table"
			}
			if rpc = "x" + rpc; path != "/v1/openapi.json" && !strings.EqualFold(rpc, "x"+op.OperationID) {
				t.Errorf("%s %s calls %s, and its id is %s", method, at, service.path, op.OperationID)
			}
			if streams := op.RequestBody != nil; streams != (method == http.MethodPost && (path == "/v1/decode" || path == "/v1/replays")) {
				t.Errorf("%s %s: body %v", method, at, streams)
			}
		}
	})
	var served []string
	operations, err := plain.Operations()
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range operations {
		served = append(served, op.Method+" "+op.Path)
		if !slices.Contains(documented[op.Path], op.Method) {
			t.Errorf("%s %s is not in the document", op.Method, op.Path)
		}
	}
	if len(served) < 7 {
		t.Errorf("only %q are served", served)
	}
	for path, methods := range documented {
		slices.Sort(methods)
		w := ask("NONE", pathOf(path, "x"), nil, &called{})
		if allow := w.Header().Get("Allow"); w.Code != http.StatusMethodNotAllowed || allow != strings.Join(methods, ", ") {
			t.Errorf("%s is for %s, not for %q", path, allow, methods)
		}
	}
}

// TestDocumentedParameters: the document has the parameters that requests may have, and no other; and describes their values.
func TestDocumentedParameters(t *testing.T) {
	doc := loadDocument(t)
	operationsOf(doc, func(method, path string, op *openapi3.Operation) {
		if path == "/v1/openapi.json" && len(op.Parameters) == 0 {
			return
		}
		at := pathOf(path, "x")
		accepts := func(query string) bool {
			service := &called{}
			ask(method, at+"?"+query, nil, service)
			return service.path != ""
		}
		var names []string
		for _, ref := range op.Parameters {
			p := ref.Value
			if p.In != openapi3.ParameterInQuery {
				continue
			}
			names = append(names, p.Name)
			if p.Description == "" || strings.HasPrefix(p.Description, " ") {
				t.Errorf("%s of %s has no description", p.Name, at)
			}
			schema := p.Schema.Value
			list := schema.Type.Is("array")
			if list {
				schema = schema.Items.Value
			}
			values := map[string]bool{fmt.Sprint(schema.Example): true, "": p.AllowEmptyValue || schema.Type.Is("string") && schema.Format == "" && schema.Enum == nil}
			if schema.Format == "base64url" {
				values[""] = true // the beginning
			}
			if strings.Contains(fmt.Sprint(schema.Example), "5s") {
				values[""] = false
			}
			for _, v := range schema.Enum {
				values[fmt.Sprint(v)] = true
				values[strings.ToUpper(fmt.Sprint(v))] = false
			}
			if schema.Type.Is("integer") {
				lowest, highest := int64(*schema.Min), int64(*schema.Max)
				for n, want := range map[int64]bool{lowest: true, highest: true, lowest - 1: false, highest + 1: false} {
					values[strconv.FormatInt(n, 10)] = want
				}
			}
			if schema.Type.Is("boolean") {
				maps.Copy(values, map[string]bool{"true": true, "false": true, "yes": false})
			}
			for value, want := range values {
				if accepts(p.Name+"="+value) != want {
					t.Errorf("%s %s?%s=%s: accepted %v", method, at, p.Name, value, !want)
				}
			}
			twice := fmt.Sprintf("%s=%v&%[1]s=%[2]v", p.Name, schema.Example)
			if accepts(twice) != list {
				t.Errorf("%s %s?%s: accepted %v", method, at, twice, !list)
			}
		}
		slices.Sort(names)
		var refusal struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(ask(method, at+"?no-parameter", nil, &called{}).Body.Bytes(), &refusal); err != nil {
			t.Fatal(err)
		}
		if _, known, _ := strings.Cut(refusal.Error.Message, "these are: "); known != strings.Join(names, ", ") {
			t.Errorf("%s %s takes %s, and the document has %q", method, at, known, names)
		}
	})
}

// strict forbids members that a document does not describe.
func strict(doc *openapi3.T) {
	done := map[*openapi3.Schema]bool{}
	var walk func(*openapi3.SchemaRef)
	walk = func(ref *openapi3.SchemaRef) {
		if ref == nil || ref.Value == nil || done[ref.Value] {
			return
		}
		s := ref.Value
		done[s] = true
		if s.Properties != nil {
			no := false
			s.AdditionalProperties.Has = &no
		}
		for _, p := range s.Properties {
			walk(p)
		}
		walk(s.Items)
		for _, p := range slices.Concat(s.AnyOf, s.AllOf, s.OneOf) {
			walk(p)
		}
	}
	for _, s := range doc.Components.Schemas {
		walk(s)
	}
}

// fill sets every field of a message, of oneofs the alternative with a number.
func fill(m protoreflect.Message, alternative, depth int) {
	switch m.Descriptor().FullName() {
	case "google.protobuf.Timestamp":
		proto.Merge(m.Interface(), &timestamppb.Timestamp{Seconds: 1700000000, Nanos: 5000})
		return
	case "google.protobuf.Duration":
		proto.Merge(m.Interface(), &durationpb.Duration{Seconds: 3, Nanos: 500})
		return
	}
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		if o := f.ContainingOneof(); o != nil && o.Fields().Get(alternative%o.Fields().Len()) != f || f.Message() != nil && depth == 0 {
			continue
		}
		switch {
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("key").MapKey(), protoreflect.ValueOfString("value"))
		case f.IsList() && f.Message() != nil:
			fill(m.Mutable(f).List().AppendMutable().Message(), alternative, depth-1)
		case f.IsList():
			m.Mutable(f).List().Append(scalar(f))
		case f.Message() != nil:
			fill(m.Mutable(f).Message(), alternative, depth-1)
		default:
			m.Set(f, scalar(f))
		}
	}
}

// scalar returns a value for a field. A number that is an index is that of the only string.
func scalar(f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(f.Enum().Values().Len() % 3 * 1000))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("text")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{0xff, 0xfe, 1})
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(-1.5)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(math.Inf(1))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(0)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(1<<64 - 1)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(-1 << 63)
	default:
		return protoreflect.ValueOfInt32(0)
	}
}

// everyResponse returns responses of a stream of each kind, with every event of each format: empty, and with all fields set.
func everyResponse() (list []proto.Message) {
	of := (&replaydv1.StreamEventsResponse{}).ProtoReflect().Descriptor().Oneofs().ByName("response").Fields()
	for i := range of.Len() {
		lists := of.Get(i).Message().Oneofs().ByName("events")
		for alternative := -1; alternative < 4; alternative++ {
			r := &replaydv1.StreamEventsResponse{Cursor: []byte{1, 0xff, 0xfe}}
			body := r.ProtoReflect().Mutable(of.Get(i)).Message()
			list = append(list, r)
			if lists == nil {
				if alternative >= 0 {
					fill(body, alternative, 4)
				}
				continue
			}
			if alternative < 0 || alternative >= lists.Fields().Len() {
				continue
			}
			events := body.Mutable(lists.Fields().Get(alternative)).Message()
			if f := events.Descriptor().Fields().ByName("strings"); f != nil {
				events.Mutable(f).List().Append(protoreflect.ValueOfString("text"))
			}
			each := events.Descriptor().Fields().ByName("events")
			kinds := each.Message().Oneofs().ByName("kind").Fields()
			for j := range kinds.Len() {
				for filled := range 2 {
					event := events.Mutable(each).List().AppendMutable().Message()
					if filled == 1 {
						fill(event, 0, 3)
					}
					kind := event.Mutable(kinds.Get(j)).Message() // in place of the one that was filled
					if filled == 1 {
						fill(kind, j, 3)
					}
					if offsets := body.Descriptor().Fields().ByName("offsets"); offsets != nil {
						body.Mutable(offsets).List().Append(protoreflect.ValueOfInt64(5))
					}
				}
			}
		}
	}
	return list
}

// TestDocumentedStreams: every response and every event, as they are printed, fit the schemas, with no member that these do not
// have.
func TestDocumentedStreams(t *testing.T) {
	doc := loadDocument(t)
	strict(doc)
	t.Run("one", func(t *testing.T) { documentedStream(t, doc, "/v1/replays/{name}/events", everyResponse()) })
	start := &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Start{Start: &replaydv1.StreamStart{}}}
	var all []proto.Message
	for _, m := range everyResponse() {
		if m.(*replaydv1.StreamEventsResponse).GetHeartbeat() == nil { // a subscription has its own
			all = append(all, start, m)
		}
	}
	for _, kind := range []string{"failure", "heartbeat"} {
		r := &replaydv1.SubscribeEventsResponse{Token: []byte{1, 0xff, 0xfe}}
		if kind == "failure" {
			r.Replay = 1
		}
		fill(r.ProtoReflect().Mutable(r.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(kind))).Message(), 0, 3)
		all = append(all, r)
	}
	t.Run("all", func(t *testing.T) { documentedStream(t, doc, "/v1/events", all) })
}

func documentedStream(t *testing.T, doc *openapi3.T, path string, messages []proto.Message) {
	service := &called{messages: messages}
	content := doc.Paths.Value(path).Get.Responses.Status(http.StatusOK).Value.Content
	at := pathOf(path, "x")
	check := func(media string, text []byte) {
		t.Helper()
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := content[media].Schema.Value.VisitJSON(value); err != nil {
			t.Errorf("%.300s: %.3000v", text, err)
		}
	}
	lines := 0
	body := ask(http.MethodGet, at, nil, service).Body.String()
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, `{"error":`) {
			t.Fatal(line)
		}
		check("application/x-ndjson", []byte(line))
		lines++
	}
	if lines < 400 {
		t.Errorf("only %d lines", lines)
	}
	events := 0
	w := ask(http.MethodGet, at, map[string]string{"Accept": "text/event-stream"}, service)
	all, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	for message := range bytes.SplitSeq(all, []byte("\n\n")) {
		object := map[string]json.RawMessage{}
		for line := range strings.Lines(string(message)) {
			switch name, value, _ := strings.Cut(strings.TrimSpace(line), ": "); name {
			case "data":
				object[name] = json.RawMessage(value)
			case "id", "event":
				object[name] = json.RawMessage(strconv.Quote(value)) // letters, digits, - and _
			}
		}
		if len(object) == 0 {
			continue
		}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		check("text/event-stream", text)
		events++
	}
	if events < 20 {
		t.Errorf("only %d server-sent events", events)
	}
}

// TestFrozenParameters: operations have the parameters that they had, and need no more.
func TestFrozenParameters(t *testing.T) {
	var lines []string
	for path, item := range loadDocument(t).Paths.Map() {
		for method, operation := range item.Operations() {
			needed := []string{method, path, "needs"}
			for _, ref := range operation.Parameters {
				p, schema := ref.Value, ref.Value.Schema.Value
				typ := strings.Join(schema.Type.Slice(), "|") + strings.Repeat(" "+schema.Format, min(1, len(schema.Format)))
				values := slices.Clone(schema.Enum)
				if schema.Items != nil {
					typ += " of " + strings.Join(schema.Items.Value.Type.Slice(), "|")
					values = append(values, schema.Items.Value.Enum...)
				}
				name := strings.Join([]string{method, path, p.In, p.Name}, " ")
				lines = append(lines, name+": "+typ)
				for _, value := range values {
					lines = append(lines, fmt.Sprintf("%s=%v", name, value))
				}
				if p.Required {
					needed = append(needed, p.Name)
				}
			}
			lines = append(lines, strings.Join(needed, " "))
		}
	}
	frozen.Check(t, filepath.Join("..", ".."), "parameters", lines)
}
