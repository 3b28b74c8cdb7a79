package access

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/replayd/replayd/decoders"
)

// Rules holds the contents of a token file. It is immutable.
type Rules struct {
	grants map[string]*Grant // by credential: sha256:HASH or certificate:NAME
}

// LineError means that a line of a file is invalid.
type LineError struct {
	File    string
	Line    int // from 1
	Problem string
}

func (e *LineError) Error() string { return fmt.Sprintf("%s, line %d: %s", e.File, e.Line, e.Problem) }

const (
	hashPrefix = "sha256:"
	certPrefix = "certificate:"
)

// ParseRules parses the text of a token file. file is its name in errors. Each line has a credential and its settings:
//
//	CREDENTIAL [KEY=VALUE]...
//
// A credential is a token (printable ASCII without white space), "sha256:" and the hash of a token in hexadecimal digits, or
// "certificate:" and a name in a client certificate. The keys are name, roots, formats, allow, streams, memory, spool, rate and
// expires, each at most once; see docs/operations.md. Empty lines and lines that begin with # are ignored. together are roots, by
// alias, whose replays may succeed one another (index.Lineages): a caller may see all roots of such a group or none, because the
// description of a replay depends on the others. The error is a *LineError, or says that the file holds no credential.
func ParseRules(text, file string, together [][]string) (*Rules, error) {
	r := &Rules{grants: map[string]*Grant{}}
	names := map[string]int{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		fail := func(format string, args ...any) error {
			return &LineError{file, number, fmt.Sprintf(format, args...)}
		}
		grant, err := parseGrant(fields[1:])
		if err != nil {
			return nil, fail("%v", err)
		}
		if group := grant.divides(together); group != nil {
			return nil, fail("roots: of %s, which --lineage joins, all must be named or none", strings.Join(group, ","))
		}
		if err := r.add(fields[0], grant); err != nil {
			return nil, fail("%v", err)
		}
		if other := names[grant.Name]; other > 0 {
			return nil, fail("name %q is used in line %d, too", grant.Name, other)
		}
		names[grant.Name] = number
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s holds no token", file)
	}
	return r, nil
}

// divides returns the first group of which the caller may see only a part, or nil.
func (g *Grant) divides(together [][]string) []string {
	for _, group := range together {
		seen := 0
		for _, alias := range group {
			if g.Reaches(alias) {
				seen++
			}
		}
		if 0 < seen && seen < len(group) {
			return group
		}
	}
	return nil
}

// add adds a credential. If its grant has no name, add sets one.
func (r *Rules) add(credential string, g *Grant) error {
	if !printable(credential) {
		return errors.New("a token is printable ASCII without white space; a comment has a line of its own")
	}
	hash, hashed := strings.CutPrefix(credential, hashPrefix)
	cert, ofCert := strings.CutPrefix(credential, certPrefix)
	switch {
	case ofCert && cert == "":
		return fmt.Errorf("%s wants a name of a certificate", certPrefix)
	case ofCert:
		g.id, g.Name = credential, cmp.Or(g.Name, cert)
	case hashed:
		raw, err := hex.DecodeString(hash)
		if err != nil || len(raw) != sha256.Size {
			return fmt.Errorf("%s wants %d hexadecimal digits", hashPrefix, 2*sha256.Size)
		}
		g.id = hashPrefix + hex.EncodeToString(raw) // in lower case
	default:
		g.id = idOf(credential)
	}
	if g.Name == "" {
		g.Name = "token-" + g.id[len(hashPrefix):][:8]
	}
	if r.grants[g.id] != nil {
		return errors.New("the same is in an earlier line, too")
	}
	r.grants[g.id] = g
	return nil
}

// idOf returns the key of a token's grant. It is a hash, so that the time of a lookup reveals nothing about other tokens.
func idOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// printable reports whether a text can be a credential.
func printable(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c > '~' }) < 0
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9._@-]{1,64}$`)

// parseGrant parses the settings after a credential.
func parseGrant(fields []string) (*Grant, error) {
	g := &Grant{}
	seen := map[string]bool{}
	allow := ""
	for _, field := range fields {
		key, value, ok := strings.Cut(field, "=")
		switch {
		case !ok:
			return nil, fmt.Errorf(
				"%q is no KEY=VALUE: a token is printable ASCII without white space; a comment has a line of its own", field)
		case value == "":
			return nil, fmt.Errorf("%s has no value", key)
		case seen[key]:
			return nil, fmt.Errorf("%s stands here twice", key)
		}
		seen[key] = true
		var err error
		switch key {
		case "name":
			if g.Name = value; !namePattern.MatchString(value) {
				err = errors.New("want up to 64 letters, digits, '.', '_', '@' and '-'")
			}
		case "roots":
			g.roots = setOf(value)
		case "formats":
			g.formats, err = parseFormats(value)
		case "allow":
			allow = value
		case "streams":
			g.Quota.Streams, err = strconv.Atoi(value)
			if err == nil && g.Quota.Streams < 1 {
				err = errors.New("must be 1 or more")
			}
		case "memory":
			g.Quota.Memory, err = ParseBytes(value)
		case "spool":
			g.Quota.Spool, err = ParseBytes(value)
		case "rate":
			g.Quota.Rate, err = parseRate(value)
		case "expires":
			g.Expires, err = parseTime(value)
		default:
			return nil, fmt.Errorf("unknown key %q; the keys are: %s", key, strings.Join(keys, ", "))
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", key, value, err)
		}
	}
	var err error
	if g.may, err = parsePowers(allow, g.roots != nil || g.formats != nil); err != nil {
		return nil, fmt.Errorf("allow=%s: %w", allow, err)
	}
	return g, nil
}

var keys = []string{"name", "roots", "formats", "allow", "streams", "memory", "spool", "rate", "expires"}

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for elem := range strings.SplitSeq(list, ",") {
		set[elem] = true
	}
	return set
}

func parseFormats(list string) (map[decoders.Format]bool, error) {
	known := map[string]decoders.Format{}
	for _, f := range decoders.Formats() {
		known[f.String()] = f
	}
	formats := map[decoders.Format]bool{}
	for name := range setOf(list) {
		f, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("the formats are: %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		formats[f] = true
	}
	return formats, nil
}

// parsePowers parses a list of powers. An empty list means all powers. If the grant is limited to some replays, it means only
// Read and Upload: the other powers would reveal more.
func parsePowers(list string, limited bool) (p Power, err error) {
	switch {
	case list == "" && limited:
		return Read | Upload, nil
	case list == "":
		return all, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(powerNames, name)
		if i < 0 {
			return 0, fmt.Errorf("what can be allowed is: %s", strings.Join(powerNames, ", "))
		}
		p |= 1 << i
	}
	return p, nil
}

// ParseBytes parses a number of bytes, such as 4096, 64KiB, 512MiB or 2GiB.
func ParseBytes(text string) (int64, error) {
	digits, unit := text, int64(1)
	for suffix, factor := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40} {
		if d, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = d, factor
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/unit {
		return 0, errors.New("want a number of bytes, such as 512MiB")
	}
	return n * unit, nil
}

// parseRate parses a number of calls per second, such as 5/s.
func parseRate(text string) (float64, error) {
	digits, ok := strings.CutSuffix(text, "/s")
	rate, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(rate > 0) || rate > 1e6 {
		return 0, errors.New("want calls a second, such as 5/s or 0.1/s")
	}
	return rate, nil
}

// parseTime parses a time, or a date, which stands for its beginning in UTC.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("want a date, such as 2027-01-31, or a time, such as 2027-01-31T18:00:00Z")
}
