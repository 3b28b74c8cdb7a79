package command

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// defaultPort is the port of a daemon's address that has none.
const defaultPort = "7171"

// withPort returns addr with a port, defaultPort if addr has none. It does not change the address of a Unix socket or a URI.
func withPort(addr string) string {
	if strings.Contains(addr, "/") || strings.HasPrefix(addr, "unix:") {
		return addr
	}
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), defaultPort)
}

// statusExit returns the exit code of a gRPC status. ok is false if err is not one.
func statusExit(err error) (code int, ok bool) {
	s, ok := status.FromError(err)
	if !ok {
		return 0, false
	}
	if e, ok := errors.AsType[explainedError](err); ok && e.final && s.Code() == codes.Unavailable {
		return ExitFailed, true
	}
	if client.Transient(err) {
		return ExitLost, true
	}
	reason := client.ReasonOf(err)
	switch s.Code() {
	case codes.NotFound:
		return ExitNotFound, true
	case codes.DataLoss:
		if reason == replaydv1.ErrorReason_ERROR_REASON_TRUNCATED {
			return ExitTruncated, true
		}
		return ExitCorrupt, true
	case codes.Unimplemented:
		return ExitCorrupt, true
	case codes.InvalidArgument:
		if reason == replaydv1.ErrorReason_ERROR_REASON_UNKNOWN_FORMAT {
			return ExitCorrupt, true
		}
		return ExitUsage, true
	default:
		return ExitFailed, true
	}
}

// Message returns the text to print for an error. For a status, wrapped or not, it is the status's message alone.
func Message(err error) string {
	type statusError interface {
		error
		GRPCStatus() *status.Status
	}
	if e, ok := errors.AsType[explainedError](err); ok {
		return e.text
	}
	if s, ok := errors.AsType[statusError](err); ok {
		return byFlags(s.GRPCStatus().Message())
	}
	return byFlags(strings.TrimPrefix(err.Error(), "replayd: ")) // the client package's prefix; run prints it again
}

// explainedError is an error of a call to a daemon, with advice for the user.
type explainedError struct {
	error

	text string
	// final reports that retrying does not help.
	final bool
}

func (e explainedError) Error() string { return e.text }
func (e explainedError) Unwrap() error { return e.error }

// Explain replaces the message of a common error of a call by one with advice for the user.
func (t *Target) Explain(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	addr, text := withPort(t.Addr), s.Message()
	say := func(final bool, format string, args ...any) error {
		return explainedError{error: err, text: fmt.Sprintf(format, args...), final: final}
	}
	_, handshake, failed := strings.Cut(text, "authentication handshake failed: ")
	handshake = strings.Trim(handshake, `"`)
	switch code := s.Code(); {
	case code == codes.Unavailable && strings.Contains(handshake, "first record does not look like a TLS handshake"):
		return say(true, "the daemon at %s does not speak TLS: leave out --tls, --ca-file and --client-cert", addr)
	case code == codes.Unavailable && strings.Contains(handshake, "x509:"):
		return say(true, "the certificate of the daemon at %s is not trusted (%s): set its certificate authority with --ca-file", addr, handshake)
	case code == codes.Unavailable && (strings.Contains(text, "certificate required") ||
		t.secure() && t.ClientCert == "" && strings.HasPrefix(text, "write ")): // the daemon may close before its alert is read
		return say(true, "the daemon at %s requires a client certificate: add --client-cert and --client-key", addr)
	case code == codes.Unavailable && failed:
		return say(true, "the TLS handshake with the daemon at %s failed: %s", addr, handshake)
	case code == codes.Unavailable && strings.HasPrefix(text, "connection error") && !strings.Contains(text, "while dialing"):
		if t.secure() {
			return say(true, "the daemon at %s ended the connection: %s", addr, text)
		}
		return say(true, "the server at %s does not speak gRPC without TLS: if it speaks TLS, add --tls or --ca-file", addr)
	case code == codes.Unavailable && strings.Contains(text, "while dialing"):
		cause := text[strings.LastIndex(text, "dial"):]
		return say(false, "no daemon answers at %s (%s): is `replayd serve` running there?", addr, strings.Trim(cause, `"`))
	case code == codes.Unauthenticated && t.Token == "":
		return say(true, "the daemon at %s requires a token: set --token or REPLAYD_TOKEN", addr)
	case code == codes.Unauthenticated:
		return say(true, "the daemon at %s does not accept the token: %s", addr, text)
	case code == codes.NotFound:
		return say(true, "%s at %s: `replayd ls --addr %s` lists the replays", text, addr, t.Addr)
	}
	return err
}

// requestField matches the field that a request error begins with.
var requestField = regexp.MustCompile(`^(include|exclude)?(?:\[\d+\])?\.?(?:dem\.|datafile\.|start\.)?([a-z_]+)(?:\[\d+\])?: `)

// flagsOf maps a request field to the flags that set it.
var flagsOf = map[string]string{
	"kinds": "--kind", "players": "--player", "teams": "--team", "classes": "--class", "fields": "--field", "types": "--type",
	"groups": "--group", "layers": "--layer", "ticks": "--from-tick, --to-tick, --every",
	"cursor": "--cursor", "tick": "--tick", "last_events": "--last", "now": "--now", "with_state": "--with-state",
	"follow": "--follow", "follow_successors": "--follow-successors", "strict": "--strict",
	"where": "--where",
}

// byFlags replaces the request field that an error begins with by the flag that sets it.
func byFlags(text string) string {
	at := requestField.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	flag, ok := flagsOf[text[at[4]:at[5]]]
	if !ok {
		return text
	}
	if at[2] >= 0 && text[at[2]:at[3]] == "exclude" {
		flag = strings.Replace(flag, "--", "--exclude-", 1)
	}
	return flag + ": " + text[at[1]:]
}
