package plain

import (
	"errors"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/proto/eventjson"
	"github.com/replayd/replayd/proto/position"
	"github.com/replayd/replayd/proto/protoscan"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/frame"
)

// Content types of streams.
const (
	ndjsonType = "application/x-ndjson"
	sseType    = "text/event-stream"
)

// overID is the id of the last message of a stream of server-sent events. An EventSource reconnects when a stream ends, as if
// the connection had broken. It then sends the id of the last message that it received.
const overID = "over"

// retry sets after how many milliseconds an EventSource reconnects.
const retry = "retry: 1000\n\n"

// printer prints a stream as lines of JSON or as server-sent events. Among lines, a line with the cursor follows each batch.
// The id of a server-sent event is its cursor. Responses of a subscription also have the name of their replay.
type printer struct {
	w       http.ResponseWriter
	sse     bool
	started bool
	over    bool // the end of the stream was printed
	formats map[protoreflect.FullName]*eventjson.Printer
	out     []byte
	each    [][]byte // event of the last batch, to use the memory again
	texts   [][]byte

	// Of a subscription:
	names  map[uint32][]byte // of the replays that have begun, as JSON, by number
	number uint32            // of the replay whose response is printed
	of     []byte            // its name, nil if there is none
}

func newPrinter(w http.ResponseWriter, sse bool) *printer { return &printer{w: w, sse: sse} }

// flush sends the bytes that were written.
func (p *printer) flush() {
	if p.started {
		_ = http.NewResponseController(p.w).Flush()
	}
}

// frame prints the response in a *frame.Frame. It does not free it.
func (p *printer) frame(m any) error {
	b := m.(*frame.Frame).Buffer()
	defer b.Free()
	return p.response(b.ReadOnlyData())
}

// subscribed prints the response of a subscription in a *frame.Frame. It does not free it.
func (p *printer) subscribed(m any) error {
	b := m.(*frame.Frame).Buffer()
	defer b.Free()
	if p.names == nil {
		p.names = map[uint32][]byte{}
	}
	raw, at := b.ReadOnlyData(), ""
	var streamed []byte
	p.number = 0
	for rest := raw; len(rest) > 0; {
		f, left, ok := protoscan.Next(rest)
		if !ok {
			return errMalformed
		}
		switch rest = left; f.Number {
		case protoscan.SubscribedReplay:
			p.number = uint32(f.Value)
		case protoscan.SubscribedToken:
			at = cursor.Text(f.Bytes)
		case protoscan.SubscribedStreamed:
			streamed = f.Bytes
		}
	}
	if p.of = p.names[p.number]; streamed != nil {
		return p.print(streamed, at)
	}
	var r replaydv1.SubscribeEventsResponse
	if err := proto.Unmarshal(raw, &r); err != nil {
		return err
	}
	if failure := r.GetFailure(); failure != nil {
		p.name(failure.GetName(), failure.GetRetried())
	}
	p.out = p.out[:0]
	if err := p.alternative(&r, at); err != nil || len(p.out) == 0 {
		return err
	}
	return p.write(p.out)
}

// name notes the name of the replay whose response is printed. open says whether more of it follows.
func (p *printer) name(name string, open bool) {
	p.of = eventjson.AppendString(nil, []byte(name))
	if delete(p.names, p.number); open {
		p.names[p.number] = p.of
	}
}

// response prints a response of the stream of a replay.
func (p *printer) response(raw []byte) error {
	for rest := raw; len(rest) > 0; {
		f, left, ok := protoscan.Next(rest)
		if !ok {
			return errMalformed
		}
		if rest = left; f.Number == protoscan.ResponseCursor {
			return p.print(raw, cursor.Text(f.Bytes))
		}
	}
	return p.print(raw, "")
}

// print prints a response of the stream of a replay. raw is the encoded message, and at the cursor after it.
func (p *printer) print(raw []byte, at string) error {
	var events []byte
	kind := protowire.Number(0)
	for rest := raw; len(rest) > 0; {
		f, left, ok := protoscan.Next(rest)
		if !ok {
			return errMalformed
		}
		if rest = left; f.Number == protoscan.ResponseState || f.Number == protoscan.ResponseBatch {
			kind, events = f.Number, f.Bytes
		}
	}
	p.out = p.out[:0]
	var err error
	if kind != 0 {
		err = p.events(kind, events, at)
	} else {
		err = p.other(raw, at)
	}
	if err != nil || len(p.out) == 0 {
		return err
	}
	return p.write(p.out)
}

// write writes a part of the answer, the header before the first part.
func (p *printer) write(b []byte) error {
	if !p.started {
		p.started = true
		h := p.w.Header()
		h.Set("Content-Type", ndjsonType)
		h.Set("X-Accel-Buffering", "no") // or proxies may buffer the answer
		if p.sse {
			h.Set("Content-Type", sseType)
			b = append([]byte(retry), b...)
		}
	}
	_, err := p.w.Write(b) //nolint:gosec // JSON, which no browser takes for a page
	return err
}

// events prints a batch, or a part of the state.
func (p *printer) events(kind protowire.Number, batch []byte, at string) error {
	state := kind == protoscan.ResponseState
	of := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor()
	if state {
		of = (*replaydv1.StateBatch)(nil).ProtoReflect().Descriptor()
	}
	var sequence uint64
	var places position.Reader
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
		case d == nil: // a field of a newer server
		case d.Message() != nil:
			field, list = d, f.Bytes
		case !state && (f.Number == protoscan.BatchOffsets || f.Number == protoscan.BatchIndexes):
			if !places.Field(f) {
				return errMalformed
			}
		case state && f.Number == protoscan.StateComplete:
			complete = f.Value != 0
		case !state && f.Number == protoscan.BatchFirst:
			sequence = f.Value
		}
	}
	if p.sse {
		p.open(at, map[bool]string{true: "state"}[state])
		p.out = append(p.replay(append(p.out, '{')), `"events":[`...)
	}
	if field != nil {
		if err := p.list(field, list, sequence, &places, state); err != nil {
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
		p.cursor(at)
		if complete {
			p.out = append(p.out, `"state_complete":true,`...)
		}
		p.out = append(p.out[:len(p.out)-1], "}\n"...)
	}
	return nil
}

// replay appends the member that names the replay, in a subscription.
func (p *printer) replay(b []byte) []byte {
	if p.of == nil {
		return b
	}
	return append(append(append(b, `"replay":`...), p.of...), ',')
}

// cursor begins the line that ends a response.
func (p *printer) cursor(at string) {
	p.out = p.replay(append(append(append(p.out, `{"cursor":"`...), at...), '"', ','))
}

var (
	errMalformed = errors.New("a malformed response")
	errNewer     = errors.New("events of a format that this server does not print")
)

// list prints the events of the list in a field.
func (p *printer) list(field protoreflect.FieldDescriptor, list []byte, sequence uint64, places *position.Reader, state bool) error {
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
	events, strings, err := printer.List(list, p.each[:0], p.texts[:0])
	if p.each, p.texts = events, strings; err != nil {
		return err
	}
	for i, event := range events {
		named := !p.sse && p.of != nil
		if named {
			p.out = append(append(p.out, `{"replay":`...), p.of...)
		}
		start := len(p.out)
		if state {
			p.out, err = printer.AppendState(p.out, event, strings)
		} else {
			at := eventjson.Place{Sequence: sequence + uint64(i)}
			var ok bool
			if at.Offset, at.Index, ok = places.Next(); !ok {
				return errMalformed
			}
			p.out, err = printer.AppendLine(p.out, at, event, strings)
		}
		if err != nil {
			return err
		}
		if named {
			p.out[start] = ',' // in place of the brace
		}
		if !p.sse {
			continue
		}
		p.out = p.out[:len(p.out)-1] // the newline
		if i < len(events)-1 {
			p.out = append(p.out, ',')
		}
	}
	return nil
}

// open begins a server-sent event. An event without a name is a message.
func (p *printer) open(id, event string) {
	p.out = append(append(append(p.out, "id: "...), id...), '\n')
	if event != "" {
		p.out = append(append(append(p.out, "event: "...), event...), '\n')
	}
	p.out = append(p.out, "data: "...)
}

// other prints a response without events.
func (p *printer) other(raw []byte, at string) error {
	var r replaydv1.StreamEventsResponse
	if err := proto.Unmarshal(raw, &r); err != nil {
		return err
	}
	switch end := r.GetEnd(); {
	case p.names != nil && r.GetStart() != nil:
		p.name(r.GetStart().GetReplay().GetName(), true)
	case p.names != nil && end != nil: // the subscription goes on
		delete(p.names, p.number)
	case end != nil:
		p.over = true
		if p.sse && end.GetReason() == replaydv1.EndReason_END_REASON_SERVER_DRAINING {
			return nil // the EventSource sees a broken connection, and reconnects
		}
	}
	return p.alternative(&r, at)
}

// alternative prints the message that a response has.
func (p *printer) alternative(response proto.Message, at string) error {
	m := response.ProtoReflect()
	field := m.WhichOneof(m.Descriptor().Oneofs().ByName("response"))
	if field == nil {
		return nil // a response of a newer server
	}
	body, err := eventjson.Marshal(m.Get(field).Message().Interface())
	if err != nil {
		return err
	}
	name := string(field.Name())
	member := func() { p.out = append(append(append(append(p.out, '"'), name...), `":`...), body...) }
	switch {
	case p.sse && p.names != nil:
		p.open(at, map[bool]string{true: replayFailure, false: name}[name == "failure"])
		p.out = p.replay(append(p.out, '{'))
		member()
		p.out = append(p.out, "}\n\n"...)
	case p.sse && p.over:
		p.open(overID, name)
		p.out = append(append(append(p.out, `{"cursor":"`...), at...), `",`...)
		p.out = append(append(p.out, body[1:]...), "\n\n"...)
	case p.sse:
		p.open(at, name)
		p.out = append(append(p.out, body...), "\n\n"...)
	default:
		p.cursor(at)
		member()
		p.out = append(p.out, "}\n"...)
	}
	return nil
}

// replayFailure is the server-sent event for the failure of one replay of many. One that is named failure ends the stream.
const replayFailure = "replay_failure"

// end ends the answer. If the stream failed, end prints the fault.
func (p *printer) end(f *fault) {
	switch {
	case f == nil:
	case p.sse && f.again():
		// An EventSource does not reconnect after a status such as 503, or the 502 that proxies send for a broken connection.
		// It reconnects when a stream ends.
		if !p.started {
			_ = p.write(nil)
		}
	case !p.started:
		f.answer(p.w)
	case p.sse:
		p.out = p.out[:0]
		p.open(overID, "failure") // an EventSource reports a lost connection as "error"
		line := f.line()
		_ = p.write(append(append(p.out, line...), '\n'))
	default:
		_ = p.write(f.line())
	}
	p.flush()
}
