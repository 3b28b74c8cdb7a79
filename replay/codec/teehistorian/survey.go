package teehistorian

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// surveyWork is the number of events that are decoded between two pauses, in about a millisecond.
const surveyWork = 16 << 10

// survey decodes a game for the facts that its header lacks: the players, the length, and whether it has an end.
func survey(
	in source.Input, from *codec.Survey, roster func(r *replaydv1.Replay) []byte, pause func() error,
) (*codec.Survey, error) {
	d, err := surveyor(in, from, roster)
	if err != nil {
		return nil, err
	}
	s := &codec.Survey{}
	seen := map[string]bool{}
	if from != nil {
		s.Names = slices.Clone(from.Names)
		for _, name := range s.Names {
			seen[name] = true
		}
	}
	note := func(id int32) {
		c := d.State().Client(id)
		if len(c.Name) == 0 || len(s.Names) == codec.MaxNames || seen[string(c.Name)] {
			return
		}
		name := strings.ToValidUTF8(string(c.Name), "\uFFFD")
		seen[string(c.Name)] = true
		s.Names = append(s.Names, name)
	}
	h, err := d.Header() // it is known
	if err != nil {
		return nil, err
	}
	who := newSessions(h.PrevGameUUID != "", nil)
	if from != nil {
		who = newSessions(h.PrevGameUUID != "", from.Participants)
	}
	err = surveyEvents(d, note, who, pause)
	s.Participants = who.encoded()
	s.Offset, s.LastTick, s.Ended, s.Roster = d.Position().Offset, d.Tick(), errors.Is(err, io.EOF), d.Roster(nil)
	if _, damaged := errors.AsType[*decoders.Error](err); damaged {
		s.Broken = true
		return s, nil
	}
	if !s.Ended {
		s.State = d.Snapshot(nil)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, decoders.ErrMore) {
		err = nil
	}
	return s, err
}

// surveyor returns a decoder that continues where an earlier survey ended.
func surveyor(in source.Input, from *codec.Survey, roster func(r *replaydv1.Replay) []byte) (*teehistorian.Decoder, error) {
	src, err := in.From(0)
	if err != nil {
		return nil, err
	}
	d := teehistorian.New(src, teehistorian.Options{})
	h, err := d.Header()
	if err != nil {
		return nil, err
	}
	if from != nil && from.State != nil {
		src, err := in.From(from.Offset)
		if err != nil {
			return nil, err
		}
		if d, err = teehistorian.Restore(decoders.NewWindow(src, from.Offset, teehistorian.MaxWindow), h, from.State); err != nil {
			return nil, err
		}
	}
	r := new(replaydv1.Replay)
	if addHeader(r, h, false); roster != nil {
		if before := roster(r); before != nil {
			_ = d.Carry(before) // an unusable roster is treated like none
		}
	}
	return d, nil
}

// surveyEvents decodes to the end and notes each client whose name may have changed.
func surveyEvents(d *teehistorian.Decoder, note func(id int32), who *sessions, pause func() error) error {
	var ev teehistorian.Event
	for n := 1; ; n++ {
		if err := d.Next(&ev); err != nil {
			return err
		}
		who.add(d, &ev)
		switch ev.Kind {
		case teehistorian.KindPlayerName:
			note(ev.PlayerName.ClientId)
		case teehistorian.KindJoin: // carried over, with its name
			note(ev.Join.ClientId)
		case teehistorian.KindMessage:
			if c := ev.Message.ContentCase; c == teehistorian.MessageContentStartInfo || c == teehistorian.MessageContentChangeInfo {
				note(ev.Message.ClientId)
			}
		}
		if n%surveyWork == 0 {
			if err := pause(); err != nil {
				return err
			}
		}
	}
}
