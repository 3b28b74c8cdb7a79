package facts

import "github.com/replayd/replayd/decoders/sc2replay"

// said makes the fact of a message.
func (f *Fold) said(ev *sc2replay.Event) {
	from := f.match.person(ev)
	f.chat = sc2replay.FactChat{
		Name: ev.Player.Name, Recipient: ev.Chat.Recipient, Text: ev.Chat.Text, Recipients: f.chat.Recipients[:0],
		Observer: from != nil && from.info.Observer,
	}
	if !ev.HasPlayer {
		f.chat.Name = nil
	}
	for i := range f.match.people {
		if p := &f.match.people[i]; p != from && !p.left && !p.info.Computer && reaches(ev.Chat.Recipient, from, p) {
			f.chat.Recipients = append(f.chat.Recipients, p.info.Ref)
		}
	}
	f.ready = append(f.ready, fact{kind: sc2replay.KindFactChat})
}

// reaches reports whether somebody else can read a message.
func reaches(to sc2replay.Recipient, from, p *person) bool {
	switch {
	case to == sc2replay.RecipientAll:
		return true
	case from == nil:
		return false
	case to == sc2replay.RecipientObservers || to == sc2replay.RecipientAllies && from.info.Observer:
		return p.info.Observer
	}
	return to == sc2replay.RecipientAllies && !p.info.Observer && p.info.Team == from.info.Team
}
