package verify

import (
	"context"
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
)

const (
	ticksPerSecond = 50
	// maxPlayers and maxRuns bound a report. What comes later counts only in its sums.
	maxPlayers = 1 << 14
	maxRuns    = 1 << 12
	// finished is the end of a recording that the server has closed.
	finished = "finished"
	// pauseEvery is how many events pass until the context is looked at.
	pauseEvery = 1 << 12
)

// Recording is a recording that is about to be verified.
type Recording struct {
	decoder *teehistorian.Decoder
	header  *teehistorian.Header
}

// Open reads the header of a recording. The error for games with other rules wraps decoders.ErrUnsupported.
func Open(src io.Reader) (*Recording, error) {
	d := teehistorian.New(src, teehistorian.Options{})
	h, err := d.Header()
	if errors.Is(err, decoders.ErrMore) {
		err = d.Close()
	}
	if err != nil {
		return nil, err
	}
	if err := physics.Supports(h); err != nil {
		return nil, err
	}
	return &Recording{decoder: d, header: h}, nil
}

// Header returns the recording's header.
func (r *Recording) Header() *teehistorian.Header { return r.header }

// run is what is known of a client's present stay.
type stay struct {
	player  *Player // nil if there are too many
	running bool
	run     Part
	finish  *float64 // seconds of the finish that the server has saved in this tick
	ended   int32    // the tick in which the stay ended, -1 before
}

// verifier makes a report.
type verifier struct {
	recording *Recording
	report    Report
	players   []*Player
	rest      Part // of players that are too many
	stays     map[int32]*stay
	covered   map[physics.Effect]*Coverage
}

// Verify plays the recording on its map. A recording that is cut or damaged gives a report of what is before that, whose End says so.
func (r *Recording) Verify(ctx context.Context, m *physics.Map) (*Report, error) {
	v := &verifier{recording: r, stays: map[int32]*stay{}, covered: map[physics.Effect]*Coverage{}}
	v.report = Report{MapName: r.header.MapName, MapSHA256: r.header.MapSHA256, ServerVersion: r.header.ServerVersion, End: finished}
	w := physics.New(r.header, m, v.result)
	events := 0
	for ev, err := range decoders.All(r.decoder) {
		if errors.Is(err, decoders.ErrTruncated) {
			v.report.End = "truncated"
			break
		}
		if err != nil {
			v.report.End = err.Error()
			break
		}
		if events++; events%pauseEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		w.Apply(ev)
		v.apply(ev)
	}
	if v.report.End == finished { // otherwise the last tick may lack moves
		w.Close()
	}
	return v.done(), nil
}

// apply follows who stays, and what the server saved.
func (v *verifier) apply(ev *teehistorian.Event) {
	switch ev.Kind {
	case teehistorian.KindPlayerFinish:
		seconds := float64(ev.PlayerFinish.Time) / ticksPerSecond
		v.stay(ev.PlayerFinish.ClientId).finish = &seconds
	case teehistorian.KindDrop:
		if s := v.stays[ev.Drop.ClientId]; s != nil {
			s.ended = ev.AtTick
		}
	case teehistorian.KindPlayerOld:
		if s := v.stays[ev.PlayerOld.ClientId]; s != nil {
			s.running = false
		}
	}
}

func (v *verifier) stay(id int32) *stay {
	s := v.stays[id]
	if s == nil {
		s = &stay{ended: -1}
		v.stays[id] = s
	}
	return s
}

// result takes what became of a character in a tick.
func (v *verifier) result(r *physics.Result) {
	s := v.stay(r.ClientID)
	if s.ended >= 0 && r.Tick > s.ended {
		*s = stay{ended: -1, finish: s.finish}
	}
	if s.player == nil && len(v.players) < maxPlayers {
		s.player = &Player{ClientID: r.ClientID, Runs: []Run{}}
		v.players = append(v.players, s.player)
	}
	part := &v.rest
	if s.player != nil {
		part = &s.player.Part
		if s.player.Name == "" {
			s.player.Name = string(v.recording.decoder.State().Client(r.ClientID).Name)
		}
	}
	part.add(r)
	v.cover(r)
	v.follow(s, r)
}

// follow follows a run.
func (v *verifier) follow(s *stay, r *physics.Result) {
	finish := s.finish
	s.finish = nil
	if r.New {
		s.running = false
		return
	}
	if s.running {
		s.run.add(r)
	}
	if r.Finish && s.running || finish != nil {
		v.finished(s, r, finish)
	}
	if r.Start {
		s.running = true
		s.run = Part{}
		s.run.add(r)
	}
}

// finished notes a run that ends.
func (v *verifier) finished(s *stay, r *physics.Result, seconds *float64) {
	run := Run{Part: s.run, RecordedSeconds: seconds}
	if !s.running { // a game that was loaded, or a rank without a run
		run.Part = Part{FirstTick: r.Tick, LastTick: r.Tick}
	}
	s.running = false
	run.conclude()
	run.Seconds = float64(run.LastTick-run.FirstTick) / ticksPerSecond
	if s.player != nil && len(s.player.Runs) < maxRuns {
		s.player.Runs = append(s.player.Runs, run)
	}
}

// done returns the report.
func (v *verifier) done() *Report {
	r := &v.report
	r.Coverage = v.coverage()
	r.sum(&v.rest)
	r.Players = make([]Player, 0, len(v.players))
	for i, p := range v.players {
		p.conclude()
		if i == 0 || p.FirstTick < r.FirstTick {
			r.FirstTick = p.FirstTick
		}
		r.LastTick = max(r.LastTick, p.LastTick)
		r.sum(&p.Part)
		r.Players = append(r.Players, *p)
	}
	r.conclude()
	return r
}
