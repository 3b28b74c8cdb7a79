package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// published is a table as Blizzard publishes it: a list of types that refer to each other by index.
type published struct {
	types  []string // constructor and arguments, such as "'_int',[(0,7)]"
	events map[string][]event
	roots  map[string]int
}

// event is one line of a table's event list.
type event struct {
	id, typ int
	name    string // without the common prefix and suffix
}

var (
	typeLine  = regexp.MustCompile(`^    \((.*)\),  #\d+$`)
	eventLine = regexp.MustCompile(`^    (\d+): \((\d+), '(.*)'\),$`)
	listLine  = regexp.MustCompile(`^(game|message|tracker)_event_types = \{$`)
	rootLine  = regexp.MustCompile(`^(\w+)_typeid = (\d+)$`)
)

// parse reads a published table.
func parse(text string) (*published, error) {
	p := &published{events: map[string][]event{}, roots: map[string]int{}}
	list := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := typeLine.FindStringSubmatch(line); m != nil {
			p.types = append(p.types, m[1])
		} else if m := listLine.FindStringSubmatch(line); m != nil {
			list = m[1]
		} else if m := eventLine.FindStringSubmatch(line); m != nil {
			id, _ := strconv.Atoi(m[1])
			typ, _ := strconv.Atoi(m[2])
			p.events[list] = append(p.events[list], event{id: id, typ: typ, name: eventName(list, m[3])})
		} else if m := rootLine.FindStringSubmatch(line); m != nil {
			p.roots[m[1]], _ = strconv.Atoi(m[2])
		}
	}
	if len(p.types) == 0 || len(p.events["game"]) == 0 {
		return nil, fmt.Errorf("no types or no game events found")
	}
	return p, nil
}

// eventName removes the prefix and suffix that all names of a stream share.
func eventName(stream, s string) string {
	affix := map[string][2]string{
		"game": {"NNet.Game.S", "Event"}, "message": {"NNet.Game.S", "Message"}, "tracker": {"NNet.Replay.Tracker.S", "Event"},
	}[stream]
	return strings.TrimSuffix(strings.TrimPrefix(s, affix[0]), affix[1])
}

var (
	boundsRE   = regexp.MustCompile(`^\((-?\d+),(\d+)\)`)
	fieldRE    = regexp.MustCompile(`\('(\w+)',(\d+),(-?\d+)\)`)
	altRE      = regexp.MustCompile(`(\d+):\('(\w+)',(\d+)\)`)
	trailingRE = regexp.MustCompile(`(\d+)\]$`)
)

// layout returns a type, and all types that it refers to, in the notation of protocol.txt. It adds tags for the
// versioned encoding.
func (p *published) layout(typ int, tags bool, named map[int]string) (string, error) {
	if name, ok := named[typ]; ok {
		return name, nil
	}
	return p.expand(typ, tags, named)
}

func (p *published) expand(typ int, tags bool, named map[int]string) (string, error) {
	if typ < 0 || typ >= len(p.types) {
		return "", fmt.Errorf("no type %d", typ)
	}
	ctor, args, _ := strings.Cut(p.types[typ], ",")
	ctor = strings.Trim(ctor, "'_")
	args = strings.TrimSuffix(strings.TrimPrefix(args, "["), "]")
	inner := func() (string, error) {
		m := trailingRE.FindStringSubmatch(args + "]")
		if m == nil {
			return "", fmt.Errorf("%s without an element: %s", ctor, args)
		}
		id, _ := strconv.Atoi(m[1])
		return p.layout(id, tags, named)
	}
	switch ctor {
	case "bool", "null", "fourcc":
		return ctor, nil
	case "int":
		return bounds(args), nil
	case "blob":
		return "blob(" + bounds(args) + ")", nil
	case "bitarray":
		return "bits(" + bounds(args) + ")", nil
	case "optional":
		s, err := inner()
		return "?" + s, err
	case "array":
		s, err := inner()
		return "[" + bounds(args) + "]" + s, err
	case "choice":
		var alts []string
		for _, m := range altRE.FindAllStringSubmatch(args, -1) {
			id, _ := strconv.Atoi(m[3])
			s, err := p.layout(id, tags, named)
			if err != nil {
				return "", err
			}
			alts = append(alts, m[1]+":"+fieldName(m[2])+" "+s)
		}
		return "choice(" + bounds(args) + "){" + strings.Join(alts, ", ") + "}", nil
	case "struct":
		var fields []string
		for _, m := range fieldRE.FindAllStringSubmatch(args, -1) {
			id, _ := strconv.Atoi(m[2])
			s, err := p.layout(id, tags, named)
			if err != nil {
				return "", err
			}
			name := fieldName(m[1])
			if tags {
				name += "#" + m[3]
			}
			fields = append(fields, name+" "+s)
		}
		return "{" + strings.Join(fields, ", ") + "}", nil
	}
	return "", fmt.Errorf("unknown constructor %q", ctor)
}

func fieldName(s string) string { return strings.TrimPrefix(s, "m_") }

// bounds returns "(offset,bits)" as an integer type.
func bounds(args string) string {
	m := boundsRE.FindStringSubmatch(args)
	if m == nil {
		return "?bounds?"
	}
	offset, _ := strconv.ParseInt(m[1], 10, 64)
	bits, _ := strconv.Atoi(m[2])
	switch {
	case offset == 0:
		return "u" + m[2]
	case bits > 0 && offset == -1<<(bits-1):
		return "i" + m[2]
	default:
		return fmt.Sprintf("u%d%+d", bits, offset)
	}
}

// field returns the type of a field of a struct type. If typ is an optional or array, it uses the struct type inside.
func (p *published) field(typ int, name string) (int, bool) {
	for {
		ctor, args, _ := strings.Cut(p.types[typ], ",")
		switch ctor {
		case "'_optional'", "'_array'":
			m := trailingRE.FindStringSubmatch(args)
			if m == nil {
				return 0, false
			}
			typ, _ = strconv.Atoi(m[1])
			continue
		case "'_struct'":
			for _, m := range fieldRE.FindAllStringSubmatch(args, -1) {
				if fieldName(m[1]) == name {
					id, _ := strconv.Atoi(m[2])
					return id, true
				}
			}
		}
		return 0, false
	}
}

// element removes optionals and arrays from a type.
func (p *published) element(typ int) int {
	for {
		ctor, args, _ := strings.Cut(p.types[typ], ",")
		if ctor != "'_optional'" && ctor != "'_array'" {
			return typ
		}
		m := trailingRE.FindStringSubmatch(args)
		if m == nil {
			return typ
		}
		typ, _ = strconv.Atoi(m[1])
	}
}

// section is a layout and its heading in protocol.txt.
type section struct {
	head string // such as "game Cmd" or "struct slot"
	line string // such as "27 {cmdFlags u17, …}" or "{control u8, …}"
}

// sections returns all layouts of a table, in the order of protocol.txt.
func (p *published) sections() ([]section, error) {
	var out []section
	var failed error
	add := func(head, id string, typ int, tags bool, named map[int]string) {
		s, err := p.expand(typ, tags, named)
		if err != nil {
			failed = fmt.Errorf("%s: %w", head, err)
		}
		out = append(out, section{head, id + s})
	}
	user, ok := p.roots["replay_userid"]
	if !ok {
		user, ok = p.roots["replay_playerid"]
	}
	if !ok {
		return nil, fmt.Errorf("no user id type")
	}
	add("root delta", "", p.roots["svaruint32"], false, nil)
	add("root user", "", user, false, nil)
	for _, stream := range []string{"game", "message", "tracker"} {
		if id, ok := p.roots[stream+"_eventid"]; ok {
			add("root "+stream+"Id", "", id, false, nil)
		}
	}
	add("root header", "", p.roots["replay_header"], true, nil)
	add("root details", "", p.roots["game_details"], true, nil)

	init := p.roots["replay_initdata"]
	sync, _ := p.field(init, "syncLobbyState")
	named := map[int]string{}
	parts := []string{"user", "slotDescription", "description", "slot", "lobby"}
	for part, path := range map[string][]string{
		"user": {"userInitialData"}, "description": {"gameDescription"}, "lobby": {"lobbyState"},
		"slot": {"lobbyState", "slots"}, "slotDescription": {"gameDescription", "slotDescriptions"},
	} {
		typ := sync
		for _, f := range path {
			typ, ok = p.field(typ, f)
			if !ok {
				return nil, fmt.Errorf("initData has no %s", strings.Join(path, "."))
			}
		}
		named[p.element(typ)] = part
	}
	add("root initData", "", init, false, named)
	for _, part := range parts {
		for typ, name := range named {
			if name == part {
				add("struct "+part, "", typ, false, named)
			}
		}
	}
	for _, stream := range []string{"game", "message", "tracker"} {
		for _, e := range p.events[stream] {
			add(stream+" "+e.name, strconv.Itoa(e.id)+" ", e.typ, stream == "tracker", nil)
		}
	}
	return out, failed
}
