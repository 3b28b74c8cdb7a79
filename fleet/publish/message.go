package publish

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/proto"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/internal/natsconn"
	"github.com/replayd/replayd/proto/eventjson"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

// Encoding is the form of payloads.
type Encoding string

// Encodings.
const (
	JSON  Encoding = "json"  // lines of JSON
	Proto Encoding = "proto" // replayd.v1.StreamEventsResponse; for errors google.rpc.Status
)

// Headers of messages, beside Nats-Msg-Id.
const (
	HeaderType      = "Replayd-Type"       // TypeStart and so on
	HeaderName      = "Replayd-Name"       // the replay's name, with %XX for all but visible ASCII
	HeaderIdentity  = "Replayd-Identity"   // the replay's identity
	HeaderFirst     = "Replayd-First"      // the sequence number of the first event
	HeaderNext      = "Replayd-Next"       // the sequence number after the last event
	HeaderFirstTick = "Replayd-First-Tick" // of events: the tick of the first one
	HeaderLastTick  = "Replayd-Last-Tick"  // of events: the tick of the last one
	HeaderCursor    = "Replayd-Cursor"     // in the form of plain HTTP; resumes before the event Replayd-Next
	HeaderReason    = "Replayd-Reason"     // of an end or an error: the name of an EndReason or ErrorReason, without the prefix
	HeaderOffset    = "Replayd-Offset"     // of an error: the offset of damage, if there is one
	HeaderSize      = "Replayd-Size"       // of an end or an error: the size of the file in bytes
	HeaderSelection = "Replayd-Selection"  // a hash of the published selection and its encoding
	HeaderFacts     = "Replayd-Facts"      // of a start: the version of the format's facts, if it has facts
	HeaderContent   = "Content-Type"
)

// Types of messages.
const (
	TypeStart  = "start"
	TypeEvents = "events"
	TypeEnd    = "end"
	TypeError  = "error"
)

const (
	jsonType   = "application/x-ndjson"
	protoType  = `application/x-protobuf; messageType="replayd.v1.StreamEventsResponse"`
	statusType = `application/x-protobuf; messageType="google.rpc.Status"`
)

// errPayload reports an event that does not fit into a message.
var errPayload = errors.New("an event does not fit into a message")

// message is a message before or after it is published.
type message struct {
	id                  string // without the replay's identity and the selection
	kind                string
	first, next         uint64 // sequence numbers
	firstTick, lastTick int32
	cursor              []byte
	reason              string // of an end or an error
	offset              string // of an error
	facts               uint32 // of a start
	size                int64  // of an end or an error
	content             string
	body                []byte
}

// header returns the headers of a message.
func (m *message) header(r *replay) nats.Header {
	h := nats.Header{
		nats.MsgIdHdr: {r.id(m)}, HeaderType: {m.kind}, HeaderName: {headerText(r.name)}, HeaderIdentity: {r.identity},
		HeaderFirst: {strconv.FormatUint(m.first, 10)}, HeaderNext: {strconv.FormatUint(m.next, 10)},
		HeaderCursor: {cursor.Text(m.cursor)}, HeaderSelection: {r.p.selection}, HeaderContent: {m.content},
	}
	switch m.kind {
	case TypeStart:
		if m.facts != 0 {
			h[HeaderFacts] = []string{strconv.FormatUint(uint64(m.facts), 10)}
		}
	case TypeEvents:
		h[HeaderFirstTick] = []string{strconv.Itoa(int(m.firstTick))}
		h[HeaderLastTick] = []string{strconv.Itoa(int(m.lastTick))}
	case TypeEnd, TypeError:
		h[HeaderReason] = []string{m.reason}
		h[HeaderSize] = []string{strconv.FormatInt(m.size, 10)}
		if m.offset != "" {
			h[HeaderOffset] = []string{m.offset}
		}
	}
	return h
}

// headerText escapes bytes that a header may not have.
func headerText(text string) string {
	return natsconn.Escape(text, func(c byte) bool { return c > ' ' && c < 0x7f && c != '%' })
}

// errForeign reports a message at a replay's subject that no publisher made.
var errForeign = errors.New("the last message of the subject is not of a publisher")

// parsePlace reads from a subject's last message where publishing goes on.
func parsePlace(sequence uint64, h nats.Header) (place, error) {
	at := place{sequence: sequence, id: h.Get(nats.MsgIdHdr), kind: h.Get(HeaderType), reason: h.Get(HeaderReason), selection: h.Get(HeaderSelection)}
	var err error
	if at.next, err = strconv.ParseUint(h.Get(HeaderNext), 10, 64); err != nil {
		return place{}, errForeign
	}
	if at.cursor, err = cursor.ParseText(h.Get(HeaderCursor)); err != nil || at.kind == "" {
		return place{}, errForeign
	}
	if at.kind == TypeEnd || at.kind == TypeError {
		if at.size, err = strconv.ParseInt(h.Get(HeaderSize), 10, 64); err != nil {
			return place{}, errForeign
		}
	}
	return at, nil
}

// encoder makes the messages of a replay.
type encoder struct {
	encoding Encoding
	most     int // the largest number of bytes of a payload
}

// response makes the message of a start or an end.
func (e *encoder) response(r client.Response, kind string, body proto.Message) (*message, error) {
	m := &message{kind: kind, cursor: r.Cursor, facts: r.Message.GetStart().GetFactsVersion()}
	var err error
	if e.encoding == Proto {
		m.content = protoType
		m.body, err = proto.MarshalOptions{Deterministic: true}.Marshal(r.Message)
	} else {
		m.content = jsonType
		m.body, err = object(kind, body)
	}
	if err == nil && len(m.body) > e.most {
		err = fmt.Errorf("%w: a %s of %d bytes", errPayload, kind, len(m.body))
	}
	return m, err
}

// object returns a line of JSON: an object with one member.
func object(name string, m proto.Message) ([]byte, error) {
	b, err := eventjson.Marshal(m)
	if err != nil {
		return nil, err
	}
	return append(append([]byte(`{"`+name+`":`), b...), '}', '\n'), nil
}

// events makes messages of the events of a batch whose sequence numbers are at least from. before is the cursor before the batch.
// Only JSON can be divided; ok is false if from is in the middle of a batch of the other encoding.
func (e *encoder) events(r client.Response, from uint64, before []byte, each func(*message) error) (ok bool, err error) {
	b := r.Batch
	if e.encoding == Proto && from != b.First {
		return false, nil
	}
	m := &message{}
	done := func() error {
		if len(m.body) == 0 {
			return nil
		}
		if len(m.body) > e.most {
			return fmt.Errorf("%w: %d bytes, NATS takes %d; raise max_payload of the servers", errPayload, len(m.body), e.most)
		}
		if m.cursor = before; m.next == b.Next {
			m.cursor = r.Cursor
		}
		return each(m)
	}
	var line []byte
	for event, err := range b.Events() {
		if err != nil {
			return false, err
		}
		if event.Sequence < from {
			continue
		}
		if e.encoding == JSON {
			if line, err = event.AppendJSON(line[:0]); err != nil {
				return false, err
			}
			line = append(line, '\n')
			if len(m.body) > 0 && len(m.body)+len(line) > e.most {
				if err := done(); err != nil {
					return false, err
				}
				m = &message{}
			}
		}
		if len(m.body) == 0 && m.next == 0 {
			*m = message{kind: TypeEvents, first: event.Sequence, firstTick: event.Tick, content: protoType}
			m.id = strconv.FormatInt(event.Offset, 10) + ":" + strconv.FormatInt(event.Index, 10)
		}
		m.next, m.lastTick = event.Sequence+1, event.Tick
		if e.encoding == JSON {
			m.content, m.body = jsonType, append(m.body, line...)
		}
	}
	if e.encoding == Proto {
		m.body = r.Wire
	}
	return true, done()
}

// end makes the message of an end. It leaves out values that depend on where the stream began.
func (e *encoder) end(r client.Response) (*message, error) {
	whole := proto.CloneOf(r.Message)
	end := whole.GetEnd()
	end.EventsSent, end.EventsFiltered, end.BytesRead = 0, 0, 0
	r.Message = whole
	m, err := e.response(r, TypeEnd, end)
	m.reason = strings.TrimPrefix(end.GetReason().String(), "END_REASON_")
	return m, err
}

// fault is an error as plain HTTP writes it in lines of JSON.
type fault struct {
	Code     string            `json:"code"`
	Message  string            `json:"message"`
	Reason   string            `json:"reason,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// failure makes the message of an error.
func (e *encoder) failure(f *client.Error) (*message, error) {
	m := &message{kind: TypeError, reason: reasonOf(f), offset: f.Metadata["offset"], content: statusType}
	var err error
	if e.encoding == Proto {
		m.body, err = proto.MarshalOptions{Deterministic: true}.Marshal(f.GRPCStatus().Proto())
		return m, err
	}
	m.content = jsonType
	m.body, err = faultLine(fault{
		Code: strings.ToLower(code.Code(f.Code).String()), Message: f.Message, Reason: m.reason, Metadata: f.Metadata,
	})
	return m, err
}

// reasonOf returns the name of an error's reason.
func reasonOf(f *client.Error) string {
	if f.Reason == replaydv1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		return ""
	}
	return strings.TrimPrefix(f.Reason.String(), "ERROR_REASON_")
}
