package teehistorian

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
)

// CopyOptions say what a copy is to hold.
type CopyOptions struct {
	// From and To are the ticks of which events are copied, both included; nil is from the start, and to the end.
	From, To *int32
	// Redact withholds what Redact does.
	Redact bool
	// GameUUID is the copy's, in text form; empty means a new one. It must not be that of the original, for positions in the
	// copy are others.
	GameUUID string
}

// Copy writes a copy of a file to dst that every reader of the format reads. It has a game UUID of its own, names no game
// before it, and says in its header, by the key "copied_from", what it is a copy of. A copy that begins later has, in tick 0,
// records that say who is there then, and in the tick before From where their characters are; ticks keep their numbers. A
// file that stops without an end is copied so, unless To comes before. Copy returns the *decoders.Error of a file that
// cannot be read on; what was copied before is in dst.
func Copy(dst io.Writer, src io.Reader, o CopyOptions) error {
	d := New(src, Options{})
	h, err := d.Header()
	if err != nil {
		return whole(d, err)
	}
	if o.GameUUID == "" {
		u := UUID{}
		_, _ = rand.Read(u[:]) // never fails
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
		o.GameUUID = u.String()
	}
	header, err := EditHeader(d.HeaderText(), map[string]string{
		"game_uuid": o.GameUUID, "prev_game_uuid": "", "copied_from": h.GameUUID,
	})
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(dst, 64<<10)
	w, err := NewWriter(buffered, header)
	if err != nil {
		return err
	}
	c := copier{d: d, w: w, o: o, began: o.From == nil || *o.From <= 0}
	return errors.Join(whole(d, c.run()), buffered.Flush())
}

// whole makes the end of a file that has no more bytes one of a *decoders.Error, or nil when it stops between two records or
// in one: that is copied as it is.
func whole(d *Decoder, err error) error {
	switch {
	case errors.Is(err, decoders.ErrMore) && d.header == nil:
		return d.Close()
	case errors.Is(err, decoders.ErrMore), errors.Is(err, io.EOF):
		return nil
	}
	return err
}

type copier struct {
	d     *Decoder
	w     *Writer
	o     CopyOptions
	began bool
}

func (c *copier) run() error {
	var ev Event
	for {
		at := c.d.w.Offset()
		if err := c.d.Next(&ev); err != nil {
			if !c.began && errors.Is(err, io.EOF) { // it is over before what was asked for begins
				return c.w.Write(&Event{Kind: KindFinish})
			}
			return err
		}
		if c.o.To != nil && ev.AtTick > *c.o.To {
			return c.w.Write(&Event{AtTick: c.w.tick, Kind: KindFinish})
		}
		if !c.began {
			if ev.AtTick < *c.o.From {
				continue
			}
			// A tick begins with its event, which changes nothing that is known of clients.
			c.began = true
			if err := c.begin(*c.o.From); err != nil {
				return err
			}
			if ev.Kind == KindTick {
				ev.Tick = Tick{Skipped: ev.AtTick - c.w.tick - 1}
			}
		}
		record := c.d.w.Behind(int(c.d.w.Offset() - at))
		if c.o.Redact && ev.Kind != KindTick {
			if Redact(&ev); redactedEvent(&ev) {
				if err := c.w.Write(&ev); err != nil {
					return err
				}
				continue
			}
		}
		if err := c.w.WriteRecord(&ev, record); err != nil {
			return err
		}
	}
}

// redactedEvent reports whether something was withheld of an event.
func redactedEvent(ev *Event) bool {
	switch ev.Kind {
	case KindConsoleCommand:
		return ev.ConsoleCommand.Redacted
	case KindMessage:
		return ev.Message.Redacted
	case KindDdnetver:
		return ev.Ddnetver.Redacted
	case KindAntibot:
		return ev.Antibot.Redacted
	case KindUnknownEx:
		return ev.UnknownEx.Redacted
	}
	return false
}

// begin writes the state before a tick: who is there, by the records with which servers say so after a change of the map, and
// then the characters.
func (c *copier) begin(tick int32) error {
	s := c.d.State()
	for id, client := range s.Clients() {
		if !client.Present {
			continue
		}
		for _, ev := range introduce(id, &client) {
			if err := c.w.Write(&ev); err != nil {
				return err
			}
		}
	}
	for team, on := range s.practice {
		if on {
			ev := Event{Kind: KindTeamPractice, TeamPractice: TeamPractice{Team: int32(team), Practice: true}}
			if err := c.w.Write(&ev); err != nil {
				return err
			}
		}
	}
	for id, client := range s.Clients() {
		if client.Alive && tick > 1 {
			ev := Event{AtTick: tick - 1, Kind: KindPlayerNew, PlayerNew: PlayerNew{ClientId: id, X: client.X, Y: client.Y}}
			if err := c.w.Write(&ev); err != nil {
				return err
			}
		}
	}
	return nil
}

// introduce returns the events that say who a client is.
func introduce(id int32, c *Client) []Event {
	var list []Event
	switch c.Protocol {
	case ProtocolSix:
		list = append(list, Event{Kind: KindJoinver6, Joinver6: Joinver6{ClientId: id}})
	case ProtocolSeven:
		list = append(list, Event{Kind: KindJoinver7, Joinver7: Joinver7{ClientId: id}})
	}
	list = append(list, Event{Kind: KindJoin, Join: Join{ClientId: id}})
	if c.NameEffective {
		list = append(list, Event{Kind: KindPlayerName, PlayerName: PlayerName{ClientId: id, Name: c.Name}})
	}
	if c.HasInfo {
		list = append(list, Event{Kind: KindMessage, Message: Message{ClientId: id, Raw: startInfo(c)}})
	}
	if c.Version != 0 {
		list = append(list, Event{Kind: KindDdnetver, Ddnetver: Ddnetver{ClientId: id, Version: c.Version, VersionText: c.VersionText}})
	}
	if len(c.Role) > 0 || c.AuthLevel != AuthLevelUnspecified {
		list = append(list, Event{Kind: KindAuthLogin, AuthLogin: AuthLogin{ClientId: id, Level: c.AuthLevel, Role: c.Role}})
	}
	if c.Team != 0 {
		list = append(list, Event{Kind: KindPlayerTeam, PlayerTeam: PlayerTeam{ClientId: id, Team: c.Team}})
	}
	if c.Ready {
		list = append(list, Event{Kind: KindPlayerReady, PlayerReady: PlayerReady{ClientId: id}})
	}
	if c.HasInput {
		list = append(list, Event{Kind: KindInputNew, InputNew: InputNew{ClientId: id, Input: c.Input, HasInput: true}})
	}
	return list
}

// startInfo is the message by which a client says who it is.
func startInfo(c *Client) []byte {
	w := &Writer{}
	if c.Protocol == ProtocolSeven || !c.HasSkin {
		w.ints(27 << 1)
	} else {
		w.ints(20 << 1)
	}
	w.text(c.Name)
	w.text(c.Clan)
	w.ints(c.Country)
	if c.Protocol != ProtocolSeven && c.HasSkin {
		w.text(c.Skin.Name)
		w.ints(int32(truth(c.Skin.UseCustomColor)), c.Skin.ColorBody, c.Skin.ColorFeet)
		return w.b
	}
	parts := make([]SkinPart, skinPartCount)
	copy(parts, c.SkinParts)
	for i := range parts {
		w.text(parts[i].Name)
	}
	for i := range parts {
		w.ints(int32(truth(parts[i].UseCustomColor)))
	}
	for i := range parts {
		w.ints(parts[i].Color)
	}
	return w.b
}
