package playcast

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/broadcast"
)

// Match is a broadcast to follow. Its fields must not be changed once Run was called.
type Match struct {
	// Dir is the directory of the match's files. It is made if it is not there. Required.
	Dir string
	// URL is where the broadcast is: what players give to playcast. Required: see Check.
	URL *url.URL
	// Networks are networks, beside the public ones, in which the host of URL may have its addresses.
	Networks []netip.Prefix
	// Agent is sent as User-Agent.
	Agent string
	// Pace is the shortest time between two requests. Default: 1 s, as relays expect it.
	Pace time.Duration
	// Silence is how long a game must have sent nothing to its relay to be over without an end. Default: 2 minutes.
	Silence time.Duration
	// Log gets what happens. Required.
	Log *slog.Logger
	// Metrics counts. It may be nil.
	Metrics *Metrics

	pushed *pushed // in place of URL: see Relay.Matches
}

// source is where a broadcast comes from. Errors are errAbsent, errRefused, errHole, errNew, or pass.
type source interface {
	// sync says where the broadcast is: at a fragment from one on, if it has any and is still that match.
	sync(ctx context.Context, from next) (place, error)
	// fragment returns a body of a fragment.
	fragment(ctx context.Context, token string, number int, part broadcast.Part) ([]byte, error)
	// another waits for a broadcast behind one that is over, of which next is the fragment that did not come. It reports false if there
	// will be none, and when ctx ends.
	another(ctx context.Context, token string, next int) bool
	// lag returns how far a file is behind the relay and the game whose last tick is that. caught reports that the relay has no more.
	lag(tick int32, caught bool) (behind [2]time.Duration)
	close()
}

// next is the fragment behind a hole, from which on the next file begins, so that it repeats nothing. The zero value is none.
type next struct {
	token    string
	fragment int
}

const (
	defaultPace    = time.Second
	defaultSilence = 2 * time.Minute
	// maxDamaged is how often a fragment is fetched again that arrives damaged, before the next file begins behind it.
	maxDamaged = 10
	// minAbsences is how often in a row a relay must not have a fragment to be asked why. Caches keep such an answer for seconds.
	minAbsences = 6
)

// Check returns an error if a URL cannot be that of a broadcast.
func Check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("want http://HOST/PATH or https://HOST/PATH")
	case u.User != nil:
		return errors.New("a URL with credentials") // without repeating it
	case u.Fragment != "":
		return errors.New("a URL with a fragment")
	}
	return nil
}

// Why a file ends while its match may go on.
var (
	errHole = errors.New("the relay has dropped fragments that were not read")
	errNew  = errors.New("the relay broadcasts another match")
	// errDamaged is errHole where the relay has the fragment, but damaged.
	errDamaged = fmt.Errorf("it arrives damaged: %w", errHole)
)

// errSilent means that the game has gone without an end.
var errSilent = errors.New("the relay has heard nothing from the game for minutes")

// Run follows the broadcast until it is over: then it returns nil, also when it was over before. It returns an error if the broadcast
// cannot be followed whatever happens, or if ctx ends. While another process follows a broadcast into Dir, and while Dir cannot be
// written, Run waits.
func (m *Match) Run(ctx context.Context) error {
	m.Metrics.run(1)
	defer m.Metrics.run(-1)
	r := &run{Match: m, pace: cmp.Or(m.Pace, defaultPace), source: m.pushed}
	if m.pushed == nil {
		r.source, r.of = newRemote(m.URL, m.Networks, r.pace, m.Agent), m.URL.String()
	} else {
		r.of = m.pushed.name
	}
	defer r.source.close()
	if err := r.retry(ctx, "opening the directory", func() (err error) {
		r.dir, err = openDir(m.Dir)
		return err
	}); err != nil {
		return err
	}
	defer func() { _ = r.dir.lock.Close() }()
	if s, ok := r.dir.load(); ok && s.Of == r.of {
		r.state = s
	}
	if err := r.retry(ctx, "beginning anew", func() error { return r.dir.rejoin("") }); err != nil {
		return err
	}
	for {
		err := r.record(ctx)
		m.Metrics.over(m)
		switch {
		case errors.Is(err, errDamaged), errors.Is(err, broadcast.ErrBack) && r.wrote == 0: // they go back within the fragment
			r.from = next{r.state.Token, r.state.Next + 1}
		case errors.Is(err, errHole):
			r.from = next{r.state.Token, r.state.Next}
		default:
			r.from = next{}
		}
		switch {
		case err == nil && !r.source.another(ctx, r.state.Token, r.state.Next):
			return ctx.Err()
		case err == nil:
			r.state = r.state.behind()
		case errors.Is(err, errHole) || errors.Is(err, errNew) || errors.Is(err, errGone) || errors.Is(err, broadcast.ErrResume):
			m.Log.WarnContext(ctx, "a recording of a broadcast ends before its match; the next file begins", "file", r.name(), "why", err)
			m.Metrics.hole()
			r.dir.forsake(&r.state)
			r.state = r.state.behind()
			if err := r.rest(ctx); err != nil {
				return err
			}
		default:
			if ctx.Err() != nil {
				return err
			}
			why := err
			if errors.Is(err, errAddress) { // whose resolver said so
				why = errAddress
			}
			return cmp.Or(r.leave(ctx, fmt.Errorf("the broadcast cannot be followed: %w", why)), err)
		}
	}
}

// Follow does what Run does, logs how the broadcast ends, and reports whether the broadcast cannot be followed.
func (m *Match) Follow(ctx context.Context) (refused bool) {
	err := m.Run(ctx)
	switch {
	case err == nil:
		m.Log.InfoContext(ctx, "a broadcast is over", "dir", m.Dir)
	case !errors.Is(err, context.Canceled):
		m.Log.ErrorContext(ctx, "a broadcast cannot be followed", "dir", m.Dir, "error", err)
		return true
	}
	return false
}

// run is a Match that runs.
type run struct {
	*Match
	of     string // the broadcast, as states have it
	pace   time.Duration
	source source
	dir    *dir
	state  state // without a file as long as nothing was read
	wrote  int   // how many fragments the file has got since it was opened
	barren int   // how many files in a row got none
	from   next
}

// maxBarren is how many files without a fragment may follow one another at once. A relay that says each time that there is another match
// would have as many files as it likes.
const maxBarren = 3

// rest waits, longer and longer, behind files that got nothing.
func (r *run) rest(ctx context.Context) error {
	if r.barren++; r.wrote > 0 {
		r.barren = 0
	}
	if r.wrote = 0; r.barren < maxBarren {
		return nil
	}
	return sleep(ctx, pause(r.barren-maxBarren, time.Second))
}

// leave tells readers of the file, and those who wait for one, why nothing more is written.
func (r *run) leave(ctx context.Context, why error) error {
	err := r.retry(ctx, "telling why it ends", func() error { return r.dir.leave(r.state.File, why.Error()) })
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// name returns the path of the file.
func (r *run) name() string { return filepath.Join(r.Dir, r.state.File) }

// record writes one file: from where the broadcast is, or from where the file was left. It returns nil when the match is over.
func (r *run) record(ctx context.Context) error {
	if r.state.Over {
		return nil
	}
	var first []step // what is there already: start and full
	if r.state.File == "" {
		var err error
		if first, err = r.join(ctx); err != nil {
			return err
		}
	}
	var f *os.File
	if err := r.retry(ctx, "opening the file", func() (err error) {
		if err := r.dir.rejoin(r.state.File); err != nil {
			return err
		}
		f, err = r.dir.open(&r.state)
		return err
	}); err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for _, s := range first {
		if err := r.add(ctx, f, s); err != nil {
			return err
		}
	}
	for !r.state.Demo.Stopped() {
		s, err := r.next(ctx)
		if errors.Is(err, errSilent) {
			r.Log.WarnContext(ctx, "a broadcast is over without an end", "file", r.name(), "why", err)
			if err := r.leave(ctx, err); err != nil {
				return err
			}
			break
		}
		if err == nil {
			err = r.add(ctx, f, s)
		}
		if err != nil {
			return err
		}
	}
	return r.end(ctx, f)
}

// end completes the file of a match that is over.
func (r *run) end(ctx context.Context, f *os.File) error {
	offsets := r.state.Demo.Offsets()
	if err := r.retry(ctx, "completing", func() error {
		_, err := f.WriteAt(offsets[:], broadcast.OffsetsAt)
		return err
	}); err != nil {
		return err
	}
	r.state.Over = true
	return r.store(ctx)
}

// step is what a body adds to the file.
type step struct {
	added []byte
	demo  broadcast.Demo // behind it
}

// join finds out where the broadcast is, and returns the steps with which a file begins, once the relay has their bodies. The state has
// then the name of the file.
func (r *run) join(ctx context.Context) ([]step, error) {
	for n := 0; ; n++ {
		at, steps, err := r.joinOnce(ctx)
		if err == nil {
			r.Log.InfoContext(ctx, "following a broadcast", "file", r.name(), "fragment", at.Fragment)
			if err := r.retry(ctx, "noting the file before", func() error { return r.dir.precede(&r.state) }); err != nil {
				return nil, err
			}
			return steps, r.store(ctx)
		}
		if err := r.failed(ctx, n, err); err != nil {
			return nil, err
		}
	}
}

// joinOnce sets the state if it succeeds: a file begins only with bodies that are whole.
func (r *run) joinOnce(ctx context.Context) (at place, steps []step, err error) {
	if at, err = r.source.sync(ctx, r.from); err != nil {
		return at, nil, err
	}
	if n := r.from.fragment; at.TokenRedirect == r.from.token && at.Fragment < n && at.Fragment >= n-maxBehind { // else it is another match
		return at, nil, fmt.Errorf("sync: fragment %d, which is written: %w", at.Fragment, errAbsent)
	}
	label, name, err := r.dir.free(time.Now(), r.state.last)
	if err != nil {
		return at, nil, fmt.Errorf("naming the recording of a broadcast: %w", err)
	}
	begin := broadcast.Demo{Label: "replayd " + label}
	demo := begin
	for part, fragment := range []int{at.SignupFragment, at.Fragment} {
		body, err := r.source.fragment(ctx, at.TokenRedirect, fragment, broadcast.Part(part))
		if err != nil {
			return at, nil, err
		}
		added, err := demo.Append(nil, broadcast.Part(part), body)
		if err != nil {
			return at, nil, err
		}
		steps = append(steps, step{added, demo})
	}
	identity, err := identityOf(bytes.NewReader(steps[0].added))
	if err != nil {
		return at, nil, err
	}
	r.state = state{
		Of: r.of, Token: at.TokenRedirect, Signup: at.SignupFragment, File: name, Next: at.Fragment, Interval: at.interval(), Demo: begin,
		Identity: identity, Previous: r.state.Previous, last: r.state.last,
	}
	return at, steps, nil
}

// next returns the next step, once the relay has its body.
func (r *run) next(ctx context.Context) (step, error) {
	var failures, damaged, absences int
	missed := time.Now() // since when the relay answers that it does not have the body
	number := r.state.Next
	if r.state.Demo.Next == broadcast.Start { // the process ended before it was written
		number = r.state.Signup
	}
	for {
		body, err := r.source.fragment(ctx, r.state.Token, number, r.state.Demo.Next)
		if err == nil {
			s := step{demo: r.state.Demo}
			if s.added, err = s.demo.Append(nil, s.demo.Next, body); err == nil {
				return s, nil
			}
			if errors.Is(err, broadcast.ErrBack) {
				return step{}, fmt.Errorf("fragment %d: %w: %w", number, errHole, err)
			}
			if damaged++; damaged == maxDamaged {
				return step{}, fmt.Errorf("fragment %d: %w: %w", number, errDamaged, err)
			}
		}
		if errors.Is(err, errAbsent) {
			failures = 0
			r.Metrics.body(absent)
			r.Metrics.lag(r.Match, r.source.lag(r.state.Demo.Last, true))
			absences++
			if absences < minAbsences || time.Since(missed) < 2*r.state.Interval {
				continue // the relay is asked again as soon as it may be
			}
			missed = time.Now().Add(-r.state.Interval)
			if err = r.look(ctx); err == nil {
				continue
			}
		} else {
			missed, absences = time.Now(), 0
		}
		if err := r.failed(ctx, failures, err); err != nil {
			return step{}, err
		}
		failures++
	}
}

// look finds out why the relay does not have the next body. It returns nil if it should be asked again.
func (r *run) look(ctx context.Context) error {
	at, err := r.source.sync(ctx, next{})
	silence := cmp.Or(r.Silence, defaultSilence)
	switch {
	case err != nil:
		return err
	case at.SignupFragment != r.state.Signup || at.TokenRedirect != r.state.Token || at.Fragment < r.state.Next-maxBehind:
		return errNew
	case at.Fragment > r.state.Next:
		return fmt.Errorf("fragment %d, and the oldest is %d: %w", r.state.Next, at.Fragment, errHole)
	case at.ReceiveAge >= silence.Seconds():
		return errSilent
	}
	return nil
}

// maxBehind is how many fragments sync may be behind the newest one: relays answer with one that all of their caches have.
const maxBehind = 40

// failed waits after the nth failure, from 0. It returns the error if asking again cannot help.
func (r *run) failed(ctx context.Context, n int, err error) error {
	var damage *decoders.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errRefused) || errors.Is(err, errHole) || errors.Is(err, errNew) || errors.Is(err, errSilent) || errors.Is(err, errAddress):
		return err
	case errors.As(err, &damage):
		r.Metrics.body(corrupt)
	case errors.Is(err, errAbsent):
		r.Metrics.body(absent)
	default:
		r.Metrics.body(failed)
	}
	r.Log.InfoContext(ctx, "a relay of a broadcast fails; it is asked again", "dir", r.Dir, "error", err)
	return sleep(ctx, pause(n, r.pace))
}

// add writes a step to the file, and stores the state behind it.
func (r *run) add(ctx context.Context, f *os.File, s step) error {
	part, at := r.state.Demo.Next, r.state.Demo.Size
	if err := r.retry(ctx, "writing", func() error { return write(f, at, s.added) }); err != nil {
		return err
	}
	r.Metrics.body(written)
	r.state.Demo = s.demo
	if part == broadcast.Delta {
		r.Metrics.lag(r.Match, r.source.lag(r.state.Demo.Last, false))
	}
	if part == broadcast.Delta {
		r.state.Next++
		r.wrote++
	}
	return r.store(ctx)
}

// store stores the state.
func (r *run) store(ctx context.Context) error {
	return r.retry(ctx, "noting", func() error { return r.dir.store(&r.state) })
}

// retry does something with a file until it succeeds, as after a disk was full, or ctx ends, or the file has other bytes or is gone.
func (r *run) retry(ctx context.Context, doing string, f func() error) error {
	for n := 0; ; n++ {
		err := f()
		if err == nil || errors.Is(err, broadcast.ErrResume) || errors.Is(err, errGone) {
			return err
		}
		r.Log.ErrorContext(ctx, "a recording of a broadcast waits", "doing", doing, "file", r.name(), "error", err)
		if err := sleep(ctx, pause(n, time.Second)); err != nil {
			return err
		}
	}
}
