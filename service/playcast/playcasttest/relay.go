// Package playcasttest has a relay of a made broadcast, for tests.
package playcasttest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/replayd/replayd/decoders/dem/broadcast"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// Relay is a relay. The game sends a fragment for every few requests, so that no test waits for a clock. Fault and Change are called, and
// may change the fields below them, while the relay answers.
type Relay struct {
	*httptest.Server
	Start, Full []byte
	Deltas      [][]byte // of fragment First and those that follow it; the last one has the end

	mu       sync.Mutex
	Newest   int // the newest fragment that is there
	Oldest   int // fragments before this one were dropped
	Requests int
	Every    int                                                                   // a fragment comes after so many requests
	Change   func(sync map[string]any)                                             // of what sync says
	Fault    func(w http.ResponseWriter, r *http.Request, body []byte) (done bool) // in place of an answer, when done
}

// First is the first fragment of a Relay.
const First = 35

// New starts a relay with n fragments of packets that mean nothing.
func New(t *testing.T, n int) *Relay {
	t.Helper()
	start, fragments, err := broadcast.Split(demtest.Fight(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var deltas [][]byte
	random := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range n {
		var body []byte
		for range 1 + random.IntN(3) {
			contents := make([]byte, random.IntN(2000))
			for j := range contents {
				contents[j] = byte(random.Uint32())
			}
			body = append(body, 7)
			body = binary.LittleEndian.AppendUint32(body, uint32(1000+64*i))
			body = binary.LittleEndian.AppendUint32(append(body, 0), uint32(len(contents)))
			body = append(body, contents...)
		}
		deltas = append(deltas, body)
	}
	deltas[n-1] = append(deltas[n-1], make([]byte, 6)...)
	return Of(t, start, fragments[0].Full, deltas)
}

// Talk starts a relay with n fragments, in each of which somebody says its number.
func Talk(t *testing.T, n int) *Relay {
	t.Helper()
	start, fragments, err := broadcast.Split(demtest.Fight(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var deltas [][]byte
	for i := range n {
		var says demtest.Bits
		text := demtest.Proto(nil).Varint(1, 0).Text(2, strconv.Itoa(i))
		says.UBitVar(314)
		says.Varint(uint64(len(text)))
		says.Raw(text)
		body := binary.LittleEndian.AppendUint32([]byte{7}, uint32(300+64*i))
		body = binary.LittleEndian.AppendUint32(append(body, 0), uint32(len(says.Bytes())))
		deltas = append(deltas, append(body, says.Bytes()...))
	}
	deltas[n-1] = append(deltas[n-1], make([]byte, 6)...)
	return Of(t, start, fragments[0].Full, deltas)
}

// Of starts a relay with the bodies of a broadcast.
func Of(t *testing.T, start, full []byte, deltas [][]byte) *Relay {
	t.Helper()
	r := &Relay{Start: start, Full: full, Deltas: deltas, Newest: First, Oldest: First, Every: 2}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

// Lock lets a test change the fields.
func (r *Relay) Lock() (unlock func()) {
	r.mu.Lock()
	return r.mu.Unlock
}

// Asked returns how often the relay was asked.
func (r *Relay) Asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Requests
}

// At returns the broadcast's URL.
func (r *Relay) At(t *testing.T) *url.URL {
	t.Helper()
	u, err := url.Parse(r.URL + "/tv/1234")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (r *Relay) serve(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Requests++; r.Requests%r.Every == 0 && r.Newest < First+len(r.Deltas)-1 {
		r.Newest++
	}
	body, ok := r.body(strings.TrimPrefix(request.URL.Path, "/tv/1234/"), request.URL.Query().Get("fragment"))
	if r.Fault != nil && r.Fault(w, request, body) {
		return
	}
	if !ok {
		http.NotFound(w, request)
		return
	}
	_, _ = w.Write(body)
}

// body returns what a path below the broadcast has, and for sync from a fragment on.
func (r *Relay) body(path, from string) ([]byte, bool) {
	if path == "sync" {
		fragment := max(r.Oldest, r.Newest-7)
		if n, err := strconv.Atoi(from); err == nil {
			if fragment = max(r.Oldest, n); n > r.Newest {
				return nil, false
			}
		}
		at := map[string]any{"tick": 1, "rtdelay": 20.5, "rcvage": 0.5, "fragment": fragment, "signup_fragment": 0, "tps": 64, "keyframe_interval": 0.01, "map": "a map", "protocol": 5}
		if r.Change != nil {
			r.Change(at)
		}
		text, err := json.Marshal(at)
		return text, err == nil
	}
	number, part, _ := strings.Cut(path, "/")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return nil, false
	case n == 0 && part == "start":
		return r.Start, true
	case n < r.Oldest || n > r.Newest:
		return nil, false
	case part == "full":
		return r.Full, true
	case part == "delta":
		return r.Deltas[n-First], true
	}
	return nil, false
}

// FileOf returns the demo of some fragments, as it is in a file with that label.
func (r *Relay) FileOf(t *testing.T, label string, from, to int) []byte {
	t.Helper()
	d := broadcast.Demo{Label: label}
	var file []byte
	for i, body := range append([][]byte{r.Start, r.Full}, r.Deltas[from-First:to-First]...) {
		var err error
		if file, err = d.Append(file, broadcast.Part(min(i, 2)), body); err != nil {
			t.Fatal(fmt.Errorf("body %d: %w", i, err))
		}
	}
	offsets := d.Offsets()
	copy(file[broadcast.OffsetsAt:], offsets[:])
	return file
}
