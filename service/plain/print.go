package plain

import (
	"errors"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/proto/eventjson"
	"github.com/replayd/replayd/proto/protoscan"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Types of what streams are answered with.
const (
	ndjsonType = "application/x-ndjson"
	sseType    = "text/event-stream"
)

// overID is the id of the last message of server-sent events. An EventSource connects again when a stream ends, as if it had
// broken, and says the id of the last message that it got.
const overID = "over"

// retry is in how many milliseconds an EventSource connects again.
const retry = "retry: 1000\n\n"

// printer prints a stream: as lines of JSON, of which the one behind each batch has the cursor, or as server-sent events,
// each with its cursor as id.
type printer struct {
	w       http.ResponseWriter
	sse     bool
	started bool
	over    bool // the last word was said
	formats map[protoreflect.FullName]*eventjson.Printer
	out     []byte
}

func newPrinter(w http.ResponseWriter, sse bool) *printer { return &printer{w: w, sse: sse} }

// flush sends what was written.
func (p *printer) flush() {
	if p.started {
		_ = http.NewResponseController(p.w).Flush()
	}
}

// response prints a response, given as its wire bytes.
func (p *printer) response(raw []byte) error {
	var cursor string
	var events []byte
	kind := protowire.Number(0)
	for rest := raw; len(rest) > 0; {
		f, left, ok := protoscan.Next(rest)
		if !ok {
			return errMalformed
		}
		switch rest = left; f.Number {
		case protoscan.ResponseCursor:
			cursor = cursorText(f.Bytes)
		case protoscan.ResponseState, protoscan.ResponseBatch:
			kind, events = f.Number, f.Bytes
		}
	}
	p.out = p.out[:0]
	var err error
	if kind != 0 {
		err = p.events(kind, events, cursor)
	} else {
		err = p.other(raw, cursor)
	}
	if err != nil || len(p.out) == 0 {
		return err
	}
	return p.write(p.out)
}

// write sends some of the answer, its header first.
func (p *printer) write(b []byte) error {
	if !p.started {
		p.started = true
		h := p.w.Header()
		h.Set("Content-Type", ndjsonType)
		h.Set("X-Accel-Buffering", "no") // proxies that keep back answers
		if p.sse {
			h.Set("Content-Type", sseType)
			b = append([]byte(retry), b...)
		}
	}
	_, err := p.w.Write(b)
	return err
}

// events prints a batch, or a part of the state.
func (p *printer) events(kind protowire.Number, batch []byte, cursor string) error {
	state := kind == protoscan.ResponseState
	of := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor()
	if state {
		of = (*replaydv1.StateBatch)(nil).ProtoReflect().Descriptor()
	}
	var sequence uint64
	complete := false
	var list []byte
	var field protoreflect.FieldDescriptor
	for len(batch) > 0 {
		f, rest, ok := protoscan.Next(batch)
		if !ok {
			return errMalformed
		}
		batch = rest
		switch d := of.Fields().ByNumber(f.Number); {
		case d == nil: // of a newer server
		case d.Message() != nil:
			field, list = d, f.Bytes
		case state && f.Number == protoscan.StateComplete:
			complete = f.Value != 0
		case !state && f.Number == protoscan.BatchFirst:
			sequence = f.Value
		}
	}
	if p.sse {
		p.open(cursor, map[bool]string{true: "state"}[state])
		p.out = append(p.out, `{"events":[`...)
	}
	if field != nil {
		if err := p.list(field, list, sequence, state); err != nil {
			return err
		}
	}
	switch {
	case p.sse && state:
		p.out = append(p.out, `],"complete":`...)
		p.out = append(strconv.AppendBool(p.out, complete), "}\n\n"...)
	case p.sse:
		p.out = append(p.out, "]}\n\n"...)
	default:
		p.out = append(append(append(p.out, `{"cursor":"`...), cursor...), '"')
		if complete {
			p.out = append(p.out, `,"state_complete":true`...)
		}
		p.out = append(p.out, "}\n"...)
	}
	return nil
}

var (
	errMalformed = errors.New("a malformed response")
	errNewer     = errors.New("events of a format that this server does not print")
)

// list prints the events of a list, which travelled in that field.
func (p *printer) list(field protoreflect.FieldDescriptor, list []byte, sequence uint64, state bool) error {
	name := field.Message().FullName()
	printer := p.formats[name]
	if printer == nil {
		if field.Message().Fields().ByName("events") == nil {
			return errNewer
		}
		printer = eventjson.New(field.Message())
		if p.formats == nil {
			p.formats = map[protoreflect.FullName]*eventjson.Printer{}
		}
		p.formats[name] = printer
	}
	events, strings, err := printer.List(list)
	if err != nil {
		return err
	}
	for i, event := range events {
		if state {
			p.out, err = printer.AppendState(p.out, event, strings)
		} else {
			p.out, err = printer.AppendLine(p.out, sequence+uint64(i), event, strings)
		}
		if err != nil {
			return err
		}
		if !p.sse {
			continue
		}
		p.out = p.out[:len(p.out)-1] // the end of the line
		if i < len(events)-1 {
			p.out = append(p.out, ',')
		}
	}
	return nil
}

// open begins a server-sent event. One without a name is a message.
func (p *printer) open(id, event string) {
	p.out = append(append(append(p.out, "id: "...), id...), '\n')
	if event != "" {
		p.out = append(append(append(p.out, "event: "...), event...), '\n')
	}
	p.out = append(p.out, "data: "...)
}

// other prints a response that has no events.
func (p *printer) other(raw []byte, cursor string) error {
	var r replaydv1.StreamEventsResponse
	if err := proto.Unmarshal(raw, &r); err != nil {
		return err
	}
	m := r.ProtoReflect()
	field := m.WhichOneof(m.Descriptor().Oneofs().ByName("response"))
	if field == nil {
		return nil // of a newer server
	}
	if end := r.GetEnd(); end != nil {
		p.over = true
		if p.sse && end.GetReason() == replaydv1.EndReason_END_REASON_SERVER_DRAINING {
			return nil // to an EventSource that is a connection that breaks: it comes again
		}
	}
	body, err := marshal(m.Get(field).Message().Interface())
	if err != nil {
		return err
	}
	name := string(field.Name())
	switch {
	case p.sse && p.over:
		p.open(overID, name)
		p.out = append(append(append(p.out, `{"cursor":"`...), cursor...), `",`...)
		p.out = append(append(p.out, body[1:]...), "\n\n"...)
	case p.sse:
		p.open(cursor, name)
		p.out = append(append(p.out, body...), "\n\n"...)
	default:
		p.out = append(append(append(p.out, `{"cursor":"`...), cursor...), `","`...)
		p.out = append(append(append(p.out, name...), `":`...), body...)
		p.out = append(p.out, "}\n"...)
	}
	return nil
}

// end ends the answer; a stream that failed with what it failed of.
func (p *printer) end(f *fault) {
	switch {
	case f == nil:
	case p.sse && f.again():
		// An EventSource gives up at an answer such as 503 (and at 502, which proxies make of a connection that breaks), and
		// comes again when a stream ends.
		if !p.started {
			_ = p.write(nil)
		}
	case !p.started:
		f.answer(p.w)
	case p.sse:
		p.out = p.out[:0]
		p.open(overID, "failure") // "error" is what an EventSource calls losing its connection
		line := f.line()
		_ = p.write(append(append(p.out, line...), '\n'))
	default:
		_ = p.write(f.line())
	}
	p.flush()
}
