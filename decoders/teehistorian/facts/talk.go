package facts

import (
	"bytes"
	"strconv"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// The bits of a command's flags, and the ids of commands that no client gave. Commands of other files have ids below the map's.
const (
	flagServer = 4
	flagChat   = 128
	mapClient  = -2
)

// said makes the fact of what a client said, or of a vote.
func (f *Fold) said(m *teehistorian.Message) {
	c := f.client(m.ClientId)
	switch m.ContentCase {
	case teehistorian.MessageContentSay:
		if e := &m.Say; !typed(e.Text) {
			f.ready = append(f.ready, fact{kind: teehistorian.KindFactChat, chat: teehistorian.FactChat{
				ClientId: m.ClientId, Name: c.name, RequestedName: c.asked, Team: f.teamOf(m.ClientId),
				Mode: e.Mode, TargetClientId: e.TargetClientId, Text: e.Text,
			}})
		}
	case teehistorian.MessageContentCallVote:
		e := &m.CallVote
		out := teehistorian.FactCallVote{
			ClientId: m.ClientId, Name: c.name, RequestedName: c.asked, Type: e.Type, Value: e.Value, Reason: e.Reason, Force: e.Force,
			TargetClientId: subject(e),
		}
		if out.TargetClientId >= 0 {
			out.TargetName = f.client(out.TargetClientId).name
		}
		f.ready = append(f.ready, fact{kind: teehistorian.KindFactCallVote, call: out})
	case teehistorian.MessageContentVote:
		f.ready = append(f.ready, fact{kind: teehistorian.KindFactVote, vote: teehistorian.FactVote{
			ClientId: m.ClientId, Name: c.name, RequestedName: c.asked, Vote: m.Vote.Vote,
		}})
	}
}

// typed reports whether servers take a text for a command.
func typed(text []byte) bool {
	for i, c := range text {
		if c > ' ' {
			return text[i] == '/'
		}
	}
	return false
}

// subject returns the client whom a vote is about, or noClient.
func subject(e *teehistorian.CallVote) int32 {
	if !bytes.EqualFold(e.Type, []byte("kick")) && !bytes.EqualFold(e.Type, []byte("spectate")) {
		return noClient
	}
	return number(e.Value)
}

// number returns the client whose id a text is, or noClient.
func number(text []byte) int32 {
	id, err := strconv.ParseUint(string(text), 10, 16)
	if err != nil || id >= teehistorian.MaxClients {
		return noClient
	}
	return int32(id)
}

// commanded makes the fact of a command.
func (f *Fold) commanded(e *teehistorian.ConsoleCommand) {
	out := teehistorian.FactCommand{
		ClientId: max(e.ClientId, noClient), Source: sourceOf(e), Command: e.Command, Arguments: e.Arguments, Flags: e.Flags,
	}
	if e.ClientId >= 0 {
		c := f.client(e.ClientId)
		out.Name, out.RequestedName = c.name, c.asked
		if out.Source == teehistorian.CommandSourceRemoteConsole {
			out.AuthLevel, out.Role = c.level, c.role
		}
	}
	f.ready = append(f.ready, fact{kind: teehistorian.KindFactCommand, command: out})
}

// sourceOf returns the source of a command.
func sourceOf(e *teehistorian.ConsoleCommand) teehistorian.CommandSource {
	switch {
	case e.ClientId < mapClient:
		return teehistorian.CommandSourceFile
	case e.ClientId == mapClient:
		return teehistorian.CommandSourceMap
	case e.ClientId == noClient:
		return teehistorian.CommandSourceServer
	case e.Flags&flagServer != 0:
		return teehistorian.CommandSourceRemoteConsole
	case e.Flags&flagChat != 0:
		return teehistorian.CommandSourceChat
	}
	return teehistorian.CommandSourceUnspecified
}
