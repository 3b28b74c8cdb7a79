package teehistorian

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io"
	"slices"

	"github.com/replayd/replayd/decoders"
)

// CopyOptions select the contents of a copy.
type CopyOptions struct {
	// From and To are the first and the last tick to copy. Nil means from the start, or to the end.
	From, To *int32
	// Redact applies Redact to each event and Redacted to the header, and leaves out bytes after the contents of a record.
	Redact bool
	// Reveal are the kinds of secrets that Redact leaves.
	Reveal decoders.Secrets
	// GameUUID is the copy's game UUID in text form. Empty means a new one. It must differ from the original's, because
	// positions in the copy differ.
	GameUUID string
}

// Copy writes a copy of the file in src to dst. Every reader of the format can read it. The copy has its own game UUID
// and no previous game. The header key "copied_from" holds the original's game UUID. Ticks keep their numbers.
//
// A copy that begins later has records in tick 0 that describe the clients present at From. The tick before From has
// the positions of their characters. If the original stops without an end, so does the copy, unless To comes first. For
// a file that cannot be read on, Copy returns its *decoders.Error, and dst holds the part before the error.
func Copy(dst io.Writer, src io.Reader, o CopyOptions) error {
	d := New(src, Options{})
	h, err := d.Header()
	if err != nil {
		return copyError(d, err)
	}
	if o.GameUUID == "" {
		u := UUID{}
		_, _ = rand.Read(u[:]) // never fails
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
		o.GameUUID = u.String()
	}
	text := d.HeaderText()
	if o.Redact && !o.Reveal.Has(decoders.SecretPasswords) {
		if text, err = redactHeader(text); err != nil {
			return err
		}
	}
	header, err := EditHeader(text, map[string]string{
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
	return errors.Join(copyError(d, c.run()), buffered.Flush())
}

// copyError returns the error of a copy whose source ended with err. It returns nil when the source stops between two
// records or inside one, because the copy then stops there too. A source that ends inside its header gets a
// *decoders.Error.
func copyError(d *Decoder, err error) error {
	switch {
	case errors.Is(err, decoders.ErrMore) && (d.header == nil || d.searching()):
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
			if !c.began && errors.Is(err, io.EOF) { // the game ended before From
				return c.w.Write(&Event{Kind: KindFinish})
			}
			return err
		}
		if ev.Kind == KindDamage { // a copy of the later records would not show it
			return decoders.Errorf(decoders.Teehistorian, ev.Damage.From, ev.AtTick, "records", decoders.ErrCorrupt,
				"those up to byte %d are none that a server writes: %s", ev.Damage.To, ev.Damage.Reason)
		}
		if c.o.To != nil && ev.AtTick > *c.o.To {
			return c.w.Write(&Event{AtTick: c.w.tick, Kind: KindFinish})
		}
		if !c.began {
			if ev.AtTick < *c.o.From {
				continue
			}
			// A tick's own event comes first in the tick. It does not change the clients' state, so the state before
			// the tick can still be written here.
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
			if Redact(&ev, c.o.Reveal); isRedacted(&ev) || slices.Contains(ev.Warnings, WarningTrailingData) {
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

// isRedacted reports whether a part of an event was withheld.
func isRedacted(ev *Event) bool {
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

// begin writes the state before a tick: first the present clients, with the records that servers write after a map change, then
// the characters' positions.
func (c *copier) begin(tick int32) error {
	s := c.d.State()
	for id, client := range s.Clients() {
		if !client.Present {
			continue
		}
		for _, ev := range clientEvents(id, &client) {
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

// clientEvents returns the events that describe a client.
func clientEvents(id int32, c *Client) []Event {
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

// startInfo returns the message with which a client introduces itself.
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
		w.ints(int32(boolByte(c.Skin.UseCustomColor)), c.Skin.ColorBody, c.Skin.ColorFeet)
		return w.b
	}
	parts := make([]SkinPart, skinPartCount)
	copy(parts, c.SkinParts)
	for i := range parts {
		w.text(parts[i].Name)
	}
	for i := range parts {
		w.ints(int32(boolByte(parts[i].UseCustomColor)))
	}
	for i := range parts {
		w.ints(parts[i].Color)
	}
	return w.b
}
