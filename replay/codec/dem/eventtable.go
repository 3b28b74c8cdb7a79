package dem

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/internal/nearest"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/table"
)

// otherKeys is the column with the keys of an event that have no column, or a value of another type than their column. A demo that describes
// an event anew has such, and so may a damaged one.
const otherKeys = "replayd_other_keys"

// eventFormat returns the format whose table of game events has a column for each key that the demo describes for the events with a name.
func eventFormat(d *dem.Decoder, name string) (*table.Format, error) {
	refuse := func(problem string) error {
		return &filter.FieldError{Field: "include[0].dem.types[0]", Problem: problem + ": game_event has what is sent"}
	}
	described, all := d.EventKeys(name), d.EventNames()
	switch {
	case len(all) == 0:
		return nil, &filter.FieldError{Field: "field_columns", Problem: "the demo has described no game events so far, of which only it knows the keys"}
	case len(described) == 0:
		return nil, &filter.FieldError{Field: "include[0].dem.types[0]", Problem: fmt.Sprintf("the demo has no game event %q%s", name, nearest.Hint(name, all...))}
	}
	for _, keys := range described[1:] {
		if !slices.Equal(keys, described[0]) {
			return nil, refuse(fmt.Sprintf("the demo describes two game events %q with different keys", name))
		}
	}
	columns, left := eventColumns(described[0], name)
	switch {
	case columns == nil:
		return nil, refuse(fmt.Sprintf("two columns of the game event %q would have one name", name))
	case strings.ContainsFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }): // files have it
		return nil, refuse(fmt.Sprintf("no table has the name of the game event %q", name))
	}
	f := &table.Format{Name: Tables.Name, Event: Tables.Event, Kinds: slices.Clone(Tables.Kinds)}
	k := &f.Kinds[dem.KindGameEvent]
	k.Name, k.Comment = k.Name+"."+name, "Game events "+name+"."
	if left > 0 {
		k.Comment += fmt.Sprintf(" Without a column, because they have no name or a type that is not known: %d keys.", left)
	}
	k.Fields = slices.Concat(columns, []table.Field{{
		Name: otherKeys, Type: table.List, Fields: []table.Field{{Name: "item", Type: table.Text}},
		Comment: "The keys of the event that have no column, or a value of another type than their column, by name, or number if they have none.",
	}})
	if len(columns) > maxFields || f.Layout(false).Overhead(uint8(dem.KindGameEvent)) > maxOverhead {
		return nil, refuse(fmt.Sprintf("the table of the game event %q would have too many columns", name))
	}
	return f, nil
}

// beforeKeys returns the columns of all tables, which precede those of keys.
func beforeKeys() []table.Field {
	all := Tables.Layout(true).Fields(uint8(dem.KindGameEvent))
	return all[:len(all)-len(Tables.Kinds[dem.KindGameEvent].Fields)]
}

// named reports whether one of the columns has a name.
func named(columns []table.Field, name string) bool {
	return slices.ContainsFunc(columns, func(c table.Field) bool { return c.Name == name })
}

// eventColumns returns the columns of keys, and how many have none. A key with the name of a column of all tables gets that of the event in
// front. Behind a key with a player, or with a number that has a name, come columns of the type Name, which no key has, and of the Steam id,
// unless other keys have their names. No columns are returned if two would have one name.
func eventColumns(keys []dem.EventKey, event string) (columns []table.Field, left int) {
	before := beforeKeys()
	called := func(key string) string {
		if named(before, key) {
			return event + "_" + key
		}
		return key
	}
	own := map[string]bool{otherKeys: true}
	for _, k := range keys {
		name := called(k.Name)
		if own[name] {
			return nil, 0
		}
		own[name] = true
	}
	columns = []table.Field{}
	for _, k := range keys {
		if k.Name == "" || !utf8.ValidString(k.Name) || k.Case == dem.GameEventKeyValueNone {
			left++
			continue
		}
		c := keyColumns[k.Case]
		c.Name = called(k.Name)
		name := table.Field{Name: c.Name + "_name", Type: table.Name, Nullable: true}
		steam := table.Field{Name: c.Name + "_steam_id", Type: table.Uint64, Nullable: true, Comment: "The player's Steam id. 0 for bots."}
		switch {
		case k.Case == dem.GameEventKeyValuePlayer && !own[name.Name] && !own[steam.Name]:
			c.Comment = "The player's slot. -1, as the game sends it, for nobody."
			name.Comment = "The name of the player in the slot."
			columns = append(columns, c, name, steam)
		case k.Named && !own[name.Name]:
			name.Comment = "What the number stands for."
			columns = append(columns, c, name)
		default:
			columns = append(columns, c)
		}
	}
	return columns, left
}

// keyColumns are the types of columns by the cases of values.
var keyColumns = [...]table.Field{
	dem.GameEventKeyValueText:   {Type: table.Text, Nullable: true},
	dem.GameEventKeyValueFloat:  {Type: table.Float32, Nullable: true},
	dem.GameEventKeyValueInt:    {Type: table.Int64, Nullable: true},
	dem.GameEventKeyValueBool:   {Type: table.Bool, Nullable: true},
	dem.GameEventKeyValueUint:   {Type: table.Uint64, Nullable: true},
	dem.GameEventKeyValueHandle: {Type: table.Uint32, Nullable: true},
	dem.GameEventKeyValuePlayer: {Type: table.Int32, Nullable: true},
}

// eventTable appends game events to a table that has a column for each key.
type eventTable struct {
	keys   []eventKey
	places map[string]int // of keys, by name
	values []*dem.GameEventKey
	others [][]byte
}

// eventKey is a key with a column.
type eventKey struct {
	of    dem.GameEventKeyValueCase
	width int // in columns: 2 with names, 3 with names and Steam ids
}

// eventOf returns the name of the game events whose table has a column for each key, and nothing for other layouts.
func eventOf(l *table.Layout) string {
	_, event, _ := strings.Cut(l.Format.Kinds[dem.KindGameEvent].Name, ".")
	return event
}

// newEventTable returns what appends game events to the tables of a layout, nil if these are as generated.
func newEventTable(l *table.Layout) *eventTable {
	event := eventOf(l)
	if event == "" {
		return nil
	}
	t, before := &eventTable{places: map[string]int{}}, beforeKeys()
	for columns := l.Format.Kinds[dem.KindGameEvent].Fields; len(columns) > 1; {
		key := columns[0].Name
		if short, cut := strings.CutPrefix(key, event+"_"); cut && named(before, short) {
			key = short
		}
		k := eventKey{width: 1, of: dem.GameEventKeyValueCase(slices.IndexFunc(keyColumns[:], func(f table.Field) bool { return f.Type == columns[0].Type && f.Nullable }))}
		switch {
		case columns[1].Type != table.Name:
		case k.of == dem.GameEventKeyValuePlayer:
			k.width = 3
		default:
			k.width = 2
		}
		t.places[key] = len(t.keys)
		t.keys, columns = append(t.keys, k), columns[k.width:]
	}
	t.values = make([]*dem.GameEventKey, len(t.keys))
	return t
}

// add appends a game event.
func (t *eventTable) add(to *table.Set, at decoders.Position, tick int32, e *dem.GameEvent) {
	clear(t.values)
	t.others = t.others[:0]
	for i := range e.Keys {
		k := &e.Keys[i]
		place, ok := t.places[string(k.Name)]
		switch {
		case ok && k.ValueCase == t.keys[place].of && t.values[place] == nil:
			t.values[place] = k
		case len(k.Name) > 0:
			t.others = append(t.others, k.Name)
		default:
			t.others = append(t.others, strconv.AppendInt(nil, int64(i), 10))
		}
	}
	c := to.Begin(uint8(dem.KindGameEvent), at, tick)
	for i := range t.keys {
		t.keys[i].append(c, t.values[i])
		c = c[t.keys[i].width:]
	}
	c[0].Items(len(t.others))
	for _, name := range t.others {
		c[1].Text(name)
	}
}

// append appends a value, which may be missing, to the columns of a key.
func (k *eventKey) append(c []table.Column, v *dem.GameEventKey) {
	if v == nil {
		for i := range k.width {
			c[i].Null()
		}
		return
	}
	name := v.ValueName
	switch k.of {
	case dem.GameEventKeyValueText:
		c[0].Text(v.Text)
	case dem.GameEventKeyValueFloat:
		c[0].Float32(v.Float)
	case dem.GameEventKeyValueInt:
		c[0].Int64(v.Int)
	case dem.GameEventKeyValueBool:
		c[0].Bool(v.Bool)
	case dem.GameEventKeyValueUint:
		c[0].Uint64(v.Uint)
	case dem.GameEventKeyValueHandle:
		c[0].Uint32(v.Handle)
	case dem.GameEventKeyValuePlayer:
		c[0].Int32(v.Player)
		name = v.PlayerName
	}
	if k.width > 1 {
		if len(name) > 0 {
			c[1].Name(name)
		} else {
			c[1].Null()
		}
	}
	if k.width > 2 {
		if v.HasSteamId {
			c[2].Uint64(v.SteamId)
		} else {
			c[2].Null()
		}
	}
}
