package main

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/replayd/replayd/service/plain"
	"github.com/replayd/replayd/tools/protodoc"
)

const about = "Lists, descriptions and events of game replays, without gRPC. docs/http.md describes what a schema cannot: the order of " +
	"the lines of a stream, and how to resume one.\n\n" +
	"The slashes of a name in a path are sent as they are, or as `%2F`. An unknown parameter is refused."

// generator makes the document.
type generator struct {
	files   *protoregistry.Files
	schemas schemas
}

// document returns the document.
func document(files *protoregistry.Files) (object, error) {
	g := &generator{files, schemas{}}
	paths := map[string]object{}
	operations, err := plain.Operations()
	if err != nil {
		return nil, err
	}
	for _, op := range operations {
		described, err := g.operation(op)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", op.Method, op.Path, err)
		}
		if paths[op.Path] == nil {
			paths[op.Path] = object{}
		}
		paths[op.Path][strings.ToLower(op.Method)] = described
	}
	failure, err := g.failure()
	if err != nil {
		return nil, err
	}
	return object{
		"openapi":  "3.0.3",
		"info":     object{"title": "replayd", "version": "v1", "description": about},
		"servers":  []any{object{"url": "/"}},
		"security": []any{object{}, object{"token": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas": g.schemas,
			"responses": object{"Error": object{
				"description": "An error. `code` decides the status; of an upload, `reason` does first.",
				"headers": object{
					"Retry-After":      object{"description": "After how many seconds a retry may succeed.", "schema": object{"type": "integer"}},
					"WWW-Authenticate": object{"description": "Present when a token is missing or wrong.", "schema": object{"type": "string"}},
				},
				"content": object{"application/json": object{"schema": failure}},
			}},
			"securitySchemes": object{"token": object{
				"type": "http", "scheme": "bearer", "description": "A token, where the daemon requires one.",
			}},
		},
	}, nil
}

// operation returns the description of an operation.
func (g *generator) operation(op plain.Operation) (object, error) {
	if op.RPC == "" {
		return object{
			"operationId": "getDocument",
			"summary":     op.Summary,
			"security":    []any{}, // it needs no token
			"responses": object{
				fmt.Sprint(op.Status): answer("This document.", "application/json", object{"type": "object"}),
				"default":             object{"$ref": "#/components/responses/Error"},
			},
		}, nil
	}
	method, err := find[protoreflect.MethodDescriptor](g.files, op.RPC)
	if err != nil {
		return nil, err
	}
	name := string(method.Name())
	id := op.ID
	if id == "" {
		id = strings.ToLower(name[:1]) + name[1:]
	}
	parameters, err := g.parameters(op)
	if err != nil {
		return nil, err
	}
	responses, err := g.responses(op, method)
	if err != nil {
		return nil, err
	}
	described := object{
		"operationId": id,
		"summary":     op.Summary,
		"description": "Of the method " + name + " of the gRPC API: " + protodoc.Comment(method),
		"parameters":  parameters,
		"responses":   responses,
	}
	if method.IsStreamingClient() {
		described["requestBody"] = object{
			"description": "The file, compressed or not. Its content type does not matter.",
			"required":    true,
			"content":     object{"application/octet-stream": object{"schema": object{"type": "string", "format": "binary"}}},
		}
	}
	return described, nil
}

// parameters returns the descriptions of an operation's parameters.
func (g *generator) parameters(op plain.Operation) ([]any, error) {
	list := []any{}
	if strings.Contains(op.Path, "{name}") {
		list = append(list, object{
			"name": "name", "in": "path", "required": true, "schema": object{"type": "string"}, "description": "The replay's name.",
		})
	}
	if isTable(op) {
		list = append(list, object{
			"name": "table", "in": "path", "required": true, "schema": object{"type": "string", "example": "join.csv"},
			"description": "A kind of events, and a format as a suffix: `.parquet`, `.arrow` or `.csv`.",
		})
	}
	for _, p := range op.Parameters {
		text := p.Doc
		if text == "" {
			field, err := fieldOf(p)
			if err != nil {
				return nil, err
			}
			d, err := find[protoreflect.FieldDescriptor](g.files, field)
			if err != nil {
				return nil, err
			}
			text = protodoc.Comment(d)
		}
		described := object{"name": p.Name, "in": "query", "description": text}
		value := form(p.Form)
		if p.List {
			described["style"], described["explode"] = "form", false
			described["description"] = text + " Values are separated by commas; the parameter may also be repeated."
			value = object{"type": "array", "items": value}
		}
		if p.Form.Type == "boolean" {
			described["allowEmptyValue"] = true
			described["description"] = text + " Without a value it is true."
		}
		described["schema"] = value
		list = append(list, described)
	}
	if op.SSE {
		text := "Only for server-sent events. The stream resumes after the message with this id, whatever the query says."
		if op.RPC == "replayd.v1.ReplayService.WatchState" {
			text = "Only for server-sent events: `over` after a failure."
		}
		list = append(list, object{"name": "Last-Event-ID", "in": "header", "schema": object{"type": "string"}, "description": text})
	}
	return list, nil
}

// fieldOf returns the field whose comment describes a parameter: its only field, or the field of its name.
func fieldOf(p plain.Parameter) (protoreflect.FullName, error) {
	if len(p.Fields) == 1 {
		return p.Fields[0], nil
	}
	for _, f := range p.Fields {
		if string(f.Name()) == strings.ReplaceAll(p.Name, "-", "_") {
			return f, nil
		}
	}
	return "", fmt.Errorf("the parameter %s sets %v: it needs a description of its own", p.Name, p.Fields)
}

// form returns the schema of a parameter's value.
func form(f plain.Form) object {
	schema := object{"type": f.Type, "example": f.Example}
	if f.Format != "" {
		schema["format"] = f.Format
	}
	switch {
	case f.Type == "integer":
		schema["minimum"], schema["maximum"], schema["example"] = f.Min, f.Max, 1
	case f.Type == "boolean":
		schema["example"] = true
	case f.Values != nil:
		schema["enum"] = f.Values
	}
	return schema
}

// responses returns the descriptions of the answers of an operation, by status.
func (g *generator) responses(op plain.Operation, method protoreflect.MethodDescriptor) (object, error) {
	all := object{"default": object{"$ref": "#/components/responses/Error"}}
	if op.Method != http.MethodGet {
		refused, err := g.failure()
		if err != nil {
			return nil, err
		}
		all["403"] = object{
			"description": "The token does not allow it; or the request comes from a page of another origin.",
			"content": object{
				"application/json": object{"schema": refused},
				"text/plain":       object{"schema": object{"type": "string"}},
			},
		}
	}
	if isTable(op) {
		return tableAnswers(all), nil
	}
	if !method.IsStreamingServer() {
		schema, err := g.schemas.message(method.Output(), false)
		all[fmt.Sprint(op.Status)] = answer(protodoc.Comment(method.Output()), "application/json", schema)
		return all, err
	}
	if isState(method) {
		return g.states(all, method.Output())
	}
	line, err := g.line(method.Output())
	if err != nil {
		return nil, err
	}
	streamed := answer("A stream. The schema is that of one line, or of one server-sent event.", "application/x-ndjson", line)
	all[fmt.Sprint(op.Status)] = streamed
	if op.SSE {
		message, err := g.sse(method.Output())
		if err != nil {
			return nil, err
		}
		content, _ := streamed["content"].(object)
		content["text/event-stream"] = object{"schema": message}
		all["204"] = object{"description": "Last-Event-ID is `over`: the stream had ended."}
	}
	return all, nil
}

// isState reports whether a method streams messages that are printed as they are.
func isState(method protoreflect.MethodDescriptor) bool {
	return method.IsStreamingServer() && method.Output().Oneofs().ByName("response") == nil
}

// states adds the answer with such messages.
func (g *generator) states(all object, response protoreflect.MessageDescriptor) (object, error) {
	message, err := g.schemas.message(response, false)
	if err != nil {
		return nil, err
	}
	failure, err := g.failure()
	if err != nil {
		return nil, err
	}
	over := object{"type": "string", "enum": []string{"over"}}
	all["200"] = object{"description": "A stream. The schema is that of one line, or of one server-sent event.", "content": object{
		"application/x-ndjson": object{"schema": object{"anyOf": []any{message, failure}}},
		"text/event-stream": object{"schema": object{"anyOf": []any{
			object{"type": "object", "properties": object{"data": message}, "required": []string{"data"}},
			sseMessage("failure", over, failure),
		}}},
	}}
	all["204"] = object{"description": "Last-Event-ID is `over`: the stream had ended."}
	return all, nil
}

// isTable reports whether an operation answers with a table as a file.
func isTable(op plain.Operation) bool { return strings.Contains(op.Path, "{table}") }

// tableAnswers adds the answers with a table as a file.
func tableAnswers(all object) object {
	content := object{}
	for _, media := range plain.MediaTypes() {
		content[media] = object{"schema": object{"type": "string", "format": "binary"}}
	}
	headers := object{}
	for _, name := range plain.TableHeaders() {
		headers[name] = object{"schema": object{"type": "string"}}
	}
	all["200"] = object{"description": "The file.", "headers": headers, "content": content}
	all["206"] = object{"description": "The part of the file that `Range` names.", "headers": headers, "content": content}
	all["304"] = object{"description": "The file still has the tag in `If-None-Match`."}
	all["412"] = object{"description": "The file does not have the tag in `If-Match`."}
	all["416"] = object{"description": "The file has no such part."}
	return all
}

func answer(text, media string, schema object) object {
	return object{"description": text, "content": object{media: object{"schema": schema}}}
}

// failure returns a reference to the schema of errors.
func (g *generator) failure() (object, error) {
	return g.schemas.refer("Error", func() (any, error) {
		properties, required := object{}, []string{}
		for _, f := range plain.ErrorFields() {
			schema := object{}
			switch f.Type {
			case reflect.TypeFor[string]():
				schema["type"] = "string"
			case reflect.TypeFor[float64]():
				schema["type"] = "number"
			case reflect.TypeFor[map[string]string]():
				schema["type"], schema["additionalProperties"] = "object", object{"type": "string"}
			default:
				return nil, fmt.Errorf("the field %s of errors is a %v", f.Name, f.Type)
			}
			if f.Name == "code" {
				schema["enum"] = plain.ErrorCodes()
			}
			properties[f.Name] = described(schema, f.Doc)
			if f.Always {
				required = append(required, f.Name)
			}
		}
		return object{
			"type": "object", "description": "An error: the whole answer, or the last line of a stream that fails.",
			"properties": object{"error": object{"type": "object", "properties": properties, "required": required}},
			"required":   []string{"error"},
		}, nil
	})
}

// parts holds the messages that are printed for the responses of a stream.
type parts struct {
	events []any                          // references to the schemas of the events of each format
	others []protoreflect.FieldDescriptor // fields of responses without events
	all    bool                           // they are of all replays
}

// prefix is that of the names of schemas.
func (p parts) prefix() string {
	if p.all {
		return "Subscription"
	}
	return ""
}

const replayText = "The name of the replay."

// partsOf returns the messages that are printed for the responses of a stream. A response with a list of events is printed event
// by event.
func (g *generator) partsOf(response protoreflect.MessageDescriptor) (p parts, err error) {
	kinds := response.Oneofs().ByName("response")
	if kinds == nil {
		return p, fmt.Errorf("%s has no oneof response", response.FullName())
	}
	if streamed := response.Fields().ByName("streamed"); streamed != nil {
		if p, err = g.partsOf(streamed.Message()); err != nil {
			return p, err
		}
		p.all = true
		p.others = slices.DeleteFunc(p.others, func(f protoreflect.FieldDescriptor) bool { return f.Name() == "heartbeat" })
		p.others = append(p.others, response.Fields().ByName("failure"), response.Fields().ByName("heartbeat"))
		return p, nil
	}
	for i := range kinds.Fields().Len() {
		f := kinds.Fields().Get(i)
		lists := f.Message().Oneofs().ByName("events")
		if lists == nil {
			p.others = append(p.others, f)
			continue
		}
		if f.Name() != "batch" {
			continue // the state has events of the same formats
		}
		for j := range lists.Fields().Len() {
			events := lists.Fields().Get(j).Message().Fields().ByName("events")
			event, err := g.schemas.event(events.Message())
			if err != nil {
				return p, err
			}
			p.events = append(p.events, event)
		}
	}
	if len(p.events) == 0 {
		return p, errors.New("no events")
	}
	return p, nil
}

const cursorText = "The position of the stream after this response, in URL-safe base64. The parameter `cursor` resumes there."

func cursor() object { return object{"type": "string", "description": cursorText} }

// line returns a reference to the schema of the lines of a stream.
func (g *generator) line(response protoreflect.MessageDescriptor) (object, error) {
	p, err := g.partsOf(response)
	if err != nil {
		return nil, err
	}
	position, err := g.schemas.refer(p.prefix()+"CursorLine", func() (any, error) {
		properties := object{
			"cursor":         cursor(),
			"state_complete": object{"type": "boolean", "enum": []bool{true}, "description": "Present after the last events of the state."},
		}
		if p.all {
			properties["replay"] = object{"type": "string", "description": replayText + " Absent with a heartbeat."}
		}
		for _, f := range p.others {
			if properties[string(f.Name())], err = g.schemas.field(f, false); err != nil {
				return nil, err
			}
		}
		return object{
			"type": "object", "properties": properties, "required": []string{"cursor"},
			"description": "The line that ends a response. Besides the cursor it has the response, unless that was events.",
		}, nil
	})
	if err != nil {
		return nil, err
	}
	failure, err := g.failure()
	if err != nil {
		return nil, err
	}
	return g.schemas.refer(p.prefix()+"Line", func() (any, error) {
		return object{
			"description": "One line of a stream: an event, the line that ends a response, or an error.",
			"anyOf":       append([]any{position, failure}, p.events...),
		}, nil
	})
}

// sse returns a reference to the schema of the server-sent events of a stream.
func (g *generator) sse(response protoreflect.MessageDescriptor) (object, error) {
	p, err := g.partsOf(response)
	if err != nil {
		return nil, err
	}
	failure, err := g.failure()
	if err != nil {
		return nil, err
	}
	if p.all {
		return g.subscriptionSSE(p, failure)
	}
	events := object{"type": "array", "items": object{"anyOf": p.events}}
	over := object{"type": "string", "enum": []string{"over"}}
	messages := []any{
		sseMessage("", cursor(), object{"type": "object", "properties": object{"events": events}, "required": []string{"events"}}),
		sseMessage("state", cursor(), object{
			"type": "object", "required": []string{"events", "complete"},
			"properties": object{"events": events, "complete": object{"type": "boolean", "description": "True in the last part of the state."}},
		}),
		sseMessage("failure", over, failure),
	}
	for _, f := range p.others {
		if f.Name() != "end" {
			data, err := g.schemas.message(f.Message(), false)
			if err != nil {
				return nil, err
			}
			messages = append(messages, sseMessage(string(f.Name()), cursor(), data))
			continue
		}
		end, err := g.schemas.fields(f.Message(), false)
		if err != nil {
			return nil, err
		}
		properties, _ := end["properties"].(object)
		properties["cursor"] = cursor()
		required, _ := end["required"].([]string)
		end["required"] = append(required, "cursor")
		messages = append(messages, sseMessage(string(f.Name()), over, end))
	}
	return g.schemas.refer("ServerSentEvent", func() (any, error) {
		return object{
			"description": "One server-sent event. `data` is sent as JSON on one line. A batch has no `event`.",
			"anyOf":       messages,
		}, nil
	})
}

// subscriptionSSE returns a reference to the schema of the server-sent events of a subscription. Their data are objects with the name of
// the replay.
func (g *generator) subscriptionSSE(p parts, failure object) (object, error) {
	named := func(required []string, properties object) object {
		properties["replay"] = object{"type": "string", "description": replayText}
		return object{"type": "object", "properties": properties, "required": append(required, "replay")}
	}
	events := object{"type": "array", "items": object{"anyOf": p.events}}
	messages := []any{
		sseMessage("", cursor(), named([]string{"events"}, object{"events": events})),
		sseMessage("state", cursor(), named([]string{"events", "complete"}, object{
			"events": events, "complete": object{"type": "boolean", "description": "True in the last part of the state."},
		})),
		sseMessage("failure", object{"type": "string", "enum": []string{"over"}}, failure),
	}
	for _, f := range p.others {
		schema, err := g.schemas.field(f, false)
		if err != nil {
			return nil, err
		}
		name := string(f.Name())
		data := object{"type": "object", "properties": object{name: schema}, "required": []string{name}}
		if name != "heartbeat" {
			data = named([]string{name}, object{name: schema})
		}
		if name == "failure" {
			name = "replay_failure"
		}
		messages = append(messages, sseMessage(name, cursor(), data))
	}
	return g.schemas.refer("SubscriptionServerSentEvent", func() (any, error) {
		return object{
			"description": "One server-sent event. `data` is sent as JSON on one line. A batch has no `event`.",
			"anyOf":       messages,
		}, nil
	})
}

// sseMessage returns the schema of a server-sent event.
func sseMessage(name string, id, data object) object {
	properties, required := object{"id": id, "data": data}, []string{"id", "data"}
	if name != "" {
		properties["event"] = object{"type": "string", "enum": []string{name}}
		required = append(required, "event")
	}
	return object{"type": "object", "properties": properties, "required": required}
}
