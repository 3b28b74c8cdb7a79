package playcast

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/replayd/replayd/decoders/dem/broadcast"
)

// Relay is the relay to which game servers push their broadcasts (tv_broadcast_url), and from which players and other relays read them
// (playcast). It is an http.Handler:
//
//	POST /NAME/TOKEN/FRAGMENT/start|full|delta    from the server of that name, with its secret in X-Origin-Auth
//	GET  /NAME[/TOKEN]/sync                       where the broadcast is
//	GET  /NAME[/TOKEN]/FRAGMENT/start|full|delta  a body
//
// TOKEN is the server's own, and another one for each match. Elements between NAME and TOKEN are ignored. Whoever knows an address may read
// it, as with other relays; X-Origin-Delay holds a fragment back from readers, not from the files. A Relay keeps the last fragments of each
// server in memory, at most 32 MiB. It is safe for concurrent use.
type Relay struct {
	servers map[string]*pushed
	log     *slog.Logger
	metrics *Metrics
}

// Server is a game server that may push.
type Server struct {
	Name   string // the first element of its URL
	Secret string // what it sends as X-Origin-Auth (tv_broadcast_origin_auth)
}

// element is what a name, and a token, may be.
var element = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)

// NewRelay returns a relay for some servers. metrics may be nil.
func NewRelay(servers []Server, log *slog.Logger, metrics *Metrics) *Relay {
	r := &Relay{servers: map[string]*pushed{}, log: log, metrics: metrics}
	for _, s := range servers {
		r.servers[s.Name] = &pushed{name: s.Name, secret: sha256.Sum256([]byte(s.Secret)), changed: make(chan struct{})}
	}
	return r
}

// ParseServers parses a file of servers: a line for each, NAME SECRET. Empty lines and lines that begin with # are comments. An error
// names the line and repeats nothing of it.
func ParseServers(text string) ([]Server, error) {
	var servers []Server
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, secret, _ := strings.Cut(line, " ")
		s := Server{name, strings.TrimSpace(secret)}
		switch {
		case !element.MatchString(s.Name):
			return nil, lineError(i, "want NAME SECRET; a name has letters, digits and . _ -")
		case len(s.Secret) < 8:
			return nil, lineError(i, "the secret has fewer than 8 characters")
		case slices.ContainsFunc(servers, func(o Server) bool { return o.Name == s.Name }):
			return nil, lineError(i, "the name was given before")
		}
		servers = append(servers, s)
	}
	if len(servers) == 0 {
		return nil, errors.New("no server is named")
	}
	return servers, nil
}

func lineError(i int, what string) error {
	return errors.New("line " + strconv.Itoa(i+1) + ": " + what)
}

// pushedPace is the first pause after a body that cannot be used. Nothing else waits for it: bodies that are pushed are there at once.
const pushedPace = 50 * time.Millisecond

// Matches returns what writes the broadcasts of the servers: each has a directory of its name below dir. Run each of them. They end with
// their context only, because a server goes on with the next match.
func (r *Relay) Matches(dir string) []*Match {
	var all []*Match
	for name, p := range r.servers {
		all = append(all, &Match{Dir: filepath.Join(dir, name), Pace: pushedPace, Log: r.log, Metrics: r.metrics, pushed: p})
	}
	return all
}

// ServeHTTP implements http.Handler.
func (r *Relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	path := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	p := r.servers[path[0]]
	switch request.Method {
	case http.MethodPost:
		code := r.push(request, p, path)
		r.metrics.push(code)
		w.WriteHeader(code)
	case http.MethodGet, http.MethodHead:
		if p == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		p.get(w, path[1:], request.URL.Query().Get("fragment"))
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// push takes a body, and returns the status of the answer.
func (r *Relay) push(request *http.Request, p *pushed, path []string) int {
	ctx := request.Context()
	secret := sha256.Sum256([]byte(request.Header.Get("X-Origin-Auth")))
	known := p
	if known == nil {
		known = &pushed{}
	}
	if subtle.ConstantTimeCompare(secret[:], known.secret[:]) != 1 || p == nil {
		return http.StatusForbidden
	}
	if len(path) < 4 {
		return http.StatusNotFound
	}
	token, fragment, kind := path[len(path)-3], path[len(path)-2], path[len(path)-1]
	n, err := strconv.ParseUint(fragment, 10, 31)
	part := slices.Index(parts, kind)
	if err != nil || part < 0 || !element.MatchString(token) {
		return http.StatusNotFound
	}
	body, err := read(request.Body, request.ContentLength, maxBody)
	switch {
	case errors.Is(err, errLong):
		return http.StatusRequestEntityTooLarge
	case err != nil:
		return http.StatusBadRequest
	}
	if err := broadcast.Check(body); err != nil {
		r.log.WarnContext(ctx, "a game server pushes a body that is damaged", "server", p.name, "fragment", n, "part", kind, "error", err)
		return http.StatusBadRequest
	}
	query := request.URL.Query()
	delay, _ := strconv.ParseUint(request.Header.Get("X-Origin-Delay"), 10, 31) // in milliseconds
	tick, _ := strconv.ParseInt(query.Get(map[bool]string{true: "endtick", false: "tick"}[kind == "delta"]), 10, 32)
	now := time.Now()
	b := piece{
		came: now,
		part: broadcast.Part(part), fragment: int(n), tick: int32(tick), data: body,
		shown: now.Add(min(time.Duration(delay)*time.Millisecond, maxDelay)),
	}
	if b.part != broadcast.Start {
		return p.add(token, b, query.Get("final") == "1")
	}
	if v := query.Get("protocol"); v != "" && v != strconv.Itoa(protocol) {
		r.log.WarnContext(ctx, "a game server pushes another protocol", "server", p.name, "protocol", v)
		return http.StatusBadRequest
	}
	code, flipped := p.begin(token, b, place{
		TicksPerSecond: number(query.Get("tps")), KeyframeInterval: number(query.Get("keyframe_interval")), Map: query.Get("map"),
	})
	if flipped {
		r.log.InfoContext(ctx, "a game server begins a broadcast", "server", p.name, "token", token, "map", query.Get("map"))
	}
	return code
}

// maxDelay is how long a server may hold a fragment back from readers.
const maxDelay = 10 * time.Minute

// number returns a number as a server has it, such as 64 or 128.0, and 0 if it is none.
func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1e6) {
		return 0
	}
	return v
}

// parts are the names of the parts of a broadcast.
var parts = []string{broadcast.Start.String(), broadcast.Full.String(), broadcast.Delta.String()}

// get answers a reader.
func (p *pushed) get(w http.ResponseWriter, path []string, from string) {
	token := ""
	if n := len(path); n > 0 && (path[n-1] == "sync" && n == 2 || n == 3) {
		token, path = path[0], path[1:]
	}
	var data []byte
	code, kept := http.StatusNotFound, "public, max-age=3"
	switch {
	case len(path) == 1 && path[0] == "sync":
		at, found := p.shown(token, from)
		if code = found; code == http.StatusOK {
			data, _ = json.Marshal(at) //nolint:errchkjson // numbers that are finite, and text
			w.Header().Set("Content-Type", "application/json")
		}
	case len(path) == 2:
		n, err := strconv.ParseUint(path[0], 10, 31)
		part := slices.Index(parts, path[1])
		if err != nil || part < 0 {
			break
		}
		if data = p.data(token, int(n), broadcast.Part(part), time.Now()); data != nil {
			code, kept = http.StatusOK, "public, max-age=3600"
			w.Header().Set("Content-Type", "application/octet-stream")
		}
	}
	w.Header().Set("Cache-Control", kept)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(code)
	_, _ = w.Write(data) //nolint:gosec // never HTML, as its type and nosniff say
}

// sync implements source.
func (p *pushed) sync(ctx context.Context, from next) (place, error) {
	for {
		at, ok, changed := p.joined(from)
		if ok {
			return at, nil
		}
		select {
		case <-ctx.Done():
			return place{}, ctx.Err()
		case <-changed:
		}
	}
}
