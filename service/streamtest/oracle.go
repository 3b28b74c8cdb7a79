package streamtest

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/proto/eventjson"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

// Oracle has all events of a replay and decides which of them a request must receive. It follows only the documentation of
// filters and starts (proto/replayd/v1), and shares no code with the daemon's filters.
type Oracle struct {
	// Identity is the replay's identity.
	Identity string
	// End is the end of the whole stream, and Err is its status.
	End *replaydv1.StreamEnd
	Err error
	// State returns a session with the whole state at a position, or nil if there is none. The session must not come from the
	// code under test. State may be nil.
	State func(at decoders.Position) *Session

	format string
	kinds  map[string]properties // of all kinds of the format
	absent map[string]bool       // kinds that no replay of this game has
	events []event
	end    decoders.Position
	sum    decoders.Sum
	teams  map[int32]int32 // for StarCraft II: the team of each player

	numbers    [len(numberNames)]bool            // that expressions may compare
	conditions map[string]func(e *event) outcome // what expressions say, which a Maker has made
}

// event is an event with the properties that filters match.
type event struct {
	text    string
	at      decoders.Position
	kind    string
	tick    int32
	players []int32
	teams   []int32
	groups  []int32
	layers  []int32
	class   string
	typ     string
	numbers [len(numberNames)]*int32

	// For events with fields, head is the text before them, and tail is the text after them.
	head, tail string
	fields     []field
}

type field struct{ name, text string }

// Event is an event that a request must receive.
type Event struct {
	Text string
	At   decoders.Position
}

// NewOracle returns an oracle from a session of all events, with positions.
func NewOracle(s *Session) (*Oracle, error) {
	o := &Oracle{Err: s.Err, teams: map[int32]int32{}, conditions: map[string]func(e *event) outcome{}}
	var c canon
	for _, raw := range s.Responses {
		r, err := parse(raw)
		if err != nil {
			return nil, err
		}
		if at, err := cursor.Parse(r.cursor); err == nil {
			o.end, o.sum = behindSamples(at.Position), at.Sum
		}
		if r.batch == nil {
			c.tables.learn(r.message)
			o.note(r.message)
			continue
		}
		if err := o.add(&c, r.batch); err != nil {
			return nil, err
		}
	}
	for i := range o.events {
		o.events[i].about(o)
	}
	return o, nil
}

// note records a response without events.
func (o *Oracle) note(r *replaydv1.StreamEventsResponse) {
	if f := r.GetStart().GetReplay().GetFormat(); f != replaydv1.Format_FORMAT_UNSPECIFIED {
		o.format = strings.ToLower(strings.TrimPrefix(f.String(), "FORMAT_"))
		list := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(o.format))
		o.kinds, o.numbers = documented(o.format, list.Message(), r.GetStart().GetReplay().GetMapReplay() != "")
	}
	if end := r.GetEnd(); end != nil {
		o.End = end
	}
	replay := r.GetStart().GetReplay()
	if replay == nil {
		return
	}
	o.Identity = replay.GetIdentity()
	header := replay.GetDem().GetFileHeader()
	for _, of := range []string{header.GetGame(), header.GetGameDirectory()} {
		game := of[strings.LastIndexAny(of, `/\`)+1:]
		if o.absent = absentFrom[game]; o.absent != nil {
			break
		}
	}
}

// add records a batch.
func (o *Oracle) add(c *canon, b *batch) error {
	list := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor().Fields().ByNumber(b.field)
	if list == nil || list.Message() == nil {
		return fmt.Errorf("EventBatch has no event list number %d", b.field)
	}
	if string(list.Name()) != o.format {
		return fmt.Errorf("events of %s in a replay of %s", list.Name(), o.format)
	}
	texts, err := c.events(b)
	if err != nil {
		return err
	}
	if len(b.offsets) != len(texts) || len(b.indexes) != len(texts) {
		return fmt.Errorf("%d events have %d offsets and %d indexes", len(texts), len(b.offsets), len(b.indexes))
	}
	printer := c.lists[b.field].printer
	raw, names, err := printer.List(b.list, nil, nil)
	if err != nil {
		return err
	}
	for i, text := range texts {
		e := event{text: text, at: decoders.Position{Offset: b.offsets[i], Index: b.indexes[i]}}
		line, err := printer.AppendLine(nil, eventjson.Place{}, raw[i], names)
		if err != nil {
			return err
		}
		if err := e.read(line, o); err != nil {
			return fmt.Errorf("%w: %s", err, line)
		}
		o.events = append(o.events, e)
	}
	return nil
}

// about sets the properties of an event that depend on the whole replay.
func (e *event) about(o *Oracle) {
	if o.format != "sc2replay" {
		return
	}
	e.teams = nil
	if len(e.players) > 0 && e.players[0] != noPlayer {
		if team, ok := o.teams[e.players[0]]; ok {
			e.teams = []int32{team}
		}
	}
}

// noPlayer stands for the first player of an event that has only a second one.
const noPlayer = math.MinInt32

// body has the fields of an event's JSON that the oracle needs.
type body struct {
	ClientID      *int32 `json:"client_id"`
	OtherClientID *int32 `json:"other_client_id"`
	Team          *int32 `json:"team"`

	Layer *int32 `json:"layer"`
	Group *int32 `json:"group"`

	Class        string            `json:"class"`
	Fields       []json.RawMessage `json:"fields"`
	PlayerID     *int32            `json:"player_id"`
	PlayerSlot   *int32            `json:"player_slot"`
	AttackerSlot *int32            `json:"attacker_slot"`
	VictimSlot   *int32            `json:"victim_slot"`
	Slot         *int32            `json:"slot"`
	Players      json.RawMessage   `json:"players"` // of a chat_event numbers
	AttackerTeam uint32            `json:"attacker_team"`
	TargetTeam   uint32            `json:"target_team"`
	Attacker     json.RawMessage   `json:"attacker"`
	Killer       json.RawMessage   `json:"killer"` // of a demo an actor
	Victim       json.RawMessage   `json:"victim"`
	Player       json.RawMessage   `json:"player"`
	Actor        json.RawMessage   `json:"actor"`
	Buyer        json.RawMessage   `json:"buyer"`

	Ref            ref    `json:"ref"`
	Observer       bool   `json:"observer"`
	KillerPlayerID *int32 `json:"killer_player_id"`
	UpkeepPlayerID *int32 `json:"upkeep_player_id"`
	RecipientID    *int32 `json:"recipient_id"`

	// The types of events of a demo, by the fields that have them. In other formats these fields hold other things.
	Type     json.RawMessage `json:"type"`
	TypeName string          `json:"type_name"`
	Name     json.RawMessage `json:"name"`
	Table    json.RawMessage `json:"table"`
	Kind     json.RawMessage `json:"kind"`
	ID       json.RawMessage `json:"id"`
}

// typeOf returns the type of an event of a demo. It is empty if events of the kind have no types.
func (b *body) typeOf(kind string) string {
	text := func(list ...json.RawMessage) string {
		for _, raw := range list {
			if s := strings.Trim(string(raw), `"`); s != "" {
				return s
			}
		}
		return ""
	}
	switch kind {
	case "combat_log", "ability_change":
		return text(b.Type)
	case "chat_event", "order":
		return text(json.RawMessage(b.TypeName), b.Type)
	case "game_event", "message", "command":
		return text(b.Name, b.ID)
	case "modifier":
		return text(b.Name)
	case "string_table_entry":
		return text(b.Table)
	case "fault":
		return text(b.Kind)
	}
	return ""
}

type ref struct {
	PlayerID *int32 `json:"player_id"`
}

// read parses an event's line of JSON.
func (e *event) read(line []byte, o *Oracle) error {
	var top struct {
		Tick   int32  `json:"at_tick"`
		Kind   string `json:"kind"`
		Player *ref   `json:"player"`
	}
	if err := json.Unmarshal(line, &top); err != nil {
		return err
	}
	e.kind, e.tick = top.Kind, top.Tick
	has, ok := o.kinds[e.kind]
	if !ok {
		return fmt.Errorf("kind %q is not documented", e.kind)
	}
	if has == (properties{}) {
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil {
		return err
	}
	var b body
	if err := json.Unmarshal(all[e.kind], &b); err != nil {
		return err
	}
	e.numbers = [...]*int32{b.ClientID, b.Team, b.PlayerID, b.Layer, b.Group}
	switch o.format {
	case "teehistorian":
		e.players = append(some(b.ClientID), some(b.OtherClientID)...)
		e.teams = some(b.Team)
	case "sc2replay":
		e.playersOfSC2(top.Player, &b, o)
	case "dem":
		return e.readDem(line, &b)
	case "datafile":
		e.groups, e.layers = atLeastZero(b.Group), some(b.Layer)
	}
	return nil
}

func (e *event) playersOfSC2(about *ref, b *body, o *Oracle) {
	if e.kind == "player_info" && !b.Observer && b.Ref.PlayerID != nil && b.Team != nil {
		o.teams[*b.Ref.PlayerID] = *b.Team
	}
	e.players = []int32{noPlayer}
	if about != nil && about.PlayerID != nil {
		e.players[0] = *about.PlayerID
	}
	switch e.kind {
	case "unit_died":
		e.players = append(e.players, some(b.KillerPlayerID)...)
	case "unit_born", "unit_state":
		e.players = append(e.players, some(b.UpkeepPlayerID)...)
	case "resource_trade":
		e.players = append(e.players, some(b.RecipientID)...)
	}
}

// with returns the text of the event with the given fields.
func (e *event) with(fields []field) string {
	var texts []string
	for _, f := range fields {
		texts = append(texts, f.text)
	}
	return e.head + strings.Join(texts, ",") + e.tail
}

func some(n *int32) []int32 {
	if n == nil {
		return nil
	}
	return []int32{*n}
}

func atLeastZero(n *int32) []int32 {
	if n == nil || *n < 0 {
		return nil
	}
	return []int32{*n}
}

// matches reports whether an event meets all conditions of a filter except those on fields, according to the documentation.
// facts says whether a filter without kinds matches facts.
func (o *Oracle) matches(f *replaydv1.EventFilter, e *event, facts bool) bool {
	has := o.kinds[e.kind]
	one := func(asked, have []int32) bool {
		return len(asked) == 0 || slices.ContainsFunc(have, func(n int32) bool { return n != noPlayer && slices.Contains(asked, n) })
	}
	switch {
	case !asks(f, e.kind, facts):
		return false
	case f.GetTicks() != nil && (f.GetTicks().Min != nil && e.tick < f.GetTicks().GetMin() || f.GetTicks().Max != nil && e.tick > f.GetTicks().GetMax()):
		return false
	case !o.due(f.GetTicks(), e, facts):
		return false
	case len(f.GetDem().GetTypes()) > 0 && (!has.types || !slices.Contains(f.GetDem().GetTypes(), e.typ)):
		return false
	case len(f.GetDem().GetClasses()) > 0 && (!has.classes || !anyGlob(f.GetDem().GetClasses(), e.class)):
		return false
	case len(f.GetDem().GetFields()) > 0 && !has.fields:
		return false
	}
	return one(f.GetPlayers(), e.players) && one(f.GetTeams(), e.teams) && one(f.GetDatafile().GetGroups(), e.groups) && one(f.GetDatafile().GetLayers(), e.layers)
}

// asks reports whether a filter asks for a kind. facts says whether a filter without kinds asks for facts and samples.
func asks(f *replaydv1.EventFilter, kind string, facts bool) bool {
	if len(f.GetKinds()) == 0 {
		return facts || !strings.HasPrefix(kind, "fact_") && !strings.HasPrefix(kind, "sample_")
	}
	return slices.Contains(f.GetKinds(), kind)
}

// anyGlob matches with the standard library's globs, independently of the daemon. It escapes their other special characters.
func anyGlob(patterns []string, name string) bool {
	plain := strings.NewReplacer(`\`, `\\`, `[`, `\[`)
	for _, p := range patterns {
		// In the standard library's globs, * does not match a slash.
		if ok, err := path.Match(strings.ReplaceAll(plain.Replace(p), "/", "\x01"), strings.ReplaceAll(name, "/", "\x01")); ok && err == nil {
			return true
		}
	}
	return false
}

// deliver returns the text of an event after a request's filters. It returns false if the filters drop the event.
func (o *Oracle) deliver(req *replaydv1.StreamEventsRequest, e *event) (string, bool) {
	if where := req.GetWhere(); where != "" && o.conditions[where](e) != isTrue {
		return "", false
	}
	all, kept := len(req.GetInclude()) == 0 && asks(nil, e.kind, false), map[string]bool{}
	matched := all
	for _, f := range req.GetInclude() {
		if !o.matches(f, e, false) {
			continue
		}
		matched = true
		all = all || len(f.GetDem().GetFields()) == 0
		for _, field := range e.fields {
			if anyGlob(f.GetDem().GetFields(), field.name) {
				kept[field.name] = true
			}
		}
	}
	if !matched {
		return "", false
	}
	removed := map[string]bool{}
	for _, f := range req.GetExclude() {
		if !o.matches(f, e, true) {
			continue
		}
		if len(f.GetDem().GetFields()) == 0 {
			return "", false
		}
		for _, field := range e.fields {
			if anyGlob(f.GetDem().GetFields(), field.name) {
				removed[field.name] = true
			}
		}
	}
	var left []field
	for _, field := range e.fields {
		if (all || kept[field.name]) && !removed[field.name] {
			left = append(left, field)
		}
	}
	switch {
	case len(e.fields) == 0:
		return e.text, all
	case len(left) == 0:
		return "", false
	case len(left) == len(e.fields):
		return e.text, true
	}
	return e.with(left), true
}

// typePrefixes are the prefixes of the types of kinds that cannot have types with other names.
var typePrefixes = map[string][]string{
	"combat_log": {"COMBAT_LOG_TYPE_"}, "chat_event": {"CHAT_MESSAGE_", "CITADEL_CHAT_MESSAGE_"}, "order": {"DOTA_UNIT_ORDER_"},
	"fault": {"FAULT_KIND_"}, "ability_change": {"ABILITY_CHANGE_TYPE_"},
}

// may reports whether events of a kind that has types can have this one.
func may(kind, typ string) bool {
	_, err := strconv.Atoi(typ)
	prefixes, closed := typePrefixes[kind]
	return err == nil || !closed || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(typ, p) })
}

// mistyped reports whether a filter has a type that none of its kinds with types can have.
func (o *Oracle) mistyped(f *replaydv1.EventFilter) bool {
	return slices.ContainsFunc(f.GetDem().GetTypes(), func(typ string) bool {
		some := false
		for kind, has := range o.kinds {
			if has.types && (len(f.GetKinds()) == 0 || slices.Contains(f.GetKinds(), kind)) {
				if some = true; may(kind, typ) {
					return false
				}
			}
		}
		return some
	})
}

// onlyStates holds, by format, the kinds that only describe a state.
var onlyStates = map[string]map[string]bool{"teehistorian": {"player_state": true}, "sc2replay": {"player_state": true, "unit_state": true}}

// empty reports whether a filter has a pattern that nothing can match.
func empty(f *replaydv1.EventFilter) bool {
	return slices.Contains(f.GetDem().GetClasses(), "") || slices.Contains(f.GetDem().GetFields(), "")
}

// neverThere reports whether a filter has a list of numbers none of which occurs in the format.
func (o *Oracle) neverThere(f *replaydv1.EventFilter) bool {
	below := func(least int32, numbers []int32) bool { return len(numbers) > 0 && slices.Max(numbers) < least }
	switch o.format {
	case "dem":
		return below(0, f.GetPlayers()) || below(1, f.GetTeams())
	case "sc2replay":
		return below(0, f.GetPlayers()) || below(0, f.GetTeams())
	case "datafile":
		return below(0, f.GetDatafile().GetGroups()) || below(0, f.GetDatafile().GetLayers())
	}
	return false
}

// Refused reports whether a request must be refused, because the replay cannot have anything that it includes, or because of a
// type that no event can have.
func (o *Oracle) Refused(req *replaydv1.StreamEventsRequest) bool {
	state := req.GetStart().GetWithState()
	if at, err := cursor.Parse(req.GetStart().GetCursor()); err == nil {
		state = state || at.State
	}
	for _, f := range slices.Concat(req.GetInclude(), req.GetExclude()) {
		if o.mistyped(f) || empty(f) {
			return true
		}
	}
	for _, f := range req.GetExclude() {
		if len(f.GetKinds()) > 0 && !slices.ContainsFunc(f.GetKinds(), func(kind string) bool { return !onlyStates[o.format][kind] }) {
			return true
		}
	}
	for _, f := range req.GetInclude() {
		for kind, has := range o.kinds {
			asked := asks(f, kind, false) && (state || !onlyStates[o.format][kind])
			meets := (has.players || len(f.GetPlayers()) == 0) && (has.teams || len(f.GetTeams()) == 0) &&
				(has.groups || len(f.GetDatafile().GetGroups()) == 0) && (has.layers || len(f.GetDatafile().GetLayers()) == 0) &&
				(len(f.GetDem().GetTypes()) == 0 || has.types && slices.ContainsFunc(f.GetDem().GetTypes(), func(t string) bool { return may(kind, t) })) &&
				(has.classes || len(f.GetDem().GetClasses()) == 0) && (has.fields || len(f.GetDem().GetFields()) == 0)
			t := f.GetTicks()
			timely := o.format != "datafile" || (t.GetMin() <= 0 && (t == nil || t.Max == nil || t.GetMax() >= 0))
			if asked && meets && timely && !o.neverThere(f) && !o.absent[kind] {
				return false
			}
		}
	}
	return len(req.GetInclude()) > 0
}

// refusable reports whether a request may be refused because of its expression: no event can meet it, as none of the replay does, or no
// event that the filters let through has one of its fields.
func (o *Oracle) refusable(req *replaydv1.StreamEventsRequest) bool {
	if req.GetWhere() == "" {
		return false
	}
	filters := &replaydv1.StreamEventsRequest{Include: req.GetInclude(), Exclude: req.GetExclude()}
	var met bool
	var there [len(numberNames)]bool
	for i := range o.events {
		e := &o.events[i]
		if _, ok := o.deliver(filters, e); !ok {
			continue
		}
		met = met || o.conditions[req.GetWhere()](e) == isTrue
		for n := range there {
			there[n] = there[n] || e.numbers[n] != nil
		}
	}
	for n, name := range numberNames {
		met = met && (there[n] || !strings.Contains(req.GetWhere(), "event."+name))
	}
	return !met
}

// Expect returns the present events that a request must receive. The start `now` receives none.
func (o *Oracle) Expect(req *replaydv1.StreamEventsRequest) ([]Event, error) {
	var got []Event
	from, arrived := decoders.Position{}, true
	switch start := req.GetStart().GetAt().(type) {
	case *replaydv1.Start_Cursor:
		at, err := cursor.Parse(start.Cursor)
		if err != nil {
			return nil, err
		}
		from = at.Position
	case *replaydv1.Start_Now:
		return nil, nil
	case *replaydv1.Start_Tick:
		arrived = false
	}
	for i := range o.events {
		e := &o.events[i]
		if t, ok := req.GetStart().GetAt().(*replaydv1.Start_Tick); ok && e.tick >= t.Tick {
			arrived = true
		}
		if !arrived || e.at.Before(from) {
			continue
		}
		if text, ok := o.deliver(req, e); ok {
			got = append(got, Event{text, e.at})
		}
	}
	if n := int(req.GetStart().GetLastEvents()); n > 0 && len(got) > n {
		got = got[len(got)-n:]
	}
	return got, nil
}

// before returns the position of the last event before a request's start at a tick.
func (o *Oracle) before(tick int32) (last decoders.Position, some bool) {
	for i := range o.events {
		if o.events[i].tick >= tick {
			break
		}
		last, some = o.events[i].at, true
	}
	return last, some
}

// Len returns the number of events.
func (o *Oracle) Len() int { return len(o.events) }
