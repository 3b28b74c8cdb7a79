package plain_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/plain"
)

// asked returns the request that a URL becomes, or the answer if it is refused.
func asked(t *testing.T, url string, req proto.Message) (refused string) {
	t.Helper()
	called := false
	handler := plain.New(func(_ string, ss grpc.ServerStream) error {
		called = true
		return ss.RecvMsg(req)
	}, 1<<20)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))
	if !called {
		return w.Body.String()
	}
	return ""
}

// TestQueries: parameters become the fields of the request that they name, whatever their order.
func TestQueries(t *testing.T) {
	tick := func(n int32) *replaydv1.Start { return &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: n}} }
	resumed := &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: []byte{0xff, 0xef}}}
	for query, want := range map[string]*replaydv1.StreamEventsRequest{
		"follow":                       {Follow: true},
		"follow=0":                     {},
		"follow-successors":            {Follow: true, FollowSuccessors: true},
		"follow&follow-successors=0":   {Follow: true},
		"follow-successors=0&follow=1": {Follow: true},
		"kind=a,b&kind=c":              {Include: []*replaydv1.EventFilter{{Kinds: []string{"a", "b", "c"}}}},
		"exclude-kind=a&exclude-kind=b": {
			Exclude: []*replaydv1.EventFilter{{Kinds: []string{"a", "b"}}},
		},
		"player=1,2&team=-1": {Include: []*replaydv1.EventFilter{{Players: []int32{1, 2}, Teams: []int32{-1}}}},
		"class=X&field=a&type=war": {Include: []*replaydv1.EventFilter{{
			Dem: &replaydv1.DemFilter{Classes: []string{"X"}, Fields: []string{"a"}, Types: []string{"war"}},
		}}},
		"group=1&layer=2": {Include: []*replaydv1.EventFilter{{Datafile: &replaydv1.DatafileFilter{Groups: []int32{1}, Layers: []int32{2}}}}},
		"from-tick=3&to-tick=9": {Include: []*replaydv1.EventFilter{{
			Ticks: &replaydv1.TickRange{Min: proto.Int32(3), Max: proto.Int32(9)},
		}}},
		"tick=7&with-state": {Start: &replaydv1.Start{At: tick(7).GetAt(), WithState: true}},
		"last=5":            {Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 5}}},
		"now":               {Start: &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}}},
		"cursor=_-8":        {Start: resumed},
		"now&cursor=_-8":    {Start: resumed},
		"cursor=_-8&last=5": {Start: resumed},
		"tick=7&cursor=_-8": {Start: resumed},
		"cursor=&last=5":    {Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 5}}},
		"strict":            {Strict: true},
		"max-batch-events=9": {
			MaxBatchEvents: 9,
		},
		"resolve-players=true": {ResolvePlayers: true},
	} {
		want.Replay = "root/a.dem"
		if want.Start == nil {
			want.Start = &replaydv1.Start{}
		}
		got := &replaydv1.StreamEventsRequest{}
		if refused := asked(t, "/v1/replays/root%2Fa.dem/events?"+query, got); refused != "" || !proto.Equal(got, want) {
			t.Errorf("%s: got %v, want %v %s", query, got, want, refused)
		}
	}
}

// TestQueriesRefused: what is not understood, and what says two things, is refused by the name of the parameter.
func TestQueriesRefused(t *testing.T) {
	for query, field := range map[string]string{
		"kinds=a":                 "kinds",
		"follow=perhaps":          "follow",
		"follow=1&follow=0":       "follow",
		"player=x":                "player",
		"player=2147483648":       "player",
		"max-batch-events=-1":     "max-batch-events",
		"heartbeat=5":             "heartbeat",
		"cursor=%21":              "cursor",
		"tick=1&last=2":           "tick",
		"now&cursor=%21":          "cursor",
		"cursor=_-8&tick=x":       "tick",
		"kind=%ff":                "kind",
		"resolve-players=1&now=x": "now",
	} {
		refused := asked(t, "/v1/replays/root%2Fa.dem/events?"+query, &replaydv1.StreamEventsRequest{})
		if !strings.Contains(refused, `"field":"`+field+`"`) {
			t.Errorf("%s: answered %s", query, refused)
		}
	}
}

// TestEnums: values of enums are spelt in small letters, and what the API says for nothing is no value.
func TestEnums(t *testing.T) {
	req := &replaydv1.ListReplaysRequest{}
	want := []replaydv1.Format{replaydv1.Format_FORMAT_DEM, replaydv1.Format_FORMAT_SC2REPLAY}
	if refused := asked(t, "/v1/replays?format=dem,sc2replay", req); refused != "" || !slices.Equal(req.GetFormats(), want) {
		t.Errorf("asks for %v: %s", req.GetFormats(), refused)
	}
	for _, value := range []string{"unspecified", "Dem", "DEM", "", "dem,", "other"} {
		if refused := asked(t, "/v1/replays?format="+value, req); !strings.Contains(refused, `"field":"format"`) {
			t.Errorf("%q: answered %s", value, refused)
		}
	}
}

// TestConditions: each condition of a filter has a parameter, of streams, of uploads and of tables, whose path has the kind.
func TestConditions(t *testing.T) {
	var conditions func(of protoreflect.MessageDescriptor) []protoreflect.FullName
	conditions = func(of protoreflect.MessageDescriptor) (names []protoreflect.FullName) {
		for i := range of.Fields().Len() {
			if f := of.Fields().Get(i); f.Message() != nil {
				names = append(names, conditions(f.Message())...)
			} else {
				names = append(names, f.FullName())
			}
		}
		return names
	}
	operations, err := plain.Operations()
	if err != nil {
		t.Fatal(err)
	}
	served := 0
	for _, op := range operations {
		if op.RPC != "replayd.v1.ReplayService.StreamEvents" && op.RPC != "replayd.v1.ReplayService.DecodeReplay" {
			continue
		}
		served++
		var set []protoreflect.FullName
		for _, p := range op.Parameters {
			set = append(set, p.Fields...)
		}
		for _, name := range conditions((*replaydv1.EventFilter)(nil).ProtoReflect().Descriptor()) {
			if inPath := name == "replayd.v1.EventFilter.kinds" && strings.Contains(op.Path, "{table}"); inPath == slices.Contains(set, name) {
				t.Errorf("%s %s has no parameter for %s", op.Method, op.Path, name)
			}
		}
	}
	if served != 4 {
		t.Errorf("%d operations stream events", served)
	}
}

// TestForms: the document says of a number which ones its field can hold.
func TestForms(t *testing.T) {
	operations, err := plain.Operations()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[protoreflect.Kind]string{protoreflect.Int32Kind: "int32 from -2147483648 to 2147483647", protoreflect.Uint32Kind: "int64 from 0 to 4294967295"}
	numbers := 0
	for _, op := range operations {
		for _, p := range op.Parameters {
			d, err := protoregistry.GlobalFiles.FindDescriptorByName(p.Fields[0])
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%s from %d to %d", p.Form.Format, p.Form.Min, p.Form.Max)
			if want, is := kinds[d.(protoreflect.FieldDescriptor).Kind()]; is && p.Form.Type == "integer" {
				if numbers++; got != want {
					t.Errorf("%s: %s, want %s", p.Name, got, want)
				}
			}
		}
	}
	if numbers < 10 {
		t.Errorf("%d numbers", numbers)
	}
}
