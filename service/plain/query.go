package plain

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/internal/nearest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

// parameters are the query parameters of a request, by name. The parameters of streams have the names of the flags of
// `replayd cat`.
type parameters map[string]parameter

// parameter handles the value of a query parameter. A list may be repeated, and may have several values separated by commas.
type parameter struct {
	set  func(value string) error
	form Form
	doc  string // replaces the description of the field that it sets
	list bool
}

// described returns the parameter with a description of its own.
func (p parameter) described(doc string) parameter {
	p.doc = doc
	return p
}

// read parses a query. It refuses an unknown parameter and names it. If it ignored a misspelt filter, the stream would contain
// all events.
func (p parameters) read(query string) *fault {
	values, err := url.ParseQuery(query)
	if err != nil {
		return badRequest("query", err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		known, ok := p[name]
		switch {
		case !ok:
			all := slices.Sorted(maps.Keys(p))
			return badRequest(name, "is no parameter here"+nearest.Hint(name, all...)+"; these are: "+strings.Join(all, ", "))
		case len(values[name]) > 1 && !known.list:
			return badRequest(name, "comes more than once")
		}
		for _, value := range values[name] {
			if !utf8.ValidString(value) {
				return badRequest(name, errNotUTF8.Error())
			}
			if err := known.set(value); err != nil {
				return badRequest(name, err.Error())
			}
		}
	}
	return nil
}

// listing returns the parameters of a list of replays.
func listing(req *replaydv1.ListReplaysRequest) parameters {
	return parameters{
		"directory":           text(&req.Directory),
		"page-token":          text(&req.PageToken),
		"page-size":           number(&req.PageSize),
		"format":              enums(&req.Formats, replaydv1.Format_value, "FORMAT_"),
		"state":               enums(&req.Filter.States, replaydv1.ReplayState_value, "REPLAY_STATE_"),
		"map":                 text(&req.Filter.MapName),
		"server":              text(&req.Filter.Server),
		"player":              text(&req.Filter.PlayerName),
		"text":                text(&req.Filter.Text),
		"order":               enum(&req.Order, replaydv1.ReplayOrder_value, "REPLAY_ORDER_"),
		"earliest-start-time": instant(&req.Filter.EarliestStartTime),
		"latest-start-time":   instant(&req.Filter.LatestStartTime),
		"view":                enum(&req.View, replaydv1.ReplayView_value, "REPLAY_VIEW_"),
	}
}

// describing returns the parameters of a description.
func describing(req *replaydv1.GetReplayRequest) parameters {
	return parameters{"view": enum(&req.View, replaydv1.ReplayView_value, "REPLAY_VIEW_")}
}

// reporting returns the parameters of a report.
func reporting(req *replaydv1.GetReportRequest) parameters {
	return parameters{"tick": whole(func(n int32) { req.Tick = &n })}
}

// creating returns the parameters of a replay that is stored.
func creating(options *replaydv1.CreateReplayOptions) parameters {
	return parameters{"time-to-live": interval(&options.TimeToLive)}
}

// broadcasting returns the parameters of a broadcast to follow.
func broadcasting(req *replaydv1.FollowBroadcastRequest) parameters {
	return parameters{"url": text(&req.Url)}
}

// decoding returns the parameters of an upload.
func decoding(req *replaydv1.StreamEventsRequest) parameters {
	in := &replaydv1.EventFilter{}
	wanted := func(p parameter) parameter { // the filter is sent only if it has conditions
		set := p.set
		p.set = func(value string) error {
			req.Include = []*replaydv1.EventFilter{in}
			return set(value)
		}
		return p
	}
	dem := func() *replaydv1.DemFilter {
		if in.GetDem() == nil {
			in.Dem = &replaydv1.DemFilter{}
		}
		return in.GetDem()
	}
	layers := func() *replaydv1.DatafileFilter {
		if in.GetDatafile() == nil {
			in.Datafile = &replaydv1.DatafileFilter{}
		}
		return in.GetDatafile()
	}
	ticks := func() *replaydv1.TickRange {
		if in.GetTicks() == nil {
			in.Ticks = &replaydv1.TickRange{}
		}
		return in.GetTicks()
	}
	return parameters{
		"kind":      wanted(texts(func() *[]string { return &in.Kinds })),
		"player":    wanted(numbers(func() *[]int32 { return &in.Players })),
		"team":      wanted(numbers(func() *[]int32 { return &in.Teams })),
		"class":     wanted(texts(func() *[]string { return &dem().Classes })),
		"field":     wanted(texts(func() *[]string { return &dem().Fields })),
		"type":      wanted(texts(func() *[]string { return &dem().Types })),
		"group":     wanted(numbers(func() *[]int32 { return &layers().Groups })),
		"layer":     wanted(numbers(func() *[]int32 { return &layers().Layers })),
		"from-tick": wanted(whole(func(n int32) { ticks().Min = &n })),
		"to-tick":   wanted(whole(func(n int32) { ticks().Max = &n })),
		"every":     wanted(whole(func(n int32) { ticks().Every = &n })),
		"exclude-kind": texts(func() *[]string {
			if len(req.GetExclude()) == 0 {
				req.Exclude = []*replaydv1.EventFilter{{}}
			}
			return &req.GetExclude()[0].Kinds
		}).described("Kinds of events that are not sent, even where the other parameters ask for them."),
		"where":            text(&req.Where),
		"with-state":       flag(&req.Start.WithState),
		"resolve-players":  flag(&req.ResolvePlayers),
		"strict":           flag(&req.Strict),
		"heartbeat":        interval(&req.HeartbeatInterval),
		"max-batch-events": whole(func(n uint32) { req.MaxBatchEvents = n }),
		"tick":             start(req, whole(func(n int32) { req.Start.At = &replaydv1.Start_Tick{Tick: n} })),
	}
}

// streaming returns the parameters of a stream of a replay: the parameters of an upload, and some that uploads do not have.
func streaming(req *replaydv1.StreamEventsRequest) parameters {
	p := decoding(req)
	p["follow"] = flag(&req.Follow)
	p["follow-successors"] = toggle(func(on bool) {
		req.FollowSuccessors = on
		req.Follow = req.GetFollow() || on
	}).described("When the replay ends, the stream continues with the next one of the same game server, or waits for it. It implies `follow`.")
	p["next-in-directory"] = toggle(func(on bool) {
		if on {
			req.SuccessorRule = replaydv1.SuccessorRule_SUCCESSOR_RULE_NEXT_IN_DIRECTORY
		}
	}).described("Only with `follow-successors`. The next replay may also be the one that began next in the same directory, " +
		"whatever its contents. Only one server may write to the directory.")
	p["cursor"] = start(req, place(func(at []byte) { req.Start.At = &replaydv1.Start_Cursor{Cursor: at} }))
	p["last"] = start(req, whole(func(n uint32) { req.Start.At = &replaydv1.Start_LastEvents{LastEvents: n} }))
	p["now"] = start(req, toggle(func(on bool) {
		if on {
			req.Start.At = &replaydv1.Start_Now{Now: &replaydv1.Now{}}
		}
	}))
	return p
}

// subscribing returns the parameters of a stream of all replays: those of an upload, and those that select replays.
func subscribing(req *replaydv1.SubscribeEventsRequest) parameters {
	p := decoding(req.GetOptions())
	delete(p, "tick")
	p["directory"] = text(&req.Directory)
	p["format"] = enums(&req.Formats, replaydv1.Format_value, "FORMAT_")
	p["map"] = text(&req.Filter.MapName)
	p["server"] = text(&req.Filter.Server)
	p["earliest-start-time"] = instant(&req.Filter.EarliestStartTime)
	p["latest-start-time"] = instant(&req.Filter.LatestStartTime)
	p["parallel"] = whole(func(n uint32) { req.Parallel = n })
	p["cursor"] = place(func(at []byte) { req.Token = at })
	p["subscription"] = text(&req.Subscription)
	return p
}

// acknowledging returns the parameters of an acknowledgement.
func acknowledging(req *replaydv1.AcknowledgeEventsRequest) parameters {
	return parameters{"cursor": place(func(at []byte) { req.Token = at })}
}

// tabling returns the parameters of a table: those of an upload that select events, and the columns.
func tabling(req *replaydv1.StreamEventsRequest) parameters {
	p := decoding(req)
	for _, other := range []string{"kind", "exclude-kind", "with-state", "heartbeat", "max-batch-events", "tick"} {
		delete(p, other)
	}
	p["columns"] = texts(func() *[]string { return &req.Columns })
	return p
}

// start returns a parameter that also sets where a stream starts. A request may have one of these, and a cursor, which has
// precedence: the other parameter says where the stream began that the cursor continues.
func start(req *replaydv1.StreamEventsRequest, p parameter) parameter {
	set := p.set
	p.set = func(value string) error {
		before := req.GetStart().GetAt()
		req.Start.At = nil
		if err := set(value); err != nil {
			return err
		}
		_, resumes := before.(*replaydv1.Start_Cursor)
		_, begins := req.GetStart().GetAt().(*replaydv1.Start_Cursor)
		switch {
		case req.GetStart().GetAt() == nil, resumes:
			req.Start.At = before
		case before != nil && !begins:
			return errors.New("only one of tick, last and now can say where to start")
		}
		return nil
	}
	return p
}

func text(to *string) parameter {
	return parameter{form: textForm, set: func(value string) error { *to = value; return nil }}
}

// place returns a parameter that is a cursor. It does not call set for an empty one.
func place(set func(at []byte)) parameter {
	return parameter{form: cursorForm, set: func(value string) error {
		at, err := cursor.ParseText(value)
		if len(at) > 0 {
			set(at)
		}
		return err
	}}
}

// texts returns a parameter that appends to a list. It calls to only if there is a value to append.
func texts(to func() *[]string) parameter {
	return parameter{form: textForm, list: true, set: func(value string) error {
		list := to()
		*list = append(*list, strings.Split(value, ",")...)
		return nil
	}}
}

func numbers(to func() *[]int32) parameter {
	return parameter{form: wholeForm[int32](), list: true, set: func(value string) error {
		for part := range strings.SplitSeq(value, ",") {
			if err := given(part, func(n int32) { *to() = append(*to(), n) }); err != nil {
				return err
			}
		}
		return nil
	}}
}

func number(to *int32) parameter { return whole(func(n int32) { *to = n }) }

func whole[T int32 | uint32](set func(T)) parameter {
	return parameter{form: wholeForm[T](), set: func(value string) error { return given(value, set) }}
}

// given parses a whole number.
func given[T int32 | uint32](value string, set func(T)) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || int64(T(n)) != n {
		return fmt.Errorf("%q is no whole number, or too large", value)
	}
	set(T(n))
	return nil
}

// flag returns a boolean parameter, which is true without a value, too.
func flag(to *bool) parameter { return toggle(func(on bool) { *to = on }) }

func toggle(set func(bool)) parameter {
	return parameter{form: Form{Type: "boolean", Example: "true"}, set: func(value string) error {
		switch value {
		case "", "true", "1":
			set(true)
		case "false", "0":
			set(false)
		default:
			return fmt.Errorf("%q is neither true nor false", value)
		}
		return nil
	}}
}

func interval(to **durationpb.Duration) parameter {
	return parameter{form: Form{Type: "string", Example: "5s"}, set: func(value string) error {
		d, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("%q is no duration such as 5s", value)
		}
		*to = durationpb.New(d)
		return nil
	}}
}

func instant(to **timestamppb.Timestamp) parameter {
	return parameter{form: Form{Type: "string", Format: "date-time", Example: "2024-05-31T18:00:00Z"}, set: func(value string) error {
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return fmt.Errorf("%q is no time such as 2024-05-31T18:00:00Z", value)
		}
		*to = timestamppb.New(at)
		return nil
	}}
}

// enum returns a parameter for the name of an enum value, in lower case and without its prefix.
func enum[E ~int32](to *E, names map[string]int32, prefix string) parameter {
	return parameter{form: enumForm(names, prefix), set: func(value string) (err error) {
		*to, err = enumOf[E](value, names, prefix)
		return err
	}}
}

func enums[E ~int32](to *[]E, names map[string]int32, prefix string) parameter {
	return parameter{form: enumForm(names, prefix), list: true, set: func(value string) error {
		for part := range strings.SplitSeq(value, ",") {
			e, err := enumOf[E](part, names, prefix)
			if err != nil {
				return err
			}
			*to = append(*to, e)
		}
		return nil
	}}
}

func enumOf[E ~int32](value string, names map[string]int32, prefix string) (E, error) {
	if n, ok := names[prefix+strings.ToUpper(value)]; ok && n != 0 && value == strings.ToLower(value) {
		return E(n), nil
	}
	return 0, fmt.Errorf("%q is none of %s", value, strings.Join(spellings(names, prefix), ", "))
}

// spellings returns the values of an enum as parameters spell them.
func spellings(names map[string]int32, prefix string) (known []string) {
	for name, n := range names {
		if n != 0 {
			known = append(known, strings.ToLower(strings.TrimPrefix(name, prefix)))
		}
	}
	slices.Sort(known)
	return known
}
