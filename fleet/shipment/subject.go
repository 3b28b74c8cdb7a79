package shipment

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/replayd/replayd/internal/natsconn"
)

// Bounds of names, in bytes.
const (
	// MaxPath bounds a path. NATS limits a line of its protocol to 4,096 bytes, and each byte can become three.
	MaxPath   = 1000
	maxSource = 64
	maxStream = 64
)

var (
	streamPattern = regexp.MustCompile(`^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$`)
	sourcePattern = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// Errors of names.
var (
	ErrStream  = errors.New("a stream's name has letters and digits, and single hyphens between them; at most 64")
	ErrSource  = errors.New("a source's name has letters, digits, '_' and '-'; at most 64")
	ErrPath    = errors.New("the path cannot be that of a replay")
	errSubject = errors.New("the subject is not that of a file")
)

// CheckStream returns ErrStream unless a stream can have that name.
func CheckStream(name string) error {
	if len(name) > maxStream || !streamPattern.MatchString(name) {
		return ErrStream
	}
	return nil
}

// CheckSource returns ErrSource unless a source can have that name.
func CheckSource(name string) error {
	if len(name) > maxSource || !sourcePattern.MatchString(name) {
		return ErrSource
	}
	return nil
}

// CheckPath returns ErrPath unless a root of replays would list a file with that path, which is relative and has forward slashes:
// it must be valid UTF-8, without backslashes, NULs, and elements that are empty or begin with a dot.
func CheckPath(path string) error {
	if len(path) > MaxPath || !utf8.ValidString(path) || !fs.ValidPath(path) || path == "." || strings.ContainsAny(path, "\\\x00") ||
		strings.HasPrefix(path, ".") || strings.Contains(path, "/.") {
		return ErrPath
	}
	return nil
}

// Prefix returns the first part of a stream's subjects, without the dot after it.
func Prefix(stream string) string { return strings.ReplaceAll(stream, "-", ".") }

// Part is a part of a file's messages, and the last token of their subject.
type Part string

// The parts.
const (
	// Tail has the last bytes as they were written, in small messages.
	Tail Part = "tail"
	// Body has the bytes before the tail, in few large messages.
	Body Part = "body"
	// State has the last message that is not of the kind Bytes.
	State Part = "state"
)

// Subject returns the subject of a file, to which each part appends its name. The path becomes one token: letters, digits, '-'
// and '_' are themselves, and each other byte is '%' and two upper-case hexadecimal digits.
func Subject(stream, source, path string) (string, error) {
	if err := errors.Join(CheckStream(stream), CheckSource(source), CheckPath(path)); err != nil {
		return "", err
	}
	return Prefix(stream) + "." + source + "." + natsconn.Escape(path, plain), nil
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// ParseSubject is the reverse of Subject, for a subject with the name of a part after it. It accepts only subjects that a sender
// uses, so that no two subjects mean the same part of the same path.
func ParseSubject(stream, subject string) (source, path string, part Part, err error) {
	rest, ok := strings.CutPrefix(subject, Prefix(stream)+".")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 3 || len(tokens[1]) > 3*MaxPath {
		return "", "", "", errSubject
	}
	source, part = tokens[0], Part(tokens[2])
	path, ok = natsconn.Unescape(tokens[1], plain)
	if !ok || CheckSource(source) != nil || CheckPath(path) != nil || part != Tail && part != Body && part != State {
		return "", "", "", errSubject
	}
	return source, path, part, nil
}

// subject returns the subject of a part.
func (p Part) subject(file string) string { return file + "." + string(p) }
