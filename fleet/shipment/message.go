package shipment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// MaxChunk is the maximum number of a file's bytes in a message.
const MaxChunk = 256 << 10

// maxFile bounds offsets: 16 TB.
const maxFile = 1 << 44

// Kind says what a message is.
type Kind string

// The kinds of messages.
const (
	// Bytes has bytes of the file. Other kinds have none.
	Bytes Kind = "bytes"
	// Finished means that the file is whole: it has Offset bytes, with the sum Sum.
	Finished Kind = "finished"
	// Archived means that the file is in the bucket of its source.
	Archived Kind = "archived"
	// Removed means that the file is gone.
	Removed Kind = "removed"
)

// The headers of a message.
const (
	headerKind       = "Replayd-Kind"
	headerGeneration = "Replayd-File"
	headerOffset     = "Replayd-Offset"
	headerModified   = "Replayd-Modified"
	headerSum        = "Replayd-Sha256"
)

// Generation identifies the file that has a path. It is opaque except to senders.
type Generation string

var generationPattern = regexp.MustCompile(`^\d{1,4}-[0-9a-f]{32}-[0-9a-f]{1,16}$`)

// maxPrefix is the largest number of bytes at the beginning of a file that are hashed for its generation.
const maxPrefix = 4096

// NewGeneration returns the generation of a file that begins with prefix, of which the first 4,096 bytes count. number must not
// have been used for the path before; it may be the time.
func NewGeneration(prefix []byte, number uint64) Generation {
	prefix = prefix[:min(len(prefix), maxPrefix)]
	sum := sha256.Sum256(prefix)
	return Generation(fmt.Sprintf("%d-%s-%x", len(prefix), hex.EncodeToString(sum[:16]), number))
}

// Begins reports whether a file begins with the bytes that the generation was made from.
func (g Generation) Begins(file io.ReaderAt) (bool, error) {
	if !generationPattern.MatchString(string(g)) {
		return false, nil
	}
	text, rest, _ := strings.Cut(string(g), "-")
	sum, _, _ := strings.Cut(rest, "-")
	length, _ := strconv.Atoi(text) // four digits at most
	if length > maxPrefix {
		return false, nil
	}
	prefix := make([]byte, length)
	if n, err := file.ReadAt(prefix, 0); n < length {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return false, err
	}
	now := sha256.Sum256(prefix)
	return hex.EncodeToString(now[:16]) == sum, nil
}

// Message is one message of a file.
type Message struct {
	Kind       Kind
	Generation Generation
	// Offset is where Data begins in the file. For other kinds it is the length of the file.
	Offset int64
	// Modified is the time of the file's last write, by the clock of its machine.
	Modified time.Time
	// Sum is the SHA-256 of the whole file, for the kinds Finished and Archived.
	Sum [sha256.Size]byte
	// Data holds the bytes.
	Data []byte
}

// End returns a length that the file has or exceeds.
func (m *Message) End() int64 { return m.Offset + int64(len(m.Data)) }

// encode returns the message as a NATS message.
func (m *Message) encode(subject string) *nats.Msg {
	msg := nats.NewMsg(subject)
	msg.Data = m.Data
	msg.Header.Set(headerKind, string(m.Kind))
	msg.Header.Set(headerGeneration, string(m.Generation))
	msg.Header.Set(headerOffset, strconv.FormatInt(m.Offset, 10))
	msg.Header.Set(headerModified, strconv.FormatInt(m.Modified.UnixNano(), 10))
	if m.Kind == Finished || m.Kind == Archived {
		msg.Header.Set(headerSum, hex.EncodeToString(m.Sum[:]))
	}
	return msg
}

// HeaderError means that no sender writes such a message.
type HeaderError struct {
	Header string // the wrong header, "" for the data
}

// Error implements error. It repeats nothing of the message.
func (e *HeaderError) Error() string {
	if e.Header == "" {
		return "a message has data of a wrong length"
	}
	return "a message has an invalid header " + e.Header
}

// Decode returns the message in a NATS message. It does not copy Data. It returns a *HeaderError if no sender would write such a
// message.
func Decode(header nats.Header, data []byte) (Message, error) {
	m := Message{Kind: Kind(header.Get(headerKind)), Generation: Generation(header.Get(headerGeneration)), Data: data}
	var err error
	if !generationPattern.MatchString(string(m.Generation)) {
		return Message{}, &HeaderError{headerGeneration}
	}
	if m.Offset, err = number(header.Get(headerOffset)); err != nil || m.Offset < 0 || m.Offset > maxFile {
		return Message{}, &HeaderError{headerOffset}
	}
	nanos, err := number(header.Get(headerModified))
	if err != nil {
		return Message{}, &HeaderError{headerModified}
	}
	m.Modified = time.Unix(0, nanos)
	switch m.Kind {
	case Bytes:
		if len(data) > MaxChunk || len(data) == 0 && m.Offset > 0 {
			return Message{}, &HeaderError{}
		}
		return m, nil
	case Finished, Archived:
		sum, err := hex.DecodeString(header.Get(headerSum))
		if err != nil || len(sum) != len(m.Sum) {
			return Message{}, &HeaderError{headerSum}
		}
		copy(m.Sum[:], sum)
	case Removed:
	default:
		return Message{}, &HeaderError{headerKind}
	}
	if len(data) > 0 {
		return Message{}, &HeaderError{}
	}
	return m, nil
}

// number parses a number in the form that encode writes.
func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && strconv.FormatInt(n, 10) != text {
		err = strconv.ErrSyntax
	}
	return n, err
}
