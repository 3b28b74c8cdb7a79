package plain

import (
	"net/http"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/eventjson"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/frame"
)

// watching returns the parameters of the latest states of games.
func watching(req *replaydv1.WatchStateRequest) parameters {
	filter := func() *replaydv1.EventFilter { // the filter is sent only if it has conditions
		if len(req.GetInclude()) == 0 {
			req.Include = []*replaydv1.EventFilter{{}}
		}
		return req.GetInclude()[0]
	}
	return parameters{
		"directory":           text(&req.Directory),
		"format":              enums(&req.Formats, replaydv1.Format_value, "FORMAT_"),
		"map":                 text(&req.Filter.MapName),
		"server":              text(&req.Filter.Server),
		"earliest-start-time": instant(&req.Filter.EarliestStartTime),
		"latest-start-time":   instant(&req.Filter.LatestStartTime),
		"interval":            interval(&req.Interval),
		"player":              numbers(func() *[]int32 { return &filter().Players }),
		"team":                numbers(func() *[]int32 { return &filter().Teams }),
		"columns":             texts(func() *[]string { return &req.Columns }),
		"resolve-players":     flag(&req.ResolvePlayers),
		"whole":               flag(&req.Whole),
		"heartbeat":           interval(&req.HeartbeatInterval),
	}
}

// state answers with the latest states of games. Each response is a line, or a server-sent event without an id: an EventSource that
// reconnects has whole states first, as after any other call.
func (h *Handler) state(w http.ResponseWriter, r *http.Request, _ string, req *replaydv1.WatchStateRequest) {
	p := newPrinter(w, accepts(r, sseType))
	if p.sse && r.Header.Get(lastEventID) == overID { // after this answer an EventSource does not reconnect
		w.WriteHeader(http.StatusNoContent)
		return
	}
	p.end(h.call(r, replaydv1.ReplayService_WatchState_FullMethodName, once(req), p.states, p.flush))
}

// states prints the response of a WatchState in a *frame.Frame. It does not free it.
func (p *printer) states(m any) error {
	b := m.(*frame.Frame).Buffer()
	defer b.Free()
	var r replaydv1.WatchStateResponse
	if err := proto.Unmarshal(b.ReadOnlyData(), &r); err != nil {
		return err
	}
	line, err := eventjson.Marshal(&r)
	if err != nil {
		return err
	}
	p.out = p.out[:0]
	if p.sse {
		p.out = append(p.out, "data: "...)
	}
	p.out = append(append(p.out, line...), '\n')
	if p.sse {
		p.out = append(p.out, '\n')
	}
	return p.write(p.out)
}
